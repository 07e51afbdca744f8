// @vitest-environment happy-dom
import { render } from "lit";
import { expect, test } from "vitest";
import { markSize, trendStrip } from "../src/charts/trend-strip";
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

const MARK = { index: 1, direction: "regression", findings: 3, change: "R1", size: 0.2, undone: false } as const;
const TIMES = [1, 2, 3, 4, 5].map((day) => `2026-02-0${day}T12:00:00Z`);

function strip(trend: Parameters<typeof trendStrip>[0]): HTMLElement {
  const host = document.createElement("div");
  render(trendStrip(trend, TIMES), host);
  return host;
}

test("a strip has a gap where values are missing, and a mark for each place with findings that leads to its change", () => {
  const host = strip({ points: [1, 1.1, null, 1.2, 1.3], marks: [{ ...MARK, index: 2 }], better: "lower" });
  expect(host.querySelector(".trail")?.getAttribute("d")?.match(/M/g)).toHaveLength(2);
  const mark = host.querySelector<HTMLAnchorElement>(".mark.regression");
  expect(mark?.getAttribute("href")).toBe("/change/R1");
  expect(mark?.title).toBe("R1, 2026-02-03: 3 findings, the largest 22 %");
  expect(mark?.style.left).toBe("50.00%");
});

test("a larger change has a larger mark, up to twice the value", () => {
  const sizes = [0.01, 0.1, 0.5, Math.LN2, 5].map((size) => markSize({ size }));
  expect(sizes).toEqual([8, 10, 15, 16, 16]);
  expect(markSize({ size: null })).toBe(16);
});

test("what was undone is grey, says so, and is behind what stands", () => {
  const marks = [{ ...MARK }, { ...MARK, change: "R2", undone: true, findings: 1, size: null }];
  const [behind, before] = strip({ points: [1, 2], marks, better: "lower" }).querySelectorAll<HTMLElement>(".mark");
  expect(behind?.classList.contains("undone")).toBe(true);
  expect(behind?.title).toBe("R2, 2026-02-02: 1 finding; the level before is back");
  expect(before?.classList.contains("undone")).toBe(false);
});

test("a mark points where the sum goes: up at an improvement where higher is better", () => {
  const shapeOf = (direction: "regression" | "improvement", better: "lower" | "higher") =>
    strip({ points: [1, 2], marks: [{ ...MARK, direction }], better })
      .querySelector(".mark path")
      ?.getAttribute("d");
  expect(shapeOf("improvement", "higher")).toBe(shapeOf("regression", "lower"));
  expect(shapeOf("regression", "higher")).toBe(shapeOf("improvement", "lower"));
  expect(shapeOf("regression", "higher")).not.toBe(shapeOf("regression", "lower"));
});
