/** Values over commits: dots, levels with their spread, changes by triage state, suspect ranges. */

import { html, nothing, render, type PropertyValues, type TemplateResult } from "lit";
import uPlot from "uplot";
import type { Direction, Status } from "../api/client";
import type { Scale } from "../state/address";
import { axisTexts, day, number } from "../text/numbers";
import { Part } from "./element";
import { hatch, palette, shape, type Palette } from "./paint";

export interface ChartLine {
  id: number;
  label: string;
  unit: string;
  positions: Float64Array;
  values: Float64Array;
}

export interface ChartLevel {
  first: number;
  last: number;
  mean: number;
  minimum: number;
  maximum: number;
}

export interface ChartMark {
  id: number;
  previous: number;
  position: number;
  suspects: number;
  status: Status;
  direction: Direction;
  text: string;
}

/** Something else that happened at a commit. */
export interface ChartNote {
  position: number;
}

export interface ChartRange {
  first: number;
  last: number;
}

/** What the pointer is on, for the one who describes it. */
export interface Hovered {
  line: ChartLine;
  position: number;
  value: number;
}

const STRIP = 26;
const DOTS_FROM = 2;
const ROOMY = 6;
const HOVER_PIXELS = 40;
const INCREMENTS = [1, 2, 5].flatMap((step) => [0, 1, 2, 3, 4, 5, 6].map((power) => step * 10 ** power)).sort((a, b) => a - b);

export class ChartPart extends Part {
  static override properties = {
    lines: { attribute: false },
    levels: { attribute: false },
    marks: { attribute: false },
    notes: { attribute: false },
    times: { attribute: false },
    total: { type: Number },
    range: { attribute: false },
    scale: { type: String },
    pinned: { type: Number },
    label: { type: String },
    describe: { attribute: false },
  };
  declare lines: readonly ChartLine[];
  declare levels: readonly ChartLevel[];
  declare marks: readonly ChartMark[];
  declare notes: readonly ChartNote[];
  declare times: Float64Array;
  declare total: number;
  declare range: ChartRange | undefined;
  declare scale: Scale;
  declare pinned: number | undefined;
  declare label: string;
  declare describe: (hovered: Hovered) => TemplateResult;

  private plot: uPlot | undefined;
  private colours: Palette | undefined;
  private readonly sized = new ResizeObserver(() => this.resize());
  private readonly rebuild = (): void => this.build();
  private pressed = { x: 0, y: 0 };

  constructor() {
    super();
    this.lines = [];
    this.levels = [];
    this.marks = [];
    this.notes = [];
    this.times = new Float64Array();
    this.total = 0;
    this.scale = "auto";
    this.label = "";
    this.describe = (hovered) => html`${number(hovered.value)}`;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    window.addEventListener("kp-theme", this.rebuild);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", this.rebuild);
  }

  override disconnectedCallback(): void {
    window.removeEventListener("kp-theme", this.rebuild);
    matchMedia("(prefers-color-scheme: dark)").removeEventListener("change", this.rebuild);
    this.sized.disconnect();
    this.plot?.destroy();
    this.plot = undefined;
    super.disconnectedCallback();
  }

  override render() {
    return html`<div class="chart-box" role="img" aria-label=${this.label}></div>
      <div class="chart-tip" hidden></div>
      ${this.lines.some((line) => line.positions.length > 0) ? nothing : html`<p class="chart-empty">No values in this range. Press 0 to see the whole line.</p>`}`;
  }

  override firstUpdated(): void {
    this.sized.observe(this.box);
  }

  override updated(changed: PropertyValues<ChartPart>): void {
    const data = ["lines", "scale", "times", "total"].some((name) => changed.has(name as keyof ChartPart));
    if (data || !this.plot) this.build();
    else if (changed.has("range")) this.build();
    else if (changed.has("levels") || changed.has("marks") || changed.has("notes") || changed.has("pinned")) this.plot.redraw(false);
  }

  private get box(): HTMLElement {
    const box = this.querySelector<HTMLElement>(".chart-box");
    if (!box) throw new Error("the chart is not rendered yet");
    return box;
  }

  private get tip(): HTMLElement | null {
    return this.querySelector<HTMLElement>(".chart-tip");
  }

  private get bounds(): { min: number; max: number } {
    const first = this.range?.first ?? this.lines.reduce((least, line) => Math.min(least, line.positions[0] ?? least), this.total);
    const last = this.range?.last ?? this.lines.reduce((most, line) => Math.max(most, line.positions.at(-1) ?? most), 0);
    const pad = Math.max(0.5, (last - first) * 0.012);
    return { min: Math.min(first, last) - pad, max: Math.max(first, last) + pad };
  }

