/** Smooth lines for the eye: the median of neighbouring values, which keeps steps where they are. */

import { lowerBound } from "./position-axis";

/** How many neighbouring values a drawn value may be the median of; 1 draws the values themselves. */
export const SMOOTHINGS: readonly number[] = [1, 5, 15, 51];

/**
 * For each value the median of it and as many values before as after it, `count` in all.
 *
 * Near the ends there are fewer on both sides, so that no value is drawn to the inside. `count` is odd. The values
 * around each one are kept in order: a step to the next value takes one out and puts one in, and nothing is sorted anew.
 */
export function movingMedian(values: Float64Array, count: number): Float64Array {
  const half = count >> 1;
  const { length } = values;
  const ordered = new Float64Array(Math.min(count, length) + 1);
  let [first, end] = [0, 0];
  return values.map((_, index) => {
    const reach = Math.min(half, index, length - 1 - index);
    for (; end <= index + reach; end++) insert(ordered, end - first, values[end] ?? 0);
    for (; first < index - reach; first++) remove(ordered, end - first, values[first] ?? 0);
    return ordered[reach] ?? NaN;
  });
}

/** Put a number among the first `size` ones, which are in order. */
function insert(ordered: Float64Array, size: number, number: number): void {
  let at = size;
  for (; at > 0 && (ordered[at - 1] ?? 0) > number; at--) ordered[at] = ordered[at - 1] ?? 0;
  ordered[at] = number;
}

/** Take a number out of the first `size` ones. */
function remove(ordered: Float64Array, size: number, number: number): void {
  const at = ordered.indexOf(number);
  ordered.copyWithin(at, at + 1, size);
}

/** The line with its values smoothed; what a relative scale divides by stays as it was. */
export function smoothed<Line extends { values: Float64Array; base?: number | undefined }>(
  line: Line,
  count: number,
): Line {
  return { ...line, values: movingMedian(line.values, count), base: line.base ?? line.values[0] };
}

/** The value of a line at a position; undefined where it has none. */
export function valueAt(
  { positions, values }: { positions: Float64Array; values: Float64Array },
  position: number,
): number | undefined {
  const index = lowerBound(positions, position);
  return positions[index] === position ? values[index] : undefined;
}
