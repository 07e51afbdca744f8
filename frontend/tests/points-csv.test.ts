import { expect, test } from "vitest";
import type { Commit, Trace } from "../src/api/client";
import { pointsCsv, positionsIn } from "../src/text/points-csv";

const trace = (params: Record<string, string>) => ({ id: 1, params }) as unknown as Trace;
const line = (params: Record<string, string>, positions: number[], values: number[]) => ({
  trace: trace(params),
  formula: "",
  title: "",
  unit: "ms",
  positions: Float64Array.from(positions),
  values: Float64Array.from(values),
});
const commit = { hash: "abc", time: "2026-01-02T03:04:05Z", author: 'Ann "A", B' } as Commit;

test("a row has the params of its line, the commit and the value in full", () => {
  const text = pointsCsv([line({ os: "linux" }, [3], [0.1 + 0.2])], new Map([[3, commit]]), 0, 9);
  expect(text).toBe(
    "os,unit,pos,commit,commit_time,author,value\r\n" +
      'linux,ms,3,abc,2026-01-02T03:04:05Z,"Ann ""A"", B",0.30000000000000004\r\n',
  );
});

test("only values in the range are written, and each line has the params of all", () => {
  const lines = [line({ a: "1" }, [1, 2, 3], [10, 20, 30]), line({ value: "x,y" }, [2, 4], [5, 6])];
  expect([...positionsIn(lines, 2, 3)]).toEqual([2, 3]);
  expect(pointsCsv(lines, new Map(), 2, 3).split("\r\n")).toEqual([
    "a,param_value,unit,pos,commit,commit_time,author,value",
    "1,,ms,2,,,,20",
    "1,,ms,3,,,,30",
    ',"x,y",ms,2,,,,5',
    "",
  ]);
});

test("a line of a formula has its formula and its result", () => {
  const calculated = { ...line({}, [0], [1]), trace: undefined, formula: "norm(a)", title: "norm(x)", unit: "" };
  expect(pointsCsv([line({ a: "1" }, [], []), calculated], new Map(), 0, 0)).toBe(
    "a,formula,result,unit,pos,commit,commit_time,author,value\r\n,norm(a),norm(x),,0,,,,1\r\n",
  );
});
