/** Values over commits: dots, levels with their spread, changes by triage state, suspect ranges. */

import { html, nothing, render, type PropertyValues, type TemplateResult } from "lit";
import uPlot from "uplot";
import type { Scale } from "../routes/routes";
import { number } from "../text/units";
import { Part } from "../components/page-element";
import { drawOver, drawUnder, FAILURES_ABOVE } from "./annotations";
import {
  axisName,
  axisOf,
  axisUnits,
  baseOf,
  type ChartCandidate,
  type ChartFailure,
  type ChartLevel,
  type ChartLine,
  type ChartMark,
  type ChartNote,
  type ChartRange,
  type ChartView,
  type Hovered,
} from "./chart-data";
import { optionsOf, spacing, tableOf } from "./uplot-options";
import { palette, type Palette } from "./palette";

const HOVER_PIXELS = 40;

const DRAWN = ["levels", "marks", "notes", "candidates", "failures", "pinned"] as const;
const BUILT = ["lines", "scale", "times", "total", "range"] as const;

export class ChartPart extends Part implements ChartView {
  static override properties = {
    lines: { attribute: false },
    levels: { attribute: false },
    marks: { attribute: false },
    notes: { attribute: false },
    candidates: { attribute: false },
    failures: { attribute: false },
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
  declare candidates: readonly ChartCandidate[];
  declare failures: readonly ChartFailure[];
  declare times: Float64Array;
  declare total: number;
  declare range: ChartRange | undefined;
  declare scale: Scale;
  declare pinned: number | undefined;
  declare label: string;
  declare describe: (hovered: Hovered) => TemplateResult;

  private plot: uPlot | undefined;
  private readonly sized = new ResizeObserver(() => this.resize());
  private readonly rebuild = (): void => this.build();
  private pressed = { x: 0, y: 0 };

  constructor() {
    super();
    this.lines = [];
    this.levels = [];
    this.marks = [];
    this.notes = [];
    this.candidates = [];
    this.failures = [];
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
    if (!this.plot || BUILT.some((name) => changed.has(name))) this.build();
    else if (DRAWN.some((name) => changed.has(name))) this.plot.redraw(false);
  }

  private get box(): HTMLElement {
    const box = this.querySelector<HTMLElement>(".chart-box");
    if (!box) throw new Error("the chart is not rendered yet");
    return box;
  }

  private get tip(): HTMLElement | null {
    return this.querySelector<HTMLElement>(".chart-tip");
  }

  private build(): void {
    if (!this.isConnected || !this.hasUpdated) return;
    this.plot?.destroy();
    const colours = palette(this);
    const { box } = this;
    this.plot = new uPlot(optionsOf(this, colours, box, this.hooks(colours)), tableOf(this), box);
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

  private hooks(colours: Palette): uPlot.Hooks.Arrays {
    return {
      drawAxes: [(plot) => drawUnder(this, plot, colours)],
      draw: [(plot) => drawOver(this, plot, colours)],
      setSelect: [(plot) => this.onSelect(plot)],
      setCursor: [() => this.onCursor()],
    };
  }

  /** Let one line stand out from the others; none of them without an id. */
  focusLine(id: number | undefined): void {
    const index = this.lines.findIndex((line) => line.id === id);
    this.plot?.setSeries(index < 0 ? null : index + 1, { focus: index >= 0 });
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
    const failure = this.failureAt(plot, left, top);
    if (failure) return failure;
    let best: (Hovered & { distance: number }) | undefined;
    this.lines.forEach((line, index) => {
      const near = this.nearest(plot, index + 1, left);
      if (near === undefined) return;
      const position = plot.data[0][near] ?? 0;
      const shown = plot.data[index + 1]?.[near] ?? 0;
      const across = Math.abs(plot.valToPos(position, "x") - left);
      const down = Math.abs(plot.valToPos(shown, this.axisNameOf(line)) - top);
      const distance = this.lines.length === 1 ? across : Math.hypot(across, down);
      if (!best || distance < best.distance) best = { line, position, value: shown * baseOf(this, line), distance };
    });
    return best && best.distance <= Math.max(HOVER_PIXELS, spacing(plot)) ? best : undefined;
  }

  private failureAt(plot: uPlot, left: number, top: number): Hovered | undefined {
    const [line] = this.lines;
    if (!line || top < plot.bbox.height / devicePixelRatio - 2 * FAILURES_ABOVE) return undefined;
    const away = ({ position }: ChartFailure): number => Math.abs(plot.valToPos(position, "x") - left);
    const near = this.failures.filter((own) => away(own) <= FAILURES_ABOVE).sort((a, b) => away(a) - away(b))[0];
    return near && { line, position: near.position, value: NaN };
  }

  private axisNameOf(line: ChartLine): string {
    return axisName(axisOf(line, axisUnits(this.lines, this.scale)));
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
    const { top, height } = plot.bbox;
    const down = Number.isNaN(hovered.value)
      ? height / ratio
      : plot.valToPos(hovered.value / baseOf(this, hovered.line), this.axisNameOf(hovered.line));
    const y = top / ratio + down;
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