  /** What a value is divided by where values are shown relative to the start of their line. */
  private base(line: ChartLine): number {
    if (this.scale !== "ratio") return 1;
    const first = this.lines.length === 1 ? this.levels[0]?.mean : undefined;
    const start = first ?? line.values[0] ?? 1;
    return (start === 0 ? 1 : start) / 100;
  }

  private shownUnit(): string {
    return this.scale === "ratio" ? "%" : (this.lines[0]?.unit ?? "");
  }

  private data(): uPlot.AlignedData {
    if (this.lines.length === 0) return [[], []];
    const tables = this.lines.map((line): uPlot.AlignedData => {
      const base = this.base(line);
      return [Array.from(line.positions), Array.from(line.values, (value) => value / base)];
    });
    return uPlot.join(tables);
  }

  private build(): void {
    if (!this.isConnected || !this.hasUpdated) return;
    this.plot?.destroy();
    this.colours = palette(this);
    const { box } = this;
    this.plot = new uPlot(this.options(this.colours), this.data(), box);
    const { over } = this.plot;
    over.addEventListener("mousedown", (event) => (this.pressed = { x: event.clientX, y: event.clientY }));
    over.addEventListener("mouseup", (event) => this.onRelease(event));
    over.addEventListener("dblclick", () => this.announce("kp-range", undefined));
    over.addEventListener("mouseleave", () => this.hideTip());
  }

  private resize(): void {
    const { clientWidth, clientHeight } = this.box;
    if (clientWidth > 0) this.plot?.setSize({ width: clientWidth, height: clientHeight });
  }

  private announce(name: string, detail: unknown): void {
    this.dispatchEvent(new CustomEvent(name, { detail }));
  }

  private onRelease(event: MouseEvent): void {
    const moved = Math.hypot(event.clientX - this.pressed.x, event.clientY - this.pressed.y);
    const hovered = moved < 4 ? this.hovered() : undefined;
    if (hovered) this.announce("kp-pick", hovered.position);
  }

  private options(colours: Palette): uPlot.Options {
    const font = "12px system-ui, sans-serif";
    const axis = { stroke: colours.faint, font, grid: { stroke: colours.grid, width: 1 }, ticks: { stroke: colours.grid, size: 4 } };
    const single = this.lines.length <= 1;
    const unit = this.shownUnit();
    const most = Math.max(1, ...this.lines.map((line) => this.inside(line)));
    const room = this.box.clientWidth / most;
    return {
      width: this.box.clientWidth || 800,
      height: this.box.clientHeight || 360,
      padding: [this.marks.length > 0 || single ? STRIP : 12, 16, 0, 0],
      legend: { show: false },
      cursor: {
        y: false,
        drag: { x: true, y: false, setScale: false },
        points: { size: 8, width: 2 },
        focus: { prox: 30 },
      },
      focus: { alpha: single ? 1 : 0.35 },
      scales: {
        x: { time: false, range: () => [this.bounds.min, this.bounds.max] },
        y: { distr: this.scale === "log" ? 3 : 1, range: (plot, low, high) => this.yRange(plot, low, high) },
      },
      axes: [
        {
          ...axis,
          space: 96,
          size: 32,
          incrs: INCREMENTS,
          values: (_, splits) => this.dateLabels(splits),
        },
        {
          ...axis,
          space: 44,
          size: (_, labels: string[] | null) => 20 + Math.max(40, ...(labels ?? []).map((label) => label.length * 7)),
          values: (_, splits: (number | null)[]) => axisTexts(splits, unit, this.scale === "log"),
        },
      ],
      series: [
        {},
        ...(this.lines.length === 0 ? [{}] : []),
        ...this.lines.map((_, index): uPlot.Series => {
          const own = colours.series[index % colours.series.length] ?? colours.dot;
          return {
            stroke: single ? colours.trail : own,
            width: single ? 1 : 1.5,
            spanGaps: true,
            points: {
              show: (plot: uPlot) => this.spacing(plot) > DOTS_FROM,
              size: single && room > ROOMY ? 5 : room > ROOMY ? 4 : 3,
              width: 0,
              fill: single ? colours.dot : own,
              stroke: single ? colours.dot : own,
            },
          };
        }),
      ],
      hooks: {
        drawAxes: [(plot) => this.drawUnder(plot, colours)],
        draw: [(plot) => this.drawOver(plot, colours)],
        setSelect: [(plot) => this.onSelect(plot)],
        setCursor: [() => this.onCursor()],
      },
    };
  }

  private inside(line: ChartLine): number {
    const { min, max } = this.bounds;
    return line.positions.filter((position) => position >= min && position <= max).length;
  }

  private spacing(plot: uPlot): number {
    const { min = 0, max = 1 } = plot.scales.x ?? {};
    const inside = plot.data[0].filter((position) => position >= min && position <= max).length;
    return plot.bbox.width / devicePixelRatio / Math.max(inside, 1);
  }

