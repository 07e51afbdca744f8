/** Decode the binary values of traces. The framing is described in docs/guide/scripts.md. */

export interface Series {
  /** Number of measured commits in the window; more than the points when they were thinned out. */
  measured: number;
  positions: Float64Array;
  values: Float64Array;
}

export interface FoundSeries {
  /** The ids of the traces, in the order of their series. */
  ids: readonly number[];
  series: readonly Series[];
}

/** For every trace: number of points, number of measured commits, the positions, the values; all float64. */
export function decodeSeries(buffer: ArrayBuffer, from = 0): Series[] {
  const numbers = new Float64Array(buffer, from);
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

/** The bytes before the distances: points and measured commits as uint32, the factor of the values as float64. */
const COMPACT_HEAD = 16;
/** The bytes of a point: its distance from the one before as uint32, its value as float32. */
const COMPACT_POINT = 8;

/** For every trace: number of points, number of measured commits, a factor, distances of positions, values. */
export function decodeCompactSeries(buffer: ArrayBuffer, from = 0): Series[] {
  const view = new DataView(buffer);
  const found: Series[] = [];
  let before: { distances: Uint32Array; positions: Float64Array } | undefined;
  for (let at = from; at < buffer.byteLength;) {
    const isWhole = at + COMPACT_HEAD <= buffer.byteLength;
    const points = isWhole ? view.getUint32(at, true) : 0;
    const end = at + COMPACT_HEAD + COMPACT_POINT * points;
    if (!isWhole || end > buffer.byteLength) {
      throw new RangeError(`the answer ends in the middle of series ${found.length + 1}`);
    }
    const factor = view.getFloat64(at + 8, true);
    const distances = new Uint32Array(buffer, at + COMPACT_HEAD, points);
    const values = new Float64Array(new Float32Array(buffer, at + COMPACT_HEAD + 4 * points, points));
    // Most traces were measured at the same commits. They share their positions, and what is made of these.
    if (!before || !areEqual(before.distances, distances)) before = { distances, positions: summed(distances) };
    found.push({
      measured: view.getUint32(at + 4, true),
      positions: before.positions,
      values: factor === 1 ? values : values.map((value) => value * factor),
    });
    at = end;
  }
  return found;
}

function areEqual(a: Uint32Array, b: Uint32Array): boolean {
  if (a.length !== b.length) return false;
  for (let index = 0; index < a.length; index++) if (a[index] !== b[index]) return false;
  return true;
}

function summed(distances: Uint32Array): Float64Array {
  const positions = new Float64Array(distances.length);
  let position = 0;
  for (let index = 0; index < positions.length; index++) positions[index] = position += distances[index] ?? 0;
  return positions;
}

/** Values of the traces that a query finds: how many there are, whether they are compact, their ids; then the values. */
export function decodeFoundSeries(buffer: ArrayBuffer): FoundSeries {
  const [count = 0, compact] = new Float64Array(buffer, 0, 2);
  const from = 8 * (2 + count);
  return {
    ids: Array.from(new Float64Array(buffer, 16, count)),
    series: (compact ? decodeCompactSeries : decodeSeries)(buffer, from),
  };
}
