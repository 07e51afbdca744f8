import { describe, expect, test } from "vitest";
import type { Commit, Statement } from "../src/api/client";
import {
  causeOf,
  causeText,
  certaintyText,
  changeCountsText,
  changeText,
  comparisonText,
  decidedStatus,
  deviationsText,
  directedText,
  hazardNumber,
  hazardText,
  largestHazardText,
  intervalText,
  newestText,
  overText,
  sizeInDeviations,
  standingText,
} from "../src/text/findings";

const change = (size: number, relative_size: number | null, dimension = "time") =>
  changeText({ size, relative_size, trace: { dimension } });

describe("a change in words", () => {
  test("says slower and faster for times", () => {
    expect(change(12, 0.12)).toBe("12 % slower");
    expect(change(-5, -0.05)).toBe("5 % faster");
  });

  test("says the opposite for rates", () => {
    expect(change(12, 0.12, "ops/time")).toBe("12 % faster");
    expect(change(-12, -0.12, "bytes/time")).toBe("12 % slower");
  });

  test("says larger and smaller for sizes, higher and lower for unknown dimensions", () => {
    expect(change(1, 0.034, "bytes")).toBe("3.4 % larger");
    expect(change(-1, -0.5, "?score")).toBe("50 % lower");
  });

  test("shows the ratio of the levels if it is large", () => {
    expect(change(400, 4)).toBe("5× the time");
    expect(change(1, 1192.72)).toBe("1,194× the time");
  });

  test("says noisier where the noise changed", () => {
    const noise = { kind: "noise", trace: { dimension: "time" } };
    expect(changeText({ ...noise, size: 0.7, relative_size: 0.7 })).toBe("70 % noisier");
    expect(changeText({ ...noise, size: -0.4, relative_size: -0.4 })).toBe("40 % less noisy");
  });

  test("has words for no change", () => {
    expect(change(0, 0)).toBe("no change");
  });

  test("has words for a change from nothing", () => {
    expect(change(3, null)).toBe("slower, from 0");
  });
});

const COMMIT = { short: "abc", hash: "abc1" } as Commit;
const stated = (basis: "bisected" | "only" | "suspect", probability = 0.37) =>
  ({ likely: { basis, probability, commit: COMMIT } }) as Statement;

describe("the direction of a change in words", () => {
  test("is added where the size does not say it", () => {
    expect(directedText("0.49 % larger", "regression")).toBe("0.49 % larger, worse");
    expect(directedText("3 smaller by up to 5 %", "improvement")).toBe("3 smaller by up to 5 %, better");
    expect(directedText("12 % slower", "regression")).toBe("12 % slower");
    expect(directedText("5× the time", "regression")).toBe("5× the time");
    expect(directedText("12 % higher", "unknown")).toBe("12 % higher");
  });

  test("is said where it is mixed and the text does not name both sides", () => {
    expect(directedText("24 faster by up to 46 %; 1 larger by 0.49 %", "mixed")).toMatch(/, mixed$/);
    expect(directedText("24 faster by up to 46 %; 1 slower by 9 %", "mixed")).not.toMatch(/mixed/);
  });
});

test("the commit of a change is the likely one, else the measured one, and its reason is said", () => {
  const measured = { short: "def" } as Commit;
  expect(causeOf({ statement: stated("suspect"), commit: measured })).toBe(COMMIT);
  expect(causeOf({ statement: undefined, commit: measured })).toBe(measured);
  expect(causeText(stated("bisected"), 5)).toBe("found by bisection among 5 commits");
  expect(causeText(stated("bisected"), 1)).toBe("found by bisection");
  expect(causeText(stated("only", 1), 1)).toBe("only commit");
  expect(causeText(stated("suspect"), 5)).toBe("likely, 37 %, one of 5 commits");
  expect(causeText(null, 5)).toBe("one of 5 commits");
  expect(causeText(null, 1)).toBe("");
});

test("changes are counted by their direction", () => {
  expect(changeCountsText({ improvement: 4, regression: 5 })).toBe("5 regressions, 4 improvements");
  expect(changeCountsText({ mixed: 1, unknown: 2, regression: 0 })).toBe("1 mixed, 2 of unknown direction");
});

test("the largest hazard level of a commit is said where it is that of another trace than the lead", () => {
  expect(largestHazardText(0.51, -0.068)).toBe("largest +0.510");
  expect(largestHazardText(-0.0684, -0.0682)).toBe("");
  expect(largestHazardText(null, null)).toBe("");
});

