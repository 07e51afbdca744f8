import { expect, test } from "vitest";
import { movingMedian, smoothed, valueAt } from "../src/charts/smoothing";

test("a spike is taken out, and a step stays at its commit", () => {
  expect([...movingMedian(Float64Array.of(1, 1, 1, 9, 1, 1, 1), 5)]).toEqual([1, 1, 1, 1, 1, 1, 1]);
  expect([...movingMedian(Float64Array.of(1, 1, 1, 1, 1, 5, 5, 5, 5, 5), 5)]).toEqual([1, 1, 1, 1, 1, 5, 5, 5, 5, 5]);
});

test("values at the ends stay, and one value is its own median", () => {
  expect([...movingMedian(Float64Array.of(3, 1, 2), 51)]).toEqual([3, 2, 2]);
  expect([...movingMedian(Float64Array.of(1e300), 5)]).toEqual([1e300]);
  expect([...movingMedian(new Float64Array(), 5)]).toEqual([]);
});

test("a smoothed line is relative to the value that it was relative to before", () => {
  const line = { positions: Float64Array.of(2, 5, 9), values: Float64Array.of(4, 8, 6), base: undefined };
  expect(smoothed(line, 5).base).toBe(4);
  expect(smoothed({ ...line, base: 7 }, 5).base).toBe(7);
  expect([valueAt(line, 5), valueAt(line, 6), valueAt(line, 10)]).toEqual([8, undefined, undefined]);
});
