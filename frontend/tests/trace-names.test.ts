import { expect, test } from "vitest";
import {
  commonPrefixLength,
  commonParams,
  commonText,
  differenceText,
  formulaText,
  splitForEllipsis,
  breakableParts,
  traceName,
  traceText,
} from "../src/text/trace-names";

test("the name of a trace is its benchmark; the other params follow", () => {
  expect(traceName({ arch: "arm", benchmark: "parse" })).toEqual({ name: "parse", rest: [["arch", "arm"]] });
  expect(traceText({ arch: "arm", benchmark: "parse" })).toBe("parse arch=arm");
});

test("a trace without a usual name param has the value of its first param as its name", () => {
  expect(traceName({ arch: "arm", os: "linux" }).name).toBe("arm");
});

test("a long common prefix ends at a boundary between words", () => {
  expect(commonPrefixLength(["Company.Project.ReadFast", "Company.Project.ReadSlow"])).toBe("Company.Project.".length);
  expect(commonPrefixLength(["read_a", "read_b"])).toBe(0);
  expect(commonPrefixLength(["Company.Project.Only"])).toBe(0);
});

test("params that all traces share can be omitted", () => {
  const all = [
    { benchmark: "parse", os: "linux", arch: "arm" },
    { benchmark: "print", os: "linux", arch: "x86" },
  ];
  const common = commonParams(all);
  expect([...common]).toEqual(["os"]);
  expect(all.map((params) => traceText(params, common))).toEqual(["parse arch=arm", "print arch=x86"]);
  expect(commonParams(all.slice(0, 1)).size).toBe(0);
});

test("what traces share is stated once, and each has what differs", () => {
  const all = [
    { benchmark: "parse", os: "linux", arch: "arm" },
    { benchmark: "parse", os: "linux", arch: "x86" },
  ];
  const common = commonParams(all);
  expect(commonText(all[0] ?? {}, common)).toBe("parse os=linux");
  expect(all.map((params) => differenceText(params, common))).toEqual(["arch=arm", "arch=x86"]);
  expect(differenceText({ benchmark: "parse" }, new Set(["benchmark"]))).toBe("parse");
});

test("the name of a calculated trace has the names of the traces that it was made from", () => {
  expect(formulaText("@norm(,benchmark=parse,os=linux,)")).toBe("norm(parse os=linux)");
  expect(formulaText("@(,benchmark=a%2Cb,os=x, / ,benchmark=c,os=x,)", new Set(["os"]))).toBe("(a,b / c)");
  expect(formulaText('@ave(filter("os=linux"))')).toBe('ave(filter("os=linux"))');
});

test("a long name breaks after its separators and between its words", () => {
  expect(breakableParts("org.Engine::drawMany/size=2")).toEqual(["org.", "Engine::", "draw", "Many/", "size=2"]);
  expect(breakableParts("parse")).toEqual(["parse"]);
  expect(breakableParts("")).toEqual([]);
});

test("a long name is split so that its tail, which differs from others, stays", () => {
  expect(splitForEllipsis("short")).toEqual(["short", ""]);
  expect(splitForEllipsis("module4.RenderPipeline/variant56").join("")).toBe("module4.RenderPipeline/variant56");
  expect(splitForEllipsis("module4.RenderPipeline/variant56")[1]).toBe("line/variant56");
});
