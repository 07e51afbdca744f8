/** The chart of values over commits: values, stable regions, changes by status, suspect ranges. */

import { html, nothing, render, type PropertyValues, type TemplateResult } from "lit";
import { customElement, property, query } from "lit/decorators.js";
import uPlot from "uplot";
import { PageElement } from "../page-element";
import type { Along, Scale } from "../routes/url";
import { numberText } from "../text/numbers";
import { drawAboveValues, drawBelowValues } from "./annotations";
import {
  isCrowd,
  NO_PATTERNS,
  type ChartCandidate,
  type ChartFailure,
  type ChartFinding,
  type ChartQuarantined,
  type ChartRemeasured,
  type ChartLevel,
  type ChartLine,
  type ChartMark,
  type ChartNote,
  type ChartPatterns,
  type ChartRange,
  type ChartTicket,
  type ChartView,
  type Hovered,
} from "./chart-data";
import { Crowd } from "./crowd";
import { findHovered, valueToPixels } from "./hover";
import { palette, type Palette } from "./palette";
import { pngOf, svgOf } from "./picture";
import { positionAxis } from "./position-axis";
import { alignedData, uplotOptions } from "./uplot-options";

/** Properties that uPlot knows nothing about: a redraw is enough when they change. */
const DRAWN = [
  "levels",
  "patterns",
  "marks",
  "findings",
  "notes",
  "candidates",
  "failures",
  "tickets",
  "pinned",
] as const;
/** Properties that are part of uPlot's options or data: it has to be built again. */
const BUILT = ["lines", "quarantined", "remeasured", "scale", "along", "times", "total", "range"] as const;

/** A press that moves less than this, in pixels, is a click and no drag. */
const MIN_DRAG = 4;

/**
 * Draws with uPlot, and adds what uPlot does not draw.
 *
 * Sends the range that the user drags over as the detail of `kp-range` (undefined after a double click), and the
 * position that the user clicks on as the detail of `kp-pick`, with its line and value as that of `kp-point`.
 */
@customElement("kp-chart")
export class Chart extends PageElement implements ChartView {
  @property({ attribute: false }) lines: readonly ChartLine[] = [];
  @property({ attribute: false }) levels: readonly ChartLevel[] = [];
  @property({ attribute: false }) patterns: ChartPatterns = NO_PATTERNS;
  @property({ attribute: false }) marks: readonly ChartMark[] = [];
  @property({ attribute: false }) findings: readonly ChartFinding[] = [];
  @property({ attribute: false }) notes: readonly ChartNote[] = [];
  @property({ attribute: false }) candidates: readonly ChartCandidate[] = [];
  @property({ attribute: false }) failures: readonly ChartFailure[] = [];
  @property({ attribute: false }) quarantined: readonly ChartQuarantined[] = [];
  @property({ attribute: false }) remeasured: readonly ChartRemeasured[] = [];
  @property({ attribute: false }) tickets: readonly ChartTicket[] = [];
  @property({ attribute: false }) times = new Float64Array();
  @property({ type: Number }) total = 0;
  @property({ attribute: false, hasChanged: areOtherRanges }) range: ChartRange | undefined;
  @property() scale: Scale = "auto";
  @property() along: Along = "commits";
  @property({ type: Number }) pinned: number | undefined;
  /** The line of a crowd that stands out where the pointer is on none. */
  @property({ type: Number }) selected: number | undefined;
  /** Charts of one group show their cursors at the same commit; "" for none. */
  @property({ attribute: false }) cursorGroup = "";
  @property() label = "";
  @property({ attribute: false }) describe = (hovered: Hovered): TemplateResult => html`${numberText(hovered.value)}`;

  @query(".chart-box") private readonly box!: HTMLElement;
  @query(".chart-tip") private readonly tooltip!: HTMLElement | null;