  private yRange(plot: uPlot, low: number, high: number): uPlot.Range.MinMax {
    if (!Number.isFinite(low) || !Number.isFinite(high)) return [0, 1];
    if (this.scale === "log") {
      const bottom = low > 0 ? low : Math.max(high, 1) / 1e6;
      return uPlot.rangeLog(bottom, Math.max(high, bottom), 10, false);
    }
    if (this.scale === "zero") return uPlot.rangeNum(Math.min(0, low), Math.max(0, high), { min: { pad: 0.04, soft: 0, mode: 1 }, max: { pad: 0.08, soft: 0, mode: 1 } });
    const { min = 0, max = 0 } = plot.scales.x ?? {};
    const base = this.lines[0] ? this.base(this.lines[0]) : 1;
    for (const level of this.levels) {
      if (level.last < min || level.first > max) continue;
      low = Math.min(low, level.mean / base);
      high = Math.max(high, level.mean / base);
    }
    const span = high - low || Math.abs(high) * 0.1 || 1;
    const bottom = low - span * 0.1;
    return [low >= 0 ? Math.max(0, bottom) : bottom, high + span * 0.1];
  }

  private dateLabels(splits: readonly number[]): string[] {
    let before = "";
    return splits.map((split) => {
      const time = Number.isInteger(split) ? this.times[split] : undefined;
      if (time === undefined || Number.isNaN(time)) return "";
      const label = day(time);
      if (label !== before) {
        before = label;
        return label;
      }
      return new Date(time * 1000).toTimeString().slice(0, 5);
    });
  }

  // ---- drawing

  private drawUnder(plot: uPlot, colours: Palette): void {
    const { ctx, bbox } = plot;
    const ratio = devicePixelRatio;
    const x = (position: number): number => plot.valToPos(position, "x", true);
    const y = (value: number): number => plot.valToPos(value, "y", true);
    const base = this.lines[0] ? this.base(this.lines[0]) : 1;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    ctx.fillStyle = colours.band;
    for (const level of this.levels) {
      const left = x(level.first - 0.3);
      const top = y(level.maximum / base);
      ctx.fillRect(left, top, x(level.last + 0.3) - left, y(Math.max(level.minimum / base, this.scale === "log" ? 1e-300 : -Infinity)) - top);
    }
    ctx.fillStyle = colours.suspect;
    ctx.strokeStyle = colours.suspect;
    ctx.lineWidth = ratio;
    for (const mark of this.marks) {
      if (mark.suspects <= 1) continue;
      const left = x(mark.previous);
      hatch(ctx, left, bbox.top, x(mark.position) - left, bbox.height, 7 * ratio);
    }
    if (this.pinned !== undefined) {
      ctx.strokeStyle = colours.pin;
      ctx.lineWidth = 1.5 * ratio;
      ctx.beginPath();
      ctx.moveTo(x(this.pinned), bbox.top);
      ctx.lineTo(x(this.pinned), bbox.top + bbox.height);
      ctx.stroke();
    }
    ctx.restore();
  }

  private drawOver(plot: uPlot, colours: Palette): void {
    const { ctx, bbox } = plot;
    const ratio = devicePixelRatio;
    const x = (position: number): number => plot.valToPos(position, "x", true);
    const y = (value: number): number => plot.valToPos(value, "y", true);
    const base = this.lines[0] ? this.base(this.lines[0]) : 1;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    ctx.strokeStyle = colours.level;
    ctx.lineWidth = 2.5 * ratio;
    ctx.lineCap = "round";
    for (const level of this.levels) {
      ctx.beginPath();
      ctx.moveTo(x(level.first - 0.3), y(level.mean / base));
      ctx.lineTo(x(level.last + 0.3), y(level.mean / base));
      ctx.stroke();
    }
    this.drawNotes(plot, colours);
    ctx.restore();
    this.drawMarks(plot, colours);
  }

