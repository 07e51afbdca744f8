/** Smooth lines for the eye: the median of neighbouring values, which keeps steps where they are. */

import { lowerBound } from "./position-axis";

/** How many neighbouring values a drawn value may be the median of; 1 draws the values themselves. */
export const SMOOTHINGS: readonly number[] = [1, 5, 15, 51];

/**
 * For each value the median of it and as many values before as after it, `count` in all.
 *
 * Near the ends there are fewer on both sides, so that no value is drawn to the inside. `count` is odd.
 */
export function movingMedian(values: Float64Array, count: number): Float64Array {
  const half = count >> 1;
  return values.map((_, index) => {
    const reach = Math.min(half, index, values.length - 1 - index);
    return values.slice(index - reach, index + reach + 1).sort()[reach] ?? NaN;
  });
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
