import { expect, test } from "vitest";
import {
  chooseValue,
  completions,
  patternOf,
  quote,
  toggleValue,
  selectedValues,
  withPattern,
} from "../src/text/query";
import { facetsOf, selectTraces } from "../src/api/published-traces";
import type { Trace } from "../src/api/client";

test("a value is added, joined by others, and removed again", () => {
  const linux = toggleValue("", "os", "linux");
  const both = toggleValue(linux, "os", "mac");
  expect([linux, both, toggleValue(both, "os", "linux"), toggleValue(linux, "os", "linux")]).toEqual([
    "os=linux",
    "os=linux|mac",
    "os=mac",
    "",
  ]);
});

test("other terms stay as they were typed", () => {
  expect(toggleValue("name~^json  !sub os!=x", "os", "linux")).toBe("name~^json !sub os!=x os=linux");
});

test("values with spaces and signs are quoted and found again", () => {
  const query = toggleValue("", "name", 'say "hi" | bye');
  expect(query).toBe(String.raw`name="say \"hi\" | bye"`);
  expect(selectedValues(query, "name")).toEqual(['say "hi" | bye']);
  expect(toggleValue(query, "name", 'say "hi" | bye')).toBe("");
});

test("terms that exclude a value or ask for presence select no values", () => {
  expect(selectedValues("os!=linux name=*", "os")).toEqual([]);
  expect(selectedValues("os!=linux name=*", "name")).toEqual([]);
});

test("a value that is left out may be typed in two ways", () => {
  expect(selectedValues("-os=linux os!=mac", "os", "!=")).toEqual(["linux", "mac"]);
  expect(toggleValue("-os=linux x os!=mac", "os", "mac", "!=")).toBe("os!=linux x");
});

test("a value that is chosen is left out no longer", () => {
  expect(chooseValue("os!=linux|mac", "os", "linux", "=")).toBe("os!=mac os=linux");
  expect(chooseValue("os=linux", "os", "linux", "!=")).toBe("os!=linux");
  expect(chooseValue("os!=linux", "os", "linux", "!=")).toBe("");
});

test("values with a star stay as they were typed", () => {
  expect(selectedValues("os=lin*|mac", "os")).toEqual(["mac"]);
  expect(toggleValue("os=lin*|mac", "os", "mac")).toBe("os=lin*");
  expect(toggleValue("os=lin*", "os", "lin*")).toBe('os=lin*|"lin*"');
});

test("a regular expression is set, read and taken out", () => {
  const query = withPattern("os=linux", "name", "~", '^a|b "c"$');
  expect(query).toBe(String.raw`os=linux name~"^a|b \"c\"$"`);
  expect(patternOf(query, "name", "~")).toBe('^a|b "c"$');
  expect(withPattern(query, "name", "~", "")).toBe("os=linux");
  expect(patternOf("-name~^x name~y", "name", "!~")).toBe("^x");
});

test("plain words need no quotes", () => {
  expect([quote("parse_json"), quote("a b"), quote("a&b")]).toEqual(["parse_json", '"a b"', '"a&b"']);
});

const facet = (name: string, ...values: string[]) => ({
  name,
  distinct: values.length,
  values: values.map((value) => ({ value, count: 1 })),
});
const FACETS = [facet("os", "linux", "mac os", "mac"), facet("on", "x")];

test.each([
  ["", ["os=", "on="]],
  ["json -o", ["json -os=", "json -on="]],
  ["os=m", ['os="mac os"', "os=mac"]],
  ["x os!=linux|ma", ['x os!=linux|"mac os"', "x os!=linux|mac"]],
  ["os=mac", ['os="mac os"']],
  ["none=x", []],
  ["os~m", []],
])("%j is completed with names and values", (query, texts) => {
  expect(completions(query, FACETS)).toEqual(texts);
});

const TRACES = [{ os: "Linux", test: "json_parse" }, { os: "mac", test: "json" }, { test: "print" }].map(
  (params, id) => ({ id, params }) as unknown as Trace,
);

test.each([
  ["JSON", [0, 1]],
  ["json -linux", [1]],
  ["-json", [2]],
  ["-os=mac", [0, 2]],
  ["os!=mac", [0, 2]],
  ["-os=*", [2]],
  ["!os", [2]],
  ["-test~^j", [2]],
  ['test=print|"json"', [1, 2]],
  ["test=json*", [0, 1]],
  ["test=*_parse|pr*t", [0, 2]],
  ['test="json"*', [0, 1]],
  ['test="json*"', []],
  ["test=j.*", []],
  ["-test=j*", [2]],
])("published pages select with %j what a server selects", (query, ids) => {
  expect(selectTraces(TRACES, query).map(({ id }) => id)).toEqual(ids);
});

test("published pages refuse two negations, and count params without their terms", () => {
  expect(() => selectTraces(TRACES, "-os!=mac")).toThrow("cannot be read");
  expect(() => selectTraces(TRACES, "a|b")).toThrow("cannot be read");
  expect(facetsOf(TRACES, "json os=mac").facets[0]?.values.map(({ value }) => value)).toEqual(["Linux", "mac"]);
});
