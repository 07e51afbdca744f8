import { expect, test } from "vitest";
import { lineStats, nextOrder, orderLines } from "../src/text/line-stats";
import { spansMagnitudes } from "../src/charts/chart-data";
import { positionOfDay, rangeOfDays } from "../src/templates/date-range";

function lineOf(values: readonly number[]) {
  const positions = Float64Array.from(values, (_, index) => index);
  return { id: 1, label: "a", unit: "ms", positions, values: Float64Array.from(values) };
}

test("a line is summed up by its newest value, its change over the range, and its noise without steps", () => {
  const values = [10, 10.1, 9.9, 10, 10.1, 20, 20.2, 19.8, 20, 20.2];
  const { newest, change, noise } = lineStats(lineOf(values), undefined);
  expect(newest).toBe(20.2);
  expect(change).toBeCloseTo(1);
  expect(noise).toBeLessThan(0.03);
  expect(lineStats(lineOf(values), { first: 0, last: 4 }).newest).toBe(10.1);
  expect(lineStats(lineOf([5]), undefined)).toEqual({ newest: 5, change: undefined, noise: undefined });
  expect(lineStats(lineOf([]), undefined).newest).toBeUndefined();
});

test("a press on a column sorts, another one turns the order, and a third one goes back", () => {
  const first = nextOrder(undefined, "change");
  expect(first).toEqual({ by: "change", descending: true });
  const second = nextOrder(first, "change");
  expect(second).toEqual({ by: "change", descending: false });
  expect(nextOrder(second, "change")).toBeUndefined();
  expect(nextOrder(undefined, "name")).toEqual({ by: "name", descending: false });
});

test("lines are sorted by the size of a change, what is unknown last", () => {
  const row = (label: string, change: number | undefined) => ({
    line: { label },
    stats: { newest: 1, change, noise: undefined },
  });
  const rows = [row("a", 0.1), row("b", undefined), row("c", -0.5)];
  const names = (descending: boolean) => orderLines(rows, { by: "change", descending }).map(({ line }) => line.label);
  expect(names(true)).toEqual(["c", "a", "b"]);
  expect(names(false)).toEqual(["a", "c", "b"]);
  expect(orderLines(rows, undefined)).toBe(rows);
});

test("days select positions, both included, and a commit without a time does not stop the search", () => {
  const times = ["2026-01-01", "2026-01-02", "", "2026-01-02", "2026-01-05"].map((day) =>
    day ? Date.parse(`${day}T12:00:00Z`) / 1000 : NaN,
  );
  expect(positionOfDay(times, "2026-01-02")).toBe(1);
  expect(positionOfDay(times, "2026-01-03")).toBe(4);
  expect(rangeOfDays(times, "2026-01-01", "2026-01-02")).toEqual({ first: 0, last: 3 });
  expect(rangeOfDays(times, "", "2026-01-05")).toBeUndefined();
  expect(rangeOfDays(times, "2027-01-01", "")).toBeUndefined();
});

test("a logarithmic scale is offered for a line whose values span magnitudes, not for a single outlier", () => {
  const near = Array.from({ length: 40 }, (_, index) => 10 + (index % 3));
  expect(spansMagnitudes([lineOf(near)])).toBe(false);
  expect(spansMagnitudes([lineOf([...near, 5000])])).toBe(false);
  expect(spansMagnitudes([lineOf([...near, ...near.map((value) => value * 100)])])).toBe(true);
  expect(spansMagnitudes([lineOf([...near.map(() => 0), ...near])])).toBe(false);
});
