import { expect, test } from "vitest";
import { pivotOf, pivotParams } from "../src/text/pivot";

const line = (params: Record<string, string>, values: number[], unit = "ms") => ({
  trace: { params },
  unit,
  positions: Float64Array.from(values.keys()),
  values: Float64Array.from(values),
});

const LINES = [
  line({ os: "linux", size: "128", test: "a" }, [1, 2]),
  line({ os: "linux", size: "128", test: "b" }, [4, 8]),
  line({ os: "linux", size: "64", test: "a" }, [10, 5]),
  line({ os: "mac", size: "64", test: "a" }, [3, 3], "s"),
];

test("a cell has the geometric mean of the newest values and of their changes", () => {
  const { rows, columns, cell } = pivotOf(LINES, "size", "os", 9);
  expect([rows, columns]).toEqual([
    ["64", "128"],
    ["linux", "mac"],
  ]);
  expect(cell("128", "linux")).toMatchObject({ lines: 2, unit: "ms" });
  expect(cell("128", "linux")?.mean).toBeCloseTo(4);
  expect(cell("128", "linux")?.change).toBeCloseTo(1);
  expect(cell("64", "linux")?.change).toBeCloseTo(-0.5);
  expect(cell("128", "mac")).toBeUndefined();
});

test("values of several units have no mean, but a change", () => {
  const cell = pivotOf(LINES, "size", "", 9).cell("64", "");
  expect(cell?.mean).toBeUndefined();
  expect(cell?.change).toBeCloseTo(Math.sqrt(0.5) - 1);
});

test("the change is that since a chosen commit, up to the end of the range", () => {
  const chosen = [{ ...line({ os: "x" }, [1, 2, 8]), base: 4 }];
  expect(pivotOf(chosen, "os", "", 1).cell("x", "")).toMatchObject({ mean: 2, change: -0.5 });
});

test("a value that is not positive has no geometric mean", () => {
  expect(pivotOf([line({ os: "x" }, [1, -2])], "os", "", 9).cell("x", "")).toMatchObject({
    mean: undefined,
    change: undefined,
  });
});

test("the params in which lines differ are offered, and lines of formulas take no part", () => {
  const formula = { ...line({}, [1]), trace: undefined };
  expect(pivotParams([...LINES, formula])).toEqual(["os", "size", "test"]);
  expect(pivotOf([formula], "", "os", 9).rows).toEqual([]);
});
