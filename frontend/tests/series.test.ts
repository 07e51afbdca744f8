import { expect, test } from "vitest";
import { decodeSeries } from "../src/api/series";

const bytes = (...numbers: number[]): ArrayBuffer => new Float64Array(numbers).buffer;

test("series follow one another: points, measured commits, positions, values", () => {
  const [first, second] = decodeSeries(bytes(2, 5, 0, 4, 1.5, 2.5, 1, 1, 7, 9));
  expect(first?.measured).toBe(5);
  expect([...(first?.positions ?? [])]).toEqual([0, 4]);
  expect([...(first?.values ?? [])]).toEqual([1.5, 2.5]);
  expect([...(second?.values ?? [])]).toEqual([9]);
});

test("no bytes are no series", () => {
  expect(decodeSeries(bytes())).toEqual([]);
});

test("an answer that was cut off is refused", () => {
  expect(() => decodeSeries(bytes(3, 3, 0, 1))).toThrow("series 1");
});
