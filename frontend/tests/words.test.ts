import { describe, expect, test } from "vitest";
import { changeInWords, commonBeginning, count, hazardText, percent, traceName, traceText } from "../src/text/words";

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

test("a hazard level keeps its sign", () => {
  expect(hazardText(-0.1133)).toBe("hazard −0.113");
  expect(hazardText(0.5)).toBe("hazard +0.500");
  expect(hazardText(null)).toBe("no hazard level");
});

test("one finding, two findings", () => {
  expect([count(1, "finding"), count(2, "finding"), count(1200, "match", "matches")]).toEqual(["1 finding", "2 findings", "1,200 matches"]);
});

test("a trace is called by its benchmark, the other params follow", () => {
  expect(traceName({ arch: "arm", benchmark: "parse" })).toEqual({ name: "parse", rest: [["arch", "arm"]] });
  expect(traceText({ arch: "arm", benchmark: "parse" })).toBe("parse arch=arm");
});

test("a trace without a usual name is called by its first param", () => {
  expect(traceName({ arch: "arm", os: "linux" }).name).toBe("arm");
});

test("a long common beginning is cut at a boundary between words", () => {
  expect(commonBeginning(["Company.Project.ReadFast", "Company.Project.ReadSlow"])).toBe("Company.Project.".length);
  expect(commonBeginning(["read_a", "read_b"])).toBe(0);
  expect(commonBeginning(["Company.Project.Only"])).toBe(0);
});