  private plot: uPlot | undefined;
  private crowd: Crowd | undefined;
  private pressedAt = { x: 0, y: 0 };
  private readonly resizeObserver = new ResizeObserver(() => this.resize());
  /** What changes the colours: the scheme, and paper, which is light in any theme. */
  private readonly media = [matchMedia("(prefers-color-scheme: dark)"), matchMedia("print")];
  private readonly rebuild = (): void => this.build();

  override connectedCallback(): void {
    super.connectedCallback();
    window.addEventListener("kp-theme", this.rebuild);
    for (const query of this.media) query.addEventListener("change", this.rebuild);
  }

  override disconnectedCallback(): void {
    window.removeEventListener("kp-theme", this.rebuild);
    for (const query of this.media) query.removeEventListener("change", this.rebuild);
    this.resizeObserver.disconnect();
    this.destroyPlot();
    super.disconnectedCallback();
  }

  override render() {
    const empty = this.lines.every((line) => line.positions.length === 0);
    return html`<div class="chart-box" role="img" aria-label=${this.label}></div>
      <div class="chart-tip" hidden></div>
      ${empty ? html`<p class="chart-empty">${this.emptyText}</p>` : nothing}`;
  }

  private get emptyText(): string {
    const { range, total } = this;
    const isWhole = !range || (range.first <= 0 && range.last >= total - 1);
    return isWhole ? "There are no values." : "No values in this range. Press 0 to see the whole line.";
  }

  override firstUpdated(): void {
    this.resizeObserver.observe(this.box);
  }

  override updated(changed: PropertyValues<Chart>): void {
    // Building the plot is costly: lists that stay empty are not a reason.
    const isChanged = (name: (typeof BUILT)[number]): boolean =>
      changed.has(name) && !(isEmpty(changed.get(name)) && isEmpty(this[name]));
    if (!this.plot || BUILT.some(isChanged)) this.build();
    else if (DRAWN.some((name) => changed.has(name))) this.plot.redraw(false);
    if (changed.has("selected")) this.highlightLine(undefined);
  }

  /** Let one line stand out from the others; no line without an id. */
  highlightLine(id: number | undefined): void {
    const index = this.lines.findIndex((line) => line.id === id);
    if (this.crowd) this.crowd.emphasize(index < 0 ? this.selectedIndex : index);
    else this.plot?.setSeries(index < 0 ? null : index + 1, { focus: index >= 0 });
  }

  /** Render the tooltip again, after more about the hovered value was loaded. */
  refreshTooltip(): void {
    if (this.tooltip && !this.tooltip.hidden) this.updateTooltip();
  }

  /** What the plot shows as a file, with a title and the names of the lines. */
  async picture(format: "png" | "svg", title: string): Promise<Blob | undefined> {
    return this.plot && (format === "png" ? pngOf : svgOf)(this, this.plot, palette(this), title);
  }

  private get selectedIndex(): number {
    return this.lines.findIndex((line) => line.id === this.selected);
  }

  private build(): void {
    if (!this.isConnected || !this.hasUpdated) return;
    const pointer = this.plot && { left: this.plot.cursor.left ?? -1, top: this.plot.cursor.top ?? -1 };
    this.destroyPlot();
    const colours = palette(this);
    this.plot = new uPlot(uplotOptions(this, colours, this.box, this.hooks(colours)), alignedData(this), this.box);
    if (isCrowd(this.lines)) {
      // It is drawn with uPlot, which knows a microtask later where the axes leave room.
      this.crowd = new Crowd(this, this.plot, colours);
      this.crowd.emphasize(this.selectedIndex);
    }
    const { over } = this.plot;
    over.addEventListener("mousedown", (event) => (this.pressedAt = { x: event.clientX, y: event.clientY }));
    over.addEventListener("mouseup", (event) => this.onMouseup(event));
    over.addEventListener("dblclick", () => this.send("kp-range", undefined));
    over.addEventListener("mouseleave", () => this.hideTooltip());
    // Values that arrive while somebody reads the tooltip do not take it away. uPlot is ready a microtask later.
    if (pointer && pointer.left >= 0) queueMicrotask(() => this.plot?.setCursor(pointer));
  }