  private drawNotes(plot: uPlot, colours: Palette): void {
    const { ctx, bbox } = plot;
    const ratio = devicePixelRatio;
    const bottom = bbox.top + bbox.height;
    ctx.fillStyle = ctx.strokeStyle = colours.note;
    ctx.lineWidth = ratio;
    ctx.setLineDash([ratio, 4 * ratio]);
    for (const note of this.notes) {
      const x = plot.valToPos(note.position - 0.5, "x", true);
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bottom);
      ctx.stroke();
      ctx.beginPath();
      ctx.moveTo(x - 6 * ratio, bottom);
      ctx.lineTo(x, bottom - 9 * ratio);
      ctx.lineTo(x + 6 * ratio, bottom);
      ctx.fill();
    }
    ctx.setLineDash([]);
  }

  private drawMarks(plot: uPlot, colours: Palette): void {
    const { ctx, bbox } = plot;
    const ratio = devicePixelRatio;
    const top = bbox.top - (STRIP / 2) * ratio;
    const visible = this.marks
      .map((mark) => ({ mark, x: plot.valToPos(mark.position, "x", true) }))
      .filter(({ x }) => x >= bbox.left - 1 && x <= bbox.left + bbox.width + 1);
    ctx.save();
    ctx.font = `${12 * ratio}px system-ui, sans-serif`;
    ctx.textAlign = "left";
    ctx.textBaseline = "middle";
    let taken = bbox.left - 16 * ratio;
    visible.forEach(({ mark, x }, index) => {
      const own = colours.status[mark.status];
      ctx.strokeStyle = own;
      ctx.fillStyle = own;
      ctx.lineWidth = 1.25 * ratio;
      ctx.setLineDash([4 * ratio, 4 * ratio]);
      ctx.beginPath();
      ctx.moveTo(x, top + 6 * ratio);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
      ctx.setLineDash([]);
      ctx.lineWidth = 1.75 * ratio;
      shape(ctx, mark.status, x, top, 5 * ratio, colours.paper);
      const until = visible[index + 1]?.x ?? bbox.left + bbox.width + 16 * ratio;
      const { width } = ctx.measureText(mark.text);
      const right = width <= until - x - 18 * ratio;
      const left = width <= x - taken - 18 * ratio;
      taken = right ? x + 10 * ratio + width : x + 8 * ratio;
      if (!right && !left) return;
      ctx.fillStyle = mark.status === "hidden" ? colours.faint : colours.direction[mark.direction];
      ctx.fillText(mark.text, right ? x + 10 * ratio : x - 10 * ratio - width, top);
    });
    ctx.restore();
  }

  // ---- pointer

  private onSelect(plot: uPlot): void {
    const { left, width } = plot.select;
    if (width < 4) return;
    const first = Math.max(0, Math.floor(plot.posToVal(left, "x")));
    const last = Math.min(this.total - 1, Math.ceil(plot.posToVal(left + width, "x")));
    plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    if (last > first) this.announce("kp-range", { first, last });
  }

  private hovered(): Hovered | undefined {
    const { plot } = this;
    if (typeof plot?.cursor.idx !== "number") return undefined;
    const { left = -1, top = -1 } = plot.cursor;
    let best: (Hovered & { distance: number }) | undefined;
    this.lines.forEach((line, index) => {
      const near = this.nearest(plot, index + 1, left);
      if (near === undefined) return;
      const position = plot.data[0][near] ?? 0;
      const shown = plot.data[index + 1]?.[near] ?? 0;
      const across = Math.abs(plot.valToPos(position, "x") - left);
      const down = Math.abs(plot.valToPos(shown, "y") - top);
      const distance = this.lines.length === 1 ? across : Math.hypot(across, down);
      if (!best || distance < best.distance) best = { line, position, value: shown * this.base(line), distance };
    });
    return best && best.distance <= Math.max(HOVER_PIXELS, this.spacing(plot)) ? best : undefined;
  }

  private nearest(plot: uPlot, series: number, left: number): number | undefined {
    const middle = plot.cursor.idx ?? 0;
    const values = plot.data[series];
    for (let step = 0; step < 200; step++) {
      const found = [middle - step, middle + step].filter((index) => typeof values?.[index] === "number");
      if (found.length === 0) continue;
      const away = (index: number): number => Math.abs(plot.valToPos(plot.data[0][index] ?? 0, "x") - left);
      return found.reduce((best, index) => (away(index) < away(best) ? index : best));
    }
    return undefined;
  }

  private hideTip(): void {
    if (this.tip) this.tip.hidden = true;
  }

  private onCursor(): void {
    const { plot, tip } = this;
    const hovered = this.hovered();
    if (!plot || !tip || !hovered) {
      this.hideTip();
      return;
    }
    render(this.describe(hovered), tip);
    tip.hidden = false;
    const ratio = devicePixelRatio;
    const x = plot.bbox.left / ratio + plot.valToPos(hovered.position, "x");
    const y = plot.bbox.top / ratio + plot.valToPos(hovered.value / this.base(hovered.line), "y");
    const right = x + 16 + tip.offsetWidth < this.clientWidth;
    tip.style.left = `${right ? x + 14 : Math.max(0, x - 14 - tip.offsetWidth)}px`;
    tip.style.top = `${Math.max(4, Math.min(y - tip.offsetHeight / 2, this.clientHeight - tip.offsetHeight - 4))}px`;
  }

  /** Describe again what the pointer is on, after more about it has become known. */
  refreshTip(): void {
    if (this.tip && !this.tip.hidden) this.onCursor();
  }
}

customElements.define("kp-chart", ChartPart);
