// @vitest-environment happy-dom
import { render } from "lit";
import { expect, test } from "vitest";
import { trendSparkline } from "../src/charts/trend-sparkline";
import { intervalText, trendDirection, trendText } from "../src/text/trends";

const UP = { change: 0.05, low: 0.02, high: 0.081, better: "lower" } as const;

test("a clear rise is worse or better by what is known of the direction, and a number elsewhere", () => {
  expect(trendText(UP)).toBe("+5.00 %, worse");
  expect(trendText({ ...UP, better: "higher" })).toBe("+5.00 %, better");
  expect(trendText({ ...UP, better: "unknown" })).toBe("+5.00 %");
  expect(trendDirection(UP)).toBe("regression");
  expect(trendDirection({ ...UP, better: "higher" })).toBe("improvement");
  expect(intervalText(UP)).toBe("+2.00 % to +8.10 %");
});

test("an interval around 0 is not a clear change", () => {
  const unclear = { ...UP, low: -0.01, high: 0.1 };
  expect(trendText(unclear)).toBe("no clear change");
  expect(trendDirection(unclear)).toBe("");
});

test("a drawing has a gap where values are missing, and a mark for each place with findings", () => {
  const host = document.createElement("div");
  const points = [1, 1.1, null, 1.2, 1.3];
  const marks = [{ index: 2, direction: "regression", findings: 3, change: "R1" } as const];
  render(trendSparkline({ points, marks: [...marks], better: "lower" }), host);
  expect(host.querySelector(".trail")?.getAttribute("d")?.match(/M/g)).toHaveLength(2);
  expect(host.querySelectorAll(".mark.regression")).toHaveLength(1);
});

test("a mark points where the sum goes: up at an improvement where higher is better", () => {
  const shapeOf = (direction: "regression" | "improvement", better: "lower" | "higher") => {
    const host = document.createElement("div");
    const marks = [{ index: 1, direction, findings: 1, change: "R1" }];
    render(trendSparkline({ points: [1, 2], marks, better }), host);
    return host.querySelector(".mark")?.getAttribute("d");
  };
  expect(shapeOf("improvement", "higher")).toBe(shapeOf("regression", "lower"));
  expect(shapeOf("regression", "higher")).toBe(shapeOf("improvement", "lower"));
  expect(shapeOf("regression", "higher")).not.toBe(shapeOf("regression", "lower"));
});
