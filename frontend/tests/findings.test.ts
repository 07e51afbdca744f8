import { describe, expect, test } from "vitest";
import {
  changeInWords,
  comparison,
  count,
  decidedStatus,
  hazardNumber,
  hazardText,
  mixText,
  percent,
  sigmas,
  sigmaText,
  signedPercent,
  standingInWords,
} from "../src/text/findings";

const change = (size: number, relative_size: number | null, dimension = "time") =>
  changeInWords({ size, relative_size, trace: { dimension } });

describe("a change in words", () => {
  test("says slower and faster for times", () => {
    expect(change(12, 0.12)).toBe("12 % slower");
    expect(change(-5, -0.05)).toBe("5 % faster");
  });

  test("says the same the other way round for rates", () => {
    expect(change(12, 0.12, "ops/time")).toBe("12 % faster");
    expect(change(-12, -0.12, "bytes/time")).toBe("12 % slower");
  });

  test("says larger and smaller for sizes, higher and lower for what nobody knows", () => {
    expect(change(1, 0.034, "bytes")).toBe("3.4 % larger");
    expect(change(-1, -0.5, "?score")).toBe("50 % lower");
  });

  test("counts times where percent stop being readable", () => {
    expect(change(400, 4)).toBe("5× the time");
    expect(change(1, 1192.72)).toBe("1,194× the time");
  });

  test("says that a level that stayed did not change", () => {
    expect(change(0, 0)).toBe("no change");
  });

  test("has words for a change from nothing", () => {
    expect(change(3, null)).toBe("slower, from 0");
  });
});

test.each([
  [0, "0 %"],
  [0.004, "0.4 %"],
  [0.0123, "1.2 %"],
  [0.5, "50 %"],
  [-0.254, "25 %"],
])("%d is %s", (fraction, text) => {
  expect(percent(fraction)).toBe(text);
});

test("a mix of directions counts them all, the worse first", () => {
  expect(mixText({ improvement: 48, regression: 302 })).toBe("302 worse, 48 better of 350");
  expect(mixText({ regression: 3 })).toBe("3 worse");
  expect(mixText({ regression: 0, unknown: 1200 })).toBe("1,200 changed");
});

test("a hazard level keeps its sign", () => {
  expect([hazardNumber(-0.1133), hazardNumber(0), hazardNumber(null)]).toEqual(["−0.113", "0", "–"]);
  expect(hazardText(-0.1133)).toBe("hazard −0.113");
  expect(hazardText(0.5)).toBe("hazard +0.500");
  expect(hazardText(null)).toBe("no hazard level");
});

test("one finding, two findings", () => {
  expect([count(1, "finding"), count(2, "finding"), count(1200, "match", "matches")]).toEqual([
    "1 finding",
    "2 findings",
    "1,200 matches",
  ]);
});

test.each([
  [0.228, "+22.8 %"],
  [-0.0341, "−3.41 %"],
  [0.0999, "+9.99 %"],
  [11.7, "+1,170 %"],
  [0, "0.00 %"],
])("%d is %s with its sign", (fraction, text) => {
  expect(signedPercent(fraction)).toBe(text);
});

test("levels lie so many standard deviations of single values apart", () => {
  expect(sigmas({ size: 6, deviation: 2 })).toBe(3);
  expect(sigmas({ size: -6, deviation: 2 })).toBe(3);
});

test("levels that do not vary are no number of deviations apart", () => {
  expect(sigmas({ size: 6, deviation: 0 })).toBeUndefined();
  expect(sigmas({ size: 6, deviation: null })).toBeUndefined();
});

test("deviations are told as closely as they matter", () => {
  expect([sigmaText(6.42), sigmaText(31.4), sigmaText(5000), sigmaText(undefined)]).toEqual([
    "6.4 σ",
    "31 σ",
    ">100 σ",
    "",
  ]);
});

test("a comparison tells both levels, their difference and how it compares with the noise", () => {
  const member = {
    before_level: 12.3,
    after_level: 15.1,
    size: 2.8,
    deviation: 0.4472,
    relative_size: 0.2276,
    trace: { unit: "ms" },
  };
  expect(comparison(member)).toBe("12.3\u00a0ms → 15.1\u00a0ms, +22.8\u00a0%, 6.3\u00a0σ");
  expect(comparison({ ...member, before_level: 0, after_level: 3, deviation: 0, relative_size: null })).toBe(
    "0\u00a0ms → 3\u00a0ms",
  );
  expect(comparison({ ...member, relative_size: 1169 })).toContain(", 1,170×,");
});

test("what only a matching ticket took care of is not decided", () => {
  expect(decidedStatus({ status: "ticket", ticket: "" })).toBe("new");
  expect(decidedStatus({ status: "ticket", ticket: "PERF-1" })).toBe("ticket");
  expect(decidedStatus({ status: "hidden", ticket: "" })).toBe("hidden");
});

test("what is history says so, and what was decided about it", () => {
  expect(standingInWords({ condition: "present", history: true, status: "new" })).toBe("history");
  expect(standingInWords({ condition: "present", history: true, status: "hidden" })).toBe("hidden, history");
  expect(standingInWords({ condition: "present", history: false, status: "new" })).toBe("unprocessed");
  expect(standingInWords({ condition: "gone", history: true, status: "new" })).toBe("gone");
});
