import { expect, test } from "vitest";
import {
  areFarApart,
  axisName,
  axisOf,
  axisUnits,
  baseOf,
  boundsOf,
  canBeLogarithmic,
  type ChartLine,
} from "../src/charts/chart-data";

function line(unit: string, values: number[], first = 0): ChartLine {
  return {
    id: 1,
    label: "a",
    unit,
    positions: Float64Array.from(values, (_, index) => first + index),
    values: Float64Array.from(values),
  };
}

test("each unit has an axis, the first one on the left", () => {
  const lines = [line("ns", [1]), line("", [2]), line("ns", [3])];
  const units = axisUnits(lines, "auto");
  expect(units).toEqual(["ns", ""]);
  expect(lines.map((own) => axisName(axisOf(own, units)))).toEqual(["y", "y2", "y"]);
});

test("values relative to their first have one axis of percent", () => {
  const lines = [line("ns", [20, 30]), line("B", [4])];
  const units = axisUnits(lines, "ratio");
  expect([units, lines.map((own) => axisOf(own, units))]).toEqual([["%"], [0, 0]]);
  expect(lines.map((own) => baseOf({ lines, levels: [], scale: "ratio" }, own))).toEqual([0.2, 0.04]);
});

test("a trace alone is shown relative to its first level", () => {
  const own = line("ns", [20, 30]);
  const levels = [{ first: 0, last: 1, median: 25, minimum: 20, maximum: 30 }];
  expect(baseOf({ lines: [own], levels, scale: "ratio" }, own)).toBe(0.25);
  expect(baseOf({ lines: [own], levels, scale: "auto" }, own)).toBe(1);
});

test("a line that begins at zero is not divided by it", () => {
  const own = line("ns", [0, 30]);
  expect(baseOf({ lines: [own], levels: [], scale: "ratio" }, own)).toBe(0.01);
});

test("the plot reaches over all values, or over the range that was chosen", () => {
  const lines = [line("ns", [1, 2, 3], 5), line("ns", [1], 9)];
  expect(boundsOf({ lines, range: undefined, total: 20 })).toEqual({ min: 4.5, max: 9.5 });
  expect(boundsOf({ lines, range: { first: 100, last: 300 }, total: 400 })).toEqual({ min: 97.6, max: 302.4 });
});

test("an axis is logarithmic where all its values are positive", () => {
  expect([
    canBeLogarithmic([line("ns", [1, 2])]),
    canBeLogarithmic([line("", [1, -2])]),
    canBeLogarithmic([line("", [])]),
  ]).toEqual([true, false, false]);
});

test("lines of one unit are far apart where the lower ones would look flat", () => {
  expect(areFarApart([line("ns", [1, 2]), line("ns", [900])])).toBe(true);
  expect(areFarApart([line("ns", [1, 2]), line("B", [900])])).toBe(false);
  expect(areFarApart([line("ns", [1, 2]), line("ns", [-900])])).toBe(false);
});
