/** Find where runs are missing: a line must not suggest values there. */

/** Values farther apart than this many usual distances have a gap between them. */
const USUAL_DISTANCES = 6;

const known = new WeakMap<ArrayLike<number>, number>();

/** The distance between neighbouring positions from which on there is a gap: each trace has its own rhythm. */
export function gapDistance(positions: ArrayLike<number>): number {
  const distance = known.get(positions) ?? findGapDistance(positions);
  known.set(positions, distance);
  return distance;
}

function findGapDistance(positions: ArrayLike<number>): number {
  if (positions.length < 3) return Infinity;
  const distances = new Float64Array(positions.length - 1);
  for (let index = 1; index < positions.length; index++) {
    distances[index - 1] = (positions[index] ?? 0) - (positions[index - 1] ?? 0);
  }
  distances.sort();
  return USUAL_DISTANCES * (distances[distances.length >> 1] ?? 1) + 1;
}

/** The positions and values of a line, with a null in each gap. */
export function withGaps(
  positions: ArrayLike<number>,
  values: ArrayLike<number>,
  base: number,
): [number[], (number | null)[]] {
  const gap = gapDistance(positions);
  const places: number[] = [];
  const heights: (number | null)[] = [];
  for (let index = 0; index < positions.length; index++) {
    const position = positions[index] ?? 0;
    const previous = index > 0 ? (positions[index - 1] ?? 0) : position;
    if (position - previous >= gap) {
      places.push(previous + 1);
      heights.push(null);
    }
    places.push(position);
    heights.push((values[index] ?? 0) / base);
  }
  return [places, heights];
}

/** Break a series of a joint table over its whole gaps: other series may have values in them. */
export function widenGaps(values: (number | null | undefined)[]): void {
  let inGap = false;
  for (let index = 0; index < values.length; index++) {
    const value = values[index];
    if (value === null) inGap = true;
    else if (value !== undefined) inGap = false;
    else if (inGap) values[index] = null;
  }
}
