/** Which rows of a long table are in the document: those near the view, and those around the one with the keyboard. */

import type { ReactiveController, ReactiveControllerHost } from "lit";

/** Tables with more rows have only some of them in the document. */
export const MOST_ROWS = 150;
/** Rows above and below the one in the middle of the view. */
const REACH = 20;
/** Rows above and below the one with the keyboard, wherever the view is: it keeps the focus, and Tab leads on from it. */
const AROUND_CURSOR = 2;
/** How far beyond the view there are rows at least, in pixels. */
const MARGIN = 300;

/** Consecutive rows, up to one before `to`, that are in the document or not. */
export interface Stretch {
  from: number;
  to: number;
  shown: boolean;
}

/** The rows of a table from the first to the last: those around two of them are shown. */
export function stretches(total: number, middle: number, cursor: number): Stretch[] {
  const shown = [
    [Math.min(middle, total - 1), REACH],
    [cursor, AROUND_CURSOR],
  ]
    .map(([at = 0, reach = 0]) => [Math.max(0, at - reach), Math.min(total, at + reach + 1)] as const)
    .sort(([a], [b]) => a - b);
  const all: Stretch[] = [];
  let next = 0;
  const goOn = (to: number, isShown: boolean): void => {
    if (to > next) all.push({ from: next, to, shown: isShown });
    next = Math.max(next, to);
  };
  for (const [from, to] of shown) {
    goOn(from, false);
    goOn(to, true);
  }
  goOn(total, false);
  return all;
}

/** Follows the view of a table whose rows have their number in `aria-rowindex`, and whose gaps are of the class `gap`. */
export class RowWindow implements ReactiveController {
  /** The height of a row that is not in the document, in pixels: the mean of those that are. */
  rowHeight = 48;
  /** The row in the middle of the view. */
  private middle = 0;
  private total = 0;
  /** The width of the window for which the height was measured. */
  private measuredWidth = 0;
  private isPrinting = false;

  constructor(private readonly host: ReactiveControllerHost & ParentNode) {
    host.addController(this);
  }

  hostConnected(): void {
    window.addEventListener("scroll", this.follow);
    window.addEventListener("resize", this.follow);
    window.addEventListener("beforeprint", this.onPrint);
    window.addEventListener("afterprint", this.onPrint);
  }

  hostDisconnected(): void {
    window.removeEventListener("scroll", this.follow);
    window.removeEventListener("resize", this.follow);
    window.removeEventListener("beforeprint", this.onPrint);
    window.removeEventListener("afterprint", this.onPrint);
  }

  /** Which of all rows to render; the keyboard is on the one at `cursor`. */
  stretches(total: number, cursor: number): Stretch[] {
    // Other rows may come into view when some leave or come.
    if (total !== this.total && total > MOST_ROWS) requestAnimationFrame(this.follow);
    this.total = total;
    if (total <= MOST_ROWS || this.isPrinting) return [{ from: 0, to: total, shown: true }];
    return stretches(total, this.middle, cursor);
  }

  /** Paper has all rows. The browser renders what was changed before it prints. */
  private readonly onPrint = ({ type }: Event): void => {
    this.isPrinting = type === "beforeprint";
    this.host.requestUpdate();
  };

  /** Render the rows in view, before a gap comes into it. */
  private readonly follow = (): void => {
    const isNear = (gap: Element): boolean => {
      const { top, bottom } = gap.getBoundingClientRect();
      return bottom > -MARGIN && top < innerHeight + MARGIN;
    };
    if (![...this.host.querySelectorAll(".gap")].some(isNear)) return;
    this.measure();
    const middle = this.rowAt(innerHeight / 2);
    if (middle === this.middle) return;
    this.middle = middle;
    this.host.requestUpdate();
  };

  /** The index of the row at a height of the view. */
  private rowAt(y: number): number {
    let index = 0;
    for (const row of this.host.querySelectorAll("[aria-rowindex], .gap")) {
      const { top, bottom } = row.getBoundingClientRect();
      if (top > y) break;
      const { from, rows = 1 } = (row as HTMLElement).dataset;
      const across = Math.min(1, (y - top) / (bottom - top));
      index = from === undefined ? Number(row.ariaRowIndex) - 2 : Number(from) + Math.floor(across * Number(rows));
    }
    return index;
  }

  /** One height for all gaps until the window has another width: what is above the view does not move. */
  private measure(): void {
    if (this.measuredWidth === innerWidth) return;
    this.measuredWidth = innerWidth;
    const heights = Array.from(this.host.querySelectorAll(".finding-row"), (row) => row.getBoundingClientRect().height);
    if (heights.length > 0) this.rowHeight = heights.reduce((sum, height) => sum + height) / heights.length;
  }
}

/** Focus a row of the table by its id, and scroll it into view. */
export function focusRow(id: string): void {
  const row = document.getElementById(`row-${id}`); // by its id: a selector would search all rows
  row?.focus({ preventScroll: true });
  row?.scrollIntoView({ block: "nearest" });
}
