import { expect, test } from "vitest";
import { NO_PATTERNS } from "../src/charts/chart-data";
import { levelsBeside, modeOf } from "../src/charts/patterns";
import { causeText, chartPatterns, modeText } from "../src/views/trace/patterns";

const level = (first: number, last: number) => ({ first, last, median: 1, low: 0, high: 2 });
const stretch = {
  first: 0,
  last: 99,
  levels: [10, 11],
  shares: [0.62, 0.38],
  fact: "runner",
  explained: 0.96,
  causes: [
    { text: "fast-1", level: 0, count: 62, share: 0.97 },
    { text: "slow-2", level: 1, count: 38, share: 0.95 },
  ],
};

test("no flat level is drawn where a drift or modes describe the values", () => {
  const drifts = [{ first: 19, last: 60, before: 1, after: 2, low: 0.9, high: 1.1 }];
  expect(levelsBeside([level(0, 19), level(20, 60), level(61, 90)], { ...NO_PATTERNS, drifts })).toEqual([
    level(0, 19),
    level(61, 90),
  ]);
});

test("a value belongs to the nearest level", () => {
  expect([9, 10.4, 10.6, 30].map((value) => modeOf(value, [10, 11]))).toEqual([0, 0, 1, 1]);
});

test("a level says its share of the time and what it goes with", () => {
  expect(modeText(stretch, 1, "ms")).toBe("11\u00a0ms, 38 % of the time; slow-2 (95 %)");
  expect(modeText({ ...stretch, causes: [] }, 0, "ms")).toBe("10\u00a0ms, 62 % of the time");
  expect(causeText(stretch)).toBe("The fact runner explains the level of 96 % of these values.");
  expect(causeText({ ...stretch, fact: "" })).toBe("");
});

test("a trace whose patterns are not loaded has none", () => {
  expect(chartPatterns(undefined, "ms")).toBe(NO_PATTERNS);
});