test("a hazard level keeps its sign", () => {
  expect([hazardNumber(-0.1133), hazardNumber(0), hazardNumber(null)]).toEqual(["−0.113", "0", "–"]);
  expect(hazardText(-0.1133)).toBe("hazard −0.113");
  expect(hazardText(0.5)).toBe("hazard +0.500");
  expect(hazardText(null)).toBe("no hazard level");
});

test("the size of a change is counted in standard deviations of single values", () => {
  expect(sizeInDeviations({ size: 6, deviation: 2 })).toBe(3);
  expect(sizeInDeviations({ size: -6, deviation: 2 })).toBe(3);
});

test("values that do not vary have no size in deviations", () => {
  expect(sizeInDeviations({ size: 6, deviation: 0 })).toBeUndefined();
  expect(sizeInDeviations({ size: 6, deviation: null })).toBeUndefined();
});

test("deviations have no more digits than they need", () => {
  expect([deviationsText(6.42), deviationsText(31.4), deviationsText(5000), deviationsText(undefined)]).toEqual([
    "6.4 σ",
    "31 σ",
    ">100 σ",
    "",
  ]);
});

test("a comparison has both levels, their difference and its size in deviations", () => {
  const finding = {
    before_level: 12.3,
    after_level: 15.1,
    size: 2.8,
    deviation: 0.4472,
    relative_size: 0.2276,
    trace: { unit: "ms" },
  };
  expect(comparisonText(finding)).toBe("12.3\u00a0ms → 15.1\u00a0ms, +22.8\u00a0%, 6.3\u00a0σ");
  expect(comparisonText({ ...finding, before_level: 0, after_level: 3, deviation: 0, relative_size: null })).toBe(
    "0\u00a0ms → 3\u00a0ms",
  );
  expect(comparisonText({ ...finding, relative_size: 1169 })).toContain(", 1,170×,");
});

test("the interval of a size is a share of the level before, or has the unit of the trace", () => {
  const finding = { before_level: 12.5, low: 2.5, high: 3, sign: 0.992, trace: { unit: "ms" } };
  expect(intervalText(finding)).toBe("+20.0 % to +24.0 %");
  expect(intervalText({ ...finding, before_level: 0, low: -1 })).toBe("−1\u00a0ms to 3\u00a0ms");
  expect(certaintyText(finding)).toBe(
    "The 95 % interval is +20.0 % to +24.0 %; the probability that its sign is right is 99.2 %.",
  );
});

test("an unknown or exact interval is not shown", () => {
  const finding = { before_level: 12, low: null, high: null, sign: null, trace: { unit: "ms" } };
  expect([intervalText(finding), certaintyText({ ...finding, low: 3, high: 3 })]).toEqual(["", ""]);
});

test("a drift says how far it lies from what it is compared with", () => {
  expect(overText({ reference: "v1.2", over_reference: 0.042 })).toBe("4.2 % above the level at v1.2");
  expect(overText({ reference: "2026-05-31", over_reference: -0.1 })).toBe("10 % below the level before 2026-05-31");
  expect(overText({ reference: "best", over_reference: 0.05 })).toBe("5 % above the best level before it");
  expect(overText({ reference: "", over_reference: null })).toBe("");
});

test("a finding that only a matching ticket processed is not decided", () => {
  expect(decidedStatus({ status: "ticket", ticket: "" })).toBe("new");
  expect(decidedStatus({ status: "ticket", ticket: "PERF-1" })).toBe("ticket");
  expect(decidedStatus({ status: "hidden", ticket: "" })).toBe("hidden");
});

test("a finding of the history says so, and its status", () => {
  expect(standingText({ condition: "present", history: true, status: "new" })).toBe("history");
  expect(standingText({ condition: "present", history: true, status: "hidden" })).toBe("hidden, history");
  expect(standingText({ condition: "present", history: false, status: "new" })).toBe("unprocessed");
  expect(standingText({ condition: "gone", history: true, status: "new" })).toBe("gone");
});

test("a remarkable newest value says what it is a sign of", () => {
  const trace = { dimension: "time" };
  expect(newestText({ value: 112, centre: 100, relative_size: 0.12 }, trace)).toMatch(/^12.% slower, unconfirmed$/);
  expect(newestText({ value: 90, centre: 100, relative_size: -0.1 }, trace)).toMatch(/^10.% faster, unconfirmed$/);
});
