/** The whole history in small below a chart, with a window over the part that the chart shows. */

import { html, svg } from "lit";
import { customElement, property, query, state } from "lit/decorators.js";
import { api } from "../api/client";
import type { Series } from "../api/series";
import { PageElement } from "../page-element";
import type { Along } from "../routes/url";
import { FirstPaint } from "../state/first-paint";
import { dragRange, type Grip } from "../state/plot/zoom";
import { Resource } from "../state/resource";
import { grouped } from "../text/numbers";
import type { ChartRange } from "./chart-data";
import { positionAxis } from "./position-axis";
import { mainRange } from "./value-range";

const WIDTH = 1000;
const HEIGHT = 32;
/** Points of one line: the strip shows its shape. */
const POINTS = 240;
/** With more lines, the first ones have to do. */
const MAX_LINES = 16;
/** What an arrow key moves the window by, as a share of its width. */
const KEY_STEP = 0.25;

const KEYS: Record<string, number> = { ArrowLeft: -KEY_STEP, ArrowRight: KEY_STEP, Home: -Infinity, End: Infinity };

interface Drag {
  grip: Grip | "new";
  /** The position of the pointer and the range of the window when the button was pressed. */
  from: number;
  range: ChartRange;
}

/**
 * Loads the values of traces, few points of each, and draws each line in its own range of values.
 *
 * The window is dragged, or resized by its edges; a drag beside it chooses another range. Sends the range as the detail
 * of `kp-range` when the pointer is released; undefined for the whole history.
 */
@customElement("kp-overview-strip")
export class OverviewStrip extends PageElement {
  @property({ attribute: false }) traces: readonly number[] = [];
  @property() line = "";
  /** What of the samples of each run; "" for the median. */
  @property() summary = "";
  @property({ attribute: false }) whole: ChartRange = { first: 0, last: 0 };
  @property({ attribute: false }) range: ChartRange | undefined;
  @property({ attribute: false }) times = new Float64Array();
  @property() along: Along = "commits";
  @query(".strip-window") private readonly frame!: HTMLElement;
  /** The window while it is dragged. */
  @state() private dragged: ChartRange | undefined;
  private drag: Drag | undefined;

  /** The chart above comes first. */
  private readonly firstPaint = new FirstPaint(this);
  private readonly values = new Resource(this, {
    args: () =>
      this.firstPaint.done ? ([this.traces.slice(0, MAX_LINES).join(), this.line, this.summary] as const) : undefined,
    load: async ([ids, line, summary], signal) =>
      ids ? api.values(ids.split(",").map(Number), { line, points: POINTS, summary }, signal) : [],
    keepWhileLoading: () => true,
  });

  private get shown(): ChartRange {
    return this.dragged ?? this.range ?? this.whole;
  }

  // ---- Positions and places: a place is 0 at the left end of the strip and 1 at the right one

  private placeOf(position: number): number {
    const { toX } = positionAxis(this);
    const [left, right] = [toX(this.whole.first), toX(this.whole.last)];
    return Math.max(0, Math.min((toX(position) - left) / (right - left || 1), 1));
  }

  private positionAt(event: PointerEvent): number {
    const box = this.getBoundingClientRect();
    const place = Math.max(0, Math.min((event.clientX - box.left) / (box.width || 1), 1));
    const { toX, toPosition } = positionAxis(this);
    const [left, right] = [toX(this.whole.first), toX(this.whole.last)];
    return Math.round(toPosition(left + place * (right - left)));
  }

  // ---- Pointer and keys

  private onPress(event: PointerEvent): void {
    if (event.button !== 0) return;
    const target = event.target as Element;
    const grip = target.getAttribute("data-grip") as Grip | null;
    // The window over the whole history has nowhere to go.
    const isInside = this.range !== undefined && target.closest(".strip-window") !== null;
    this.drag = { grip: grip ?? (isInside ? "both" : "new"), from: this.positionAt(event), range: this.shown };
    (event.currentTarget as Element).setPointerCapture(event.pointerId);
  }

  private onMove(event: PointerEvent): void {
    if (!this.drag) return;
    const { grip, from, range } = this.drag;
    const position = this.positionAt(event);
    this.dragged =
      grip === "new"
        ? { first: Math.min(from, position), last: Math.max(from, position) }
        : dragRange(range, grip, position - from, this.whole);
  }

  private onRelease(): void {
    const { dragged } = this;
    this.drag = undefined;
    this.dragged = undefined;
    if (dragged && dragged.last > dragged.first) this.send(dragged);
  }

  private onKey(event: KeyboardEvent): void {
    const by = KEYS[event.key];
    if (by === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const { first, last } = this.shown;
    const step = Number.isFinite(by) ? Math.round((last - first) * by) || Math.sign(by) : by;
    this.send(dragRange(this.shown, "both", step, this.whole));
  }

  private send(range: ChartRange): void {
    const { first, last } = this.whole;
    const detail = range.first <= first && range.last >= last ? undefined : range;
    this.dispatchEvent(new CustomEvent("kp-range", { detail }));
  }

  // ---- Rendering

  private renderLine({ positions, values }: Series) {
    const { low, high } = mainRange(values);
    const span = high - low || 1;
    const points = Array.from(values, (value, index) => {
      const height = Math.max(0, Math.min((value - low) / span, 1));
      return `${(this.placeOf(positions[index] ?? 0) * WIDTH).toFixed(1)} ${(HEIGHT - 3 - height * (HEIGHT - 6)).toFixed(1)}`;
    });
    return svg`<path class="trail" vector-effect="non-scaling-stroke" d="M${points.join("L")}"></path>`;
  }

  override updated(): void {
    // The server's content security policy refuses style attributes, and lets scripts set styles.
    const { first, last } = this.shown;
    const left = this.placeOf(first) * 100;
    this.frame.style.left = `${left}%`;
    this.frame.style.width = `${this.placeOf(last) * 100 - left}%`;
  }

  override render() {
    const { first, last } = this.shown;
    const lines = (this.values.value ?? []).filter(({ values }) => values.length > 1);
    return html`<div
      class="strip"
      @pointerdown=${(event: PointerEvent) => this.onPress(event)}
      @pointermove=${(event: PointerEvent) => this.onMove(event)}
      @pointerup=${() => this.onRelease()}
      @pointercancel=${() => this.onRelease()}
    >
      <svg class="spark" viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" aria-hidden="true">
        ${lines.map((line) => this.renderLine(line))}
      </svg>
      <div
        class="strip-window"
        role="slider"
        tabindex="0"
        title="Drag to move, drag the edges to zoom (← → Home End)"
        aria-label="Shown commits"
        aria-valuemin=${this.whole.first + 1}
        aria-valuemax=${this.whole.last + 1}
        aria-valuenow=${first + 1}
        aria-valuetext="commits ${grouped(first + 1)} to ${grouped(last + 1)}"
        @keydown=${(event: KeyboardEvent) => this.onKey(event)}
      >
        <i data-grip="first"></i><i data-grip="last"></i>
      </div>
    </div>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    "kp-overview-strip": OverviewStrip;
  }
}
