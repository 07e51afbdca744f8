import { expect, test } from "vitest";
import { paramPlotOf } from "../src/text/param-plot";
import { pivotOf } from "../src/text/pivot";

interface Cell {
  size: string;
  os?: string;
  value: number;
  unit?: string;
}

function plotOf(...cells: Cell[]) {
  const lines = cells.map(({ size, os = "x", value, unit = "ms" }) => ({
    unit,
    positions: Float64Array.of(0),
    values: Float64Array.of(value),
    trace: { params: { size, os } },
  }));
  const pivot = pivotOf(lines, "size", "os", 9);
  return paramPlotOf(pivot, pivot.columns);
}

test("numbers far apart stand on a logarithmic axis", () => {
  const plot = plotOf({ size: "10", value: 1 }, { size: "1000", value: 1.5 }, { size: "100", value: 1.2 });
  expect(plot?.across).toEqual([
    { at: 0, text: "10" },
    { at: expect.closeTo(0.5) as number, text: "100" },
    { at: 1, text: "1000" },
  ]);
});

test("numbers near each other stand on a linear axis", () => {
  const plot = plotOf({ size: "1", value: 1 }, { size: "2", value: 1 }, { size: "5", value: 1 });
  expect(plot?.across.map(({ at }) => at)).toEqual([0, 0.25, 1]);
});

test("names stand side by side", () => {
  const plot = plotOf({ size: "small", value: 1 }, { size: "large", value: 2 }, { size: "medium", value: 3 });
  expect(plot?.across.map(({ text }) => text)).toEqual(["large", "medium", "small"]);
  expect(plot?.across.map(({ at }) => at)).toEqual([0, 0.5, 1]);
});

test("numbers are joined by a line, and names are points: nothing is between two of them", () => {
  expect(plotOf({ size: "1", value: 1 }, { size: "2", value: 2 })?.isOrdered).toBe(true);
  expect(plotOf({ size: "small", value: 1 }, { size: "2", value: 2 })?.isOrdered).toBe(false);
});

test("there is a line for each value of the other param, with gaps where nothing was measured", () => {
  const plot = plotOf({ size: "1", value: 1 }, { size: "2", value: 2 }, { size: "1", os: "y", value: 3 });
  expect(plot?.lines.map(({ name, points }) => [name, points.length])).toEqual([
    ["x", 2],
    ["y", 1],
  ]);
  expect(plot?.lines[0]?.points[1]?.text).toMatch(/^2, x: 2\sms$/);
});

test("values far apart stand on a logarithmic axis with powers of ten", () => {
  const plot = plotOf({ size: "1", value: 1 }, { size: "2", value: 10_000 });
  expect(plot?.lines[0]?.points.map(({ y }) => y)).toEqual([0, 1]);
  expect(plot?.up.map(({ at }) => at)).toEqual([0, 0.25, 0.5, 0.75, 1].map((at) => expect.closeTo(at) as number));
});

test("values near each other fill the height, others begin at 0", () => {
  expect(plotOf({ size: "1", value: 100 }, { size: "2", value: 101 })?.lines[0]?.points[0]?.y).toBeLessThan(0.2);
  expect(plotOf({ size: "1", value: 1 }, { size: "2", value: 4 })?.lines[0]?.points[0]?.y).toBeCloseTo(0.25);
});

test("equal values are drawn", () => {
  expect(plotOf({ size: "1", value: 3 }, { size: "2", value: 3 })?.lines[0]?.points.map(({ y }) => y)).toEqual([
    0.5, 0.5,
  ]);
});

test.each([
  ["one row", [{ size: "1", value: 1 }]],
  [
    "several units",
    [
      { size: "1", value: 1 },
      { size: "2", value: 1, unit: "B" },
    ],
  ],
  [
    "values that have no geometric mean",
    [
      { size: "1", value: -1 },
      { size: "2", value: 0 },
    ],
  ],
])("%s is not drawn", (_, cells) => {
  expect(plotOf(...cells)).toBeUndefined();
});