  private destroyPlot(): void {
    this.crowd?.stop();
    this.crowd = undefined;
    this.plot?.destroy();
    this.plot = undefined;
  }

  private hooks(colours: Palette): uPlot.Hooks.Arrays {
    return {
      drawAxes: [(plot) => drawBelowValues(this, plot, colours)],
      draw: [(plot) => drawAboveValues(this, plot, colours), () => this.crowd?.draw()],
      setSelect: [(plot) => this.onSelect(plot)],
      setCursor: [() => this.updateTooltip()],
    };
  }

  private resize(): void {
    const { clientWidth, clientHeight } = this.box;
    if (clientWidth > 0) this.plot?.setSize({ width: clientWidth, height: clientHeight });
  }

  private send(name: string, detail: unknown): void {
    this.dispatchEvent(new CustomEvent(name, { detail }));
  }

  private onMouseup(event: MouseEvent): void {
    const moved = Math.hypot(event.clientX - this.pressedAt.x, event.clientY - this.pressedAt.y);
    const hovered = moved < MIN_DRAG && this.plot ? findHovered(this, this.plot) : undefined;
    if (!hovered) return;
    this.send("kp-pick", hovered.position);
    this.send("kp-point", hovered);
  }

  private onSelect(plot: uPlot): void {
    const { left, width } = plot.select;
    if (width < MIN_DRAG) return;
    const { toPosition } = positionAxis(this);
    const first = Math.max(0, Math.floor(toPosition(plot.posToVal(left, "x"))));
    const last = Math.min(this.total - 1, Math.ceil(toPosition(plot.posToVal(left + width, "x"))));
    plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    if (last > first) this.send("kp-range", { first, last });
  }

  private hideTooltip(): void {
    this.crowd?.emphasize(this.selectedIndex);
    if (this.tooltip) this.tooltip.hidden = true;
  }

  private updateTooltip(): void {
    const { plot, tooltip } = this;
    // The cursor of another chart of the group has its tooltip there.
    const isOwn = !this.cursorGroup || plot?.over.matches(":hover");
    const hovered = isOwn && plot ? findHovered(this, plot) : undefined;
    if (!plot || !tooltip || !hovered) {
      this.hideTooltip();
      return;
    }
    this.crowd?.emphasize(this.lines.indexOf(hovered.line));
    render(this.describe(hovered), tooltip);
    tooltip.hidden = false;
    this.placeTooltip(plot, tooltip, hovered);
  }

  /** Place the tooltip beside the value: on the right if there is room, and never outside of the chart. */
  private placeTooltip(plot: uPlot, tooltip: HTMLElement, { line, position, value }: Hovered): void {
    const ratio = devicePixelRatio;
    const { left, top, height } = plot.bbox;
    const x = left / ratio + plot.valToPos(positionAxis(this).toX(position), "x");
    const down = Number.isNaN(value) ? height / ratio : valueToPixels(this, plot, line, value);
    const y = top / ratio + down;
    const roomOnRight = x + 16 + tooltip.offsetWidth < this.clientWidth;
    const lowest = this.clientHeight - tooltip.offsetHeight - 4;
    tooltip.style.left = `${roomOnRight ? x + 14 : Math.max(0, x - 14 - tooltip.offsetWidth)}px`;
    tooltip.style.top = `${Math.max(4, Math.min(y - tooltip.offsetHeight / 2, lowest))}px`;
  }
}

/** The range of a route is a new object at each rendering. */
function areOtherRanges(a: ChartRange | undefined, b: ChartRange | undefined): boolean {
  return a?.first !== b?.first || a?.last !== b?.last;
}

function isEmpty(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}

declare global {
  interface HTMLElementTagNameMap {
    "kp-chart": Chart;
  }
}
