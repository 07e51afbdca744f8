import { expect, test } from "vitest";
import {
  commonBeginning,
  commonParams,
  formulaText,
  headAndTail,
  pieces,
  traceName,
  traceText,
} from "../src/text/trace-names";

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

test("params that all traces share are found, and left out", () => {
  const all = [
    { benchmark: "parse", os: "linux", arch: "arm" },
    { benchmark: "print", os: "linux", arch: "x86" },
  ];
  const common = commonParams(all);
  expect([...common]).toEqual(["os"]);
  expect(all.map((params) => traceText(params, common))).toEqual(["parse arch=arm", "print arch=x86"]);
  expect(commonParams(all.slice(0, 1)).size).toBe(0);
});

test("a calculated trace is called by the traces that it was made from", () => {
  expect(formulaText("@norm(,benchmark=parse,os=linux,)")).toBe("norm(parse os=linux)");
  expect(formulaText("@(,benchmark=a%2Cb,os=x, / ,benchmark=c,os=x,)", new Set(["os"]))).toBe("(a,b / c)");
  expect(formulaText('@ave(filter("os=linux"))')).toBe('ave(filter("os=linux"))');
});

test("a long name breaks after its separators and between its words", () => {
  expect(pieces("org.Engine::drawMany/size=2")).toEqual(["org.", "Engine::", "draw", "Many/", "size=2"]);
  expect(pieces("parse")).toEqual(["parse"]);
  expect(pieces("")).toEqual([]);
});

test("a name is cut in the middle, so that what tells it from others stays", () => {
  expect(headAndTail("short")).toEqual(["short", ""]);
  expect(headAndTail("module4.RenderPipeline/variant56").join("")).toBe("module4.RenderPipeline/variant56");
  expect(headAndTail("module4.RenderPipeline/variant56")[1]).toBe("line/variant56");
});
