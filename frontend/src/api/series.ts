/** Decode the binary values of traces. The framing is described in docs/guide/dashboard.md. */

export interface Series {
  /** Number of measured commits in the window; more than the points when they were thinned out. */
  measured: number;
  positions: Float64Array;
  values: Float64Array;
}

/** For every trace: number of points, number of measured commits, the positions, the values; all float64. */
export function decodeSeries(buffer: ArrayBuffer): Series[] {
  const numbers = new Float64Array(buffer);
  const found: Series[] = [];
  let at = 0;
  while (at < numbers.length) {
    const points = numbers[at] ?? 0;
    const measured = numbers[at + 1] ?? 0;
    const start = at + 2;
    const end = start + 2 * points;
    if (!Number.isInteger(points) || points < 0 || end > numbers.length) {
      throw new RangeError(`the answer ends in the middle of series ${found.length + 1}`);
    }
    found.push({
      measured,
      positions: numbers.subarray(start, start + points),
      values: numbers.subarray(start + points, end),
    });
    at = end;
  }
  return found;
}
