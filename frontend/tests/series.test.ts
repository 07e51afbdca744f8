import { expect, test } from "vitest";
import { decodeCompactSeries, decodeFoundSeries, decodeSeries } from "../src/api/series";

const bytes = (...numbers: number[]): ArrayBuffer => new Float64Array(numbers).buffer;

test("series follow one another: points, measured commits, positions, values", () => {
  const [first, second] = decodeSeries(bytes(2, 5, 0, 4, 1.5, 2.5, 1, 1, 7, 9));
  expect(first?.measured).toBe(5);
  expect([...(first?.positions ?? [])]).toEqual([0, 4]);
  expect([...(first?.values ?? [])]).toEqual([1.5, 2.5]);
  expect([...(second?.values ?? [])]).toEqual([9]);
});

test("no bytes are not series", () => {
  expect(decodeSeries(bytes())).toEqual([]);
});

test("an answer that was cut off is refused", () => {
  expect(() => decodeSeries(bytes(3, 3, 0, 1))).toThrow("series 1");
});

/** A trace with the positions 3 and 5 and values that are halves of the factor. */
function compact(factor: number): Uint8Array {
  const view = new DataView(new ArrayBuffer(32));
  view.setUint32(0, 2, true);
  view.setUint32(4, 9, true);
  view.setFloat64(8, factor, true);
  [3, 2].forEach((distance, index) => view.setUint32(16 + 4 * index, distance, true));
  [0.5, 1].forEach((value, index) => view.setFloat32(24 + 4 * index, value, true));
  return new Uint8Array(view.buffer);
}

test("compact series have distances of positions, and a factor of their values", () => {
  const { buffer } = Uint8Array.from([...compact(1), ...compact(1e300)]);
  expect(decodeCompactSeries(buffer)).toEqual([
    { measured: 9, positions: Float64Array.of(3, 5), values: Float64Array.of(0.5, 1) },
    { measured: 9, positions: Float64Array.of(3, 5), values: Float64Array.of(0.5e300, 1e300) },
  ]);
});

test.each([8, 20])("a compact answer that was cut off after %i bytes is refused", (length) => {
  expect(() => decodeCompactSeries(compact(1).slice(0, length).buffer)).toThrow("series 1");
});

test.each([
  ["plain", 0, new Uint8Array(bytes(1, 9, 3, 0.5))],
  ["compact", 1, compact(1)],
])("values of a query have the ids of their traces before them, and are %s", (_, sign, values) => {
  const head = new Uint8Array(bytes(1, sign, 42));
  const { ids, series } = decodeFoundSeries(Uint8Array.from([...head, ...values]).buffer);
  expect(ids).toEqual([42]);
  expect(series.map(({ measured, values: [first] }) => [measured, first])).toEqual([[9, 0.5]]);
});
