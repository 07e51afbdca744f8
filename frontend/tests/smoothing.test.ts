import { expect, test } from "vitest";
import { movingMedian, smoothed, valueAt } from "../src/charts/smoothing";

test("a spike is taken out, and a step stays at its commit", () => {
  expect([...movingMedian(Float64Array.of(1, 1, 1, 9, 1, 1, 1), 5)]).toEqual([1, 1, 1, 1, 1, 1, 1]);
  expect([...movingMedian(Float64Array.of(1, 1, 1, 1, 1, 5, 5, 5, 5, 5), 5)]).toEqual([1, 1, 1, 1, 1, 5, 5, 5, 5, 5]);
});

test("each value is the median of its neighbours, as sorting them says", () => {
  let seed = 1;
  const random = (): number => (seed = (seed * 16_807) % 2_147_483_647) % 12; // with many equal ones
  for (const [length, count] of [
    [200, 51],
    [60, 51],
    [49, 51],
    [300, 15],
    [7, 5],
  ] as const) {
    const values = Float64Array.from({ length }, random);
    const sorted = values.map((_, index) => {
      const reach = Math.min(count >> 1, index, length - 1 - index);
      return values.slice(index - reach, index + reach + 1).sort()[reach] ?? NaN;
    });
    expect(movingMedian(values, count)).toEqual(sorted);
  }
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
