import { expect, test } from "vitest";
import type { JudgedBenchmark, Comparison } from "../src/api/client";
import {
  changeWithInterval,
  detectableText,
  markdownOf,
  meanText,
  measureCommand,
  rangeText,
  sideName,
  verdictCounts,
} from "../src/text/comparison";
import { compareRoute } from "../src/routes/compare";
import { selectRows } from "../src/views/compare/selected-rows";
import { reachOf } from "../src/views/compare/sides";

const row: JudgedBenchmark = {
  trace_id: 1,
  trace: ",benchmark=parse,",
  benchmark: "par|se`",
  params: { benchmark: "par|se`" },
  suite: "",
  unit: "ms",
  better: "lower",
  verdict: "regressed",
  conditional: false,
  together: false,
  attribution: "",
  reason: "beyond what unchanged commits do",
  decides: true,
  canary: false,
  accepted: null,
  fails: true,
  before: 10,
  after: 11,
  relative_size: 0.1,
  low: 0.09,
  high: 0.11,
  detectable: 0.021,
  p_value: 0.001,
  samples: 1,
  past: [10, 10],
  new: [11],
};

const side = (short: string): Comparison["base"] => ({
  line: "main",
  file: "",
  runs: 0,
  commit: { author: "", email: "", hash: short, position: 1, short, subject: "", time: null, url: "" },
});

const found: Comparison = {
  repository: "owner/project",
  base: side("aaaaaaa"),
  head: side("bbbbbbb"),
  query: "",
  summary: "median",
  by_samples: false,
  condition: "",
  again: false,
  warnings: [],
  profiled: [],
  selected: 13,
  compared: 13,
  false_positives: 0.01,
  replayed: 200,
  total: 3,
  by: "",
  suites: [],
  counts: { regressed: 1, unchanged: 12 },
  mean: { traces: 13, better: "lower", change: 0.032, low: 0.011, high: 0.053, least: -0.04, most: 0.62 },
  traces: [row, { ...row, verdict: "unchanged" }, { ...row, decides: false }],
};

test("verdicts are counted, the worst first", () => {
  expect(verdictCounts({ "no data": 2, unchanged: 1200, regressed: 1 })).toBe(
    "1 regressed, 1,200 unchanged, 2 without data",
  );
  expect(verdictCounts({})).toBe("nothing to compare");
});

test("a change has its interval where one is known", () => {
  expect(changeWithInterval(row)).toBe("+10.0 % (+9.00 to +11.0 %)");
  expect(changeWithInterval({ ...row, low: null })).toBe("+10.0 %");
  expect(changeWithInterval({ ...row, relative_size: null })).toBe("");
});

test("the smallest change that could be seen is stated where it is known", () => {
  expect([detectableText(row), detectableText({ ...row, detectable: null })]).toEqual(["from 2.1 %", ""]);
});

test("a comment counts the changes that it does not list, also those that are not loaded", () => {
  expect(markdownOf({ ...found, counts: { regressed: 300, improved: 1 } }, "")).toContain("300 more changes");
});

test("a comment says first what the verdicts depend on, as text that is not markup", () => {
  const text = markdownOf({ ...found, condition: "Other machine: host `a`.", again: false }, "");
  expect(text.split("\n")[2]).toBe("`Other machine: host 'a'.`");
  expect(markdownOf({ ...found, condition: "All 12 moved.", again: true }, "")).toContain(
    "All 12 moved. Measure again.",
  );
});

test("a comment has one row for each change that decides, and names cannot break its table", () => {
  const text = markdownOf(found, "https://perf.example.org/compare?base=aaaaaaa");
  expect(text.split("\n").filter((line) => line.startsWith("| `"))).toEqual([
    "| `par\\|se'` | regressed | +10.0 % (+9.00 to +11.0 %) | 10\u00a0ms → 11\u00a0ms |",
  ]);
  expect(text).toContain("**1 regressed, 12 unchanged** from `aaaaaaa` to `bbbbbbb`");
});

test("a side is named by its commit, or by its file where it is one", () => {
  expect(sideName(side("aaaaaaa"))).toBe("aaaaaaa");
  expect(sideName({ line: "", commit: null, file: "results.json", runs: 3 })).toBe("results.json");
});

test("the mean says its interval and whether it is clear, beside the range of the changes", () => {
  expect(meanText(found.mean)).toBe("+3.20 % (+1.10 to +5.30 %), worse");
  expect(meanText({ ...found.mean, better: "higher" })).toContain("better");
  expect(meanText({ ...found.mean, low: -0.01 })).toContain("no clear change");
  expect(meanText({ ...found.mean, change: null })).toBe("");
  expect(rangeText(found.mean)).toBe("from −4.00 % to +62.0 %");
  expect(rangeText({ ...found.mean, traces: 1 })).toBe("");
});

test("the command that measures again names both commits, and files have none", () => {
  expect(measureCommand(found)).toBe("knick compare aaaaaaa bbbbbbb --recipe NAME");
  expect(measureCommand({ ...found, head: { ...found.head, commit: null } })).toBe("");
});

const named = (name: string, verdict: JudgedBenchmark["verdict"], size: number | null): JudgedBenchmark => ({
  ...row,
  trace: `,benchmark=${name},`,
  params: { benchmark: name },
  verdict,
  relative_size: size,
});

const two: readonly Comparison[] = [
  { ...found, traces: [named("a", "regressed", 0.1), named("b", "unchanged", 0.01), named("c", "no data", null)] },
  { ...found, traces: [named("a", "unchanged", 0), named("b", "improved", -0.3)] },
];

function listed(part: Partial<typeof compareRoute>): string[] {
  return selectRows(two, { ...compareRoute, ...part }).map(({ row: { params } }) => params.benchmark ?? "");
}

test("a row is listed if any new revision changed it, and shows the verdicts of all", () => {
  expect(listed({})).toEqual(["a", "b"]);
  expect(selectRows(two, compareRoute)[1]?.heads.map((each) => each?.verdict)).toEqual(["unchanged", "improved"]);
  expect(listed({ all: true })).toEqual(["a", "b", "c"]);
  expect(listed({ verdict: "no data" })).toEqual(["c"]);
  expect(listed({ all: true, match: "B" })).toEqual(["b"]);
});

test("rows are sorted by a column in both directions, what is unknown last", () => {
  expect(listed({ all: true, sort: "change0" })).toEqual(["b", "a", "c"]);
  expect(listed({ all: true, sort: "-change0" })).toEqual(["a", "b", "c"]);
  expect(listed({ all: true, sort: "change1" })).toEqual(["b", "a", "c"]);
  expect(listed({ all: true, sort: "-trace" })).toEqual(["c", "b", "a"]);
});

test("one outlier does not flatten the bars of the others, and noise fills none", () => {
  const rows = [...Array.from({ length: 19 }, () => named("a", "regressed", 0.1)), named("b", "regressed", 40)];
  expect(reachOf(rows)).toBeCloseTo(0.125);
  expect(reachOf([named("a", "unchanged", 0.0001)])).toBe(0.02);
});
