/**
 * The range of positions that a plot shows.
 *
 * A range that covers the whole line is undefined: the URL then stays short, and the plot grows with the line.
 */

import type { ChartRange } from "./lines";

/** The least width of a range: five commits. */
const MIN_WIDTH = 4;

/** The range with its width multiplied by `factor` around its middle. */
export function zoom(range: ChartRange, factor: number, total: number): ChartRange | undefined {
  const middle = (range.first + range.last) / 2;
  const half = Math.max((range.last - range.first) * factor, MIN_WIDTH) / 2;
  return clip({ first: Math.round(middle - half), last: Math.round(middle + half) }, total);
}

/** The range moved by a fraction of its width, but never off the line. */
export function pan(range: ChartRange, fraction: number, total: number): ChartRange | undefined {
  const width = range.last - range.first;
  const by = Math.round(width * fraction) || Math.sign(fraction);
  const first = Math.min(Math.max(range.first + by, 0), Math.max(total - 1 - width, 0));
  return clip({ first, last: first + width }, total);
}

/**
 * The range with `number` measured values on each side of a position.
 *
 * It counts values instead of commits, since most commits of a line may have none.
 */
export function rangeAround(
  positions: ArrayLike<number>,
  position: number,
  number: number,
  total: number,
): ChartRange | undefined {
  const measured = Array.from(positions);
  const next = measured.findIndex((candidate) => candidate >= position);
  const middle = next < 0 ? measured.length - 1 : next;
  const first = measured[Math.max(middle - number, 0)] ?? 0;
  const last = measured[Math.min(middle + number, measured.length - 1)] ?? total - 1;
  return last - first < MIN_WIDTH ? undefined : clip({ first, last }, total);
}

/** What of a range a drag moves: one of its ends, or both. */
export type Grip = "first" | "last" | "both";

/** The range with its ends moved by some positions within `whole`; a single end stops before the other one. */
export function dragRange(range: ChartRange, grip: Grip, by: number, whole: ChartRange): ChartRange {
  const { first, last } = range;
  const clamp = (value: number, least: number, most: number): number => Math.max(least, Math.min(value, most));
  if (grip === "first") return { first: clamp(first + by, whole.first, Math.max(last - MIN_WIDTH, whole.first)), last };
  if (grip === "last") return { first, last: clamp(last + by, Math.min(first + MIN_WIDTH, whole.last), whole.last) };
  const moved = clamp(by, whole.first - first, whole.last - last);
  return { first: first + moved, last: last + moved };
}

function clip(range: ChartRange, total: number): ChartRange | undefined {
  const first = Math.max(range.first, 0);
  const last = Math.min(range.last, total - 1);
  return first === 0 && last === total - 1 ? undefined : { first, last };
}
