import { expect, test } from "vitest";
import {
  differInMagnitude,
  axisName,
  axisIndex,
  axisUnits,
  relativeBase,
  positionBounds,
  canUseLogScale,
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
  expect(lines.map((entry) => axisName(axisIndex(entry, units)))).toEqual(["y", "y2", "y"]);
});

test("relative values have one axis of percent", () => {
  const lines = [line("ns", [20, 30]), line("B", [4])];
  const units = axisUnits(lines, "ratio");
  expect([units, lines.map((entry) => axisIndex(entry, units))]).toEqual([["%"], [0, 0]]);
  expect(lines.map((entry) => relativeBase({ lines, levels: [], scale: "ratio" }, entry))).toEqual([0.2, 0.04]);
});

test("a single trace is relative to its first stable region", () => {
  const single = line("ns", [20, 30]);
  const levels = [{ first: 0, last: 1, median: 25, low: 20, high: 30 }];
  expect(relativeBase({ lines: [single], levels, scale: "ratio" }, single)).toBe(0.25);
  expect(relativeBase({ lines: [single], levels, scale: "auto" }, single)).toBe(1);
});

test("a line that begins at zero is not divided by zero", () => {
  const single = line("ns", [0, 30]);
  expect(relativeBase({ lines: [single], levels: [], scale: "ratio" }, single)).toBe(0.01);
});

test("the plot covers all values, or over the zoomed range", () => {
  const lines = [line("ns", [1, 2, 3], 5), line("ns", [1], 9)];
  expect(positionBounds({ lines, range: undefined, total: 20 })).toEqual({ min: 4.5, max: 9.5 });
  expect(positionBounds({ lines, range: { first: 100, last: 300 }, total: 400 })).toEqual({ min: 97.6, max: 302.4 });
});

test("an axis can be logarithmic if all its values are positive", () => {
  expect([
    canUseLogScale([line("ns", [1, 2])]),
    canUseLogScale([line("", [1, -2])]),
    canUseLogScale([line("", [])]),
  ]).toEqual([true, false, false]);
});

test("lines of one unit differ in magnitude if the lower ones would look flat", () => {
  expect(differInMagnitude([line("ns", [1, 2]), line("ns", [900])])).toBe(true);
  expect(differInMagnitude([line("ns", [1, 2]), line("B", [900])])).toBe(false);
  expect(differInMagnitude([line("ns", [1, 2]), line("ns", [-900])])).toBe(false);
});
