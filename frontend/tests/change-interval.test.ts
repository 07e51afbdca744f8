import { expect, test } from "vitest";
import { sidesOf } from "../src/charts/change-interval";

const positions = Float64Array.from({ length: 100 }, (_, index) => 2 * index);
const change = { previous: 98, position: 100, sides: { before: 10, after: 20 }, gone: false };
const region = (first: number, last: number, median: number) => ({ first, last, median, low: 0, high: 99 });

test("the levels next to a change are those of twenty values on each side, as far as the regions reach", () => {
  const sides = sidesOf(change, positions, [region(90, 98, 12), region(100, 198, 15)]);
  expect(sides).toEqual([
    { first: 90, last: 98, level: 10 },
    { first: 100, last: 138, level: 20 },
  ]);
});

test("they are not shown where they are the levels of the regions, nor of changes that are gone", () => {
  const regions = [region(0, 98, 10.5), region(100, 198, 20)];
  expect(sidesOf(change, positions, regions)).toEqual([]);
  expect(sidesOf({ ...change, gone: true }, positions, [region(0, 98, 5), region(100, 198, 5)])).toEqual([]);
});
