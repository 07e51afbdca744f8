// @vitest-environment happy-dom
import { render } from "lit";
import { expect, test } from "vitest";
import { trendSparkline } from "../src/charts/trend-sparkline";
import { intervalText, trendDirection, trendText } from "../src/text/trends";

const UP = { change: 0.05, low: 0.02, high: 0.081 };

test("a clear rise is worse where the direction is known, and a number elsewhere", () => {
  expect(trendText(UP, true)).toBe("+5.00 %, worse");
  expect(trendText(UP, false)).toBe("+5.00 %");
  expect(trendDirection(UP, true)).toBe("regression");
  expect(intervalText(UP)).toBe("+2.00 % to +8.10 %");
});

test("an interval around 0 is no clear change", () => {
  const unclear = { change: 0.05, low: -0.01, high: 0.1 };
  expect(trendText(unclear, true)).toBe("no clear change");
  expect(trendDirection(unclear, true)).toBe("");
});

test("a drawing has a gap where values are missing, and a mark for each place with findings", () => {
  const host = document.createElement("div");
  const points = [1, 1.1, null, 1.2, 1.3];
  const marks = [{ index: 2, direction: "regression", findings: 3, change: 1 } as const];
  render(trendSparkline({ points, marks: [...marks] }), host);
  expect(host.querySelector(".trail")?.getAttribute("d")?.match(/M/g)).toHaveLength(2);
  expect(host.querySelectorAll(".mark.regression")).toHaveLength(1);
});
