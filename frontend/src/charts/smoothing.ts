/** Smooth lines for the eye: the median of neighbouring values, which keeps steps where they are. */

import { lowerBound } from "../text/numbers";

/**
 * For each value the median of it and as many values before as after it, `count` in all.
 *
 * Near the ends there are fewer on both sides, so that no value is drawn to the inside. `count` is odd. The values
 * around each one are kept in order: a step to the next value replaces one by another, and nothing is sorted anew.
 */
export function movingMedian(values: Float64Array, count: number): Float64Array {
  const { length } = values;
  const medians = new Float64Array(length);
  const ordered = new Float64Array(Math.min(count, length) + 1);
  let [first, end, size] = [0, 0, 0];
  for (let index = 0; index < length; index++) {
    const reach = Math.min(count >> 1, index, length - 1 - index);
    while (end <= index + reach || first < index - reach) {
      const gone = first < index - reach ? values[first++] : undefined;
      const come = end <= index + reach ? values[end++] : undefined;
      size = exchange(ordered, size, gone, come);
    }
    medians[index] = ordered[reach] ?? NaN;
  }
  return medians;
}

/**
 * Take a number out of the first `size` ones, which are in order, and put another one in; how many there are then.
 *
 * Without one to take out there is one more, and without one to put in one less. Only those between the two places move.
 */
function exchange(ordered: Float64Array, size: number, gone: number | undefined, come: number | undefined): number {
  let [at, high] = [0, size];
  while (gone !== undefined && at < high) {
    const middle = (at + high) >> 1;
    if ((ordered[middle] ?? 0) < gone) at = middle + 1;
    else high = middle;
  }
  if (gone === undefined) at = size;
  const number = come ?? Infinity;
  const last = gone === undefined ? size : size - 1;
  for (; at > 0 && (ordered[at - 1] ?? 0) > number; at--) ordered[at] = ordered[at - 1] ?? 0;
  for (; at < last && (ordered[at + 1] ?? 0) < number; at++) ordered[at] = ordered[at + 1] ?? 0;
  ordered[at] = number;
  return come === undefined ? last : last + 1;
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
