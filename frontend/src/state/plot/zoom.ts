/** Look closer, further, to the left, to the right: ranges of positions. */

import type { ChartRange } from "../../charts/chart-data";

const NARROWEST = 4;

/** The range with its width changed by `factor` around its middle; undefined when it is the whole line. */
export function zoom(range: ChartRange, factor: number, total: number): ChartRange | undefined {
  const middle = (range.first + range.last) / 2;
  const half = Math.max((range.last - range.first) * factor, NARROWEST) / 2;
  return fit({ first: Math.round(middle - half), last: Math.round(middle + half) }, total);
}

/** The range moved by a part of its width, without leaving the line. */
export function pan(range: ChartRange, part: number, total: number): ChartRange | undefined {
  const width = range.last - range.first;
  const by = Math.round(width * part) || Math.sign(part);
  const first = Math.min(Math.max(range.first + by, 0), Math.max(total - 1 - width, 0));
  return fit({ first, last: first + width }, total);
}

/** The range with `number` of the values on each side of a place. */
export function around(
  positions: ArrayLike<number>,
  place: number,
  number: number,
  total: number,
): ChartRange | undefined {
  const all = Array.from(positions);
  const found = all.findIndex((position) => position >= place);
  const middle = found < 0 ? all.length - 1 : found;
  const first = all[Math.max(middle - number, 0)] ?? 0;
  const last = all[Math.min(middle + number, all.length - 1)] ?? total - 1;
  return last - first < NARROWEST ? undefined : fit({ first, last }, total);
}

function fit(range: ChartRange, total: number): ChartRange | undefined {
  const first = Math.max(range.first, 0);
  const last = Math.min(range.last, total - 1);
  return first === 0 && last === total - 1 ? undefined : { first, last };
}
