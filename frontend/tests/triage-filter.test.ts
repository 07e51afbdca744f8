import { expect, test } from "vitest";
import { alertChangesRoute } from "../src/routes/triage";
import { checkTriageFilter, parseTriageFilter } from "../src/text/triage-filter";

test("free words stay as they are", () => {
  expect(parseTriageFilter("parse os=linux  Ada")).toEqual({ filter: "parse os=linux Ada" });
});

test("words with a colon name a field", () => {
  expect(parseTriageFilter("alert:nightly parse ticket:PERF-12 since:2026-03-01 condition:recovered")).toEqual({
    alert: "nightly",
    ticket: "PERF-12",
    since: "2026-03-01",
    condition: "recovered",
    filter: "parse",
  });
});

test("days bound a period, and sigma the size", () => {
  expect(parseTriageFilter("since:2026-03-01 until:2026-03-31 sigma:2.5")).toEqual({
    since: "2026-03-01",
    until: "2026-03-31",
    minimum_sigma: 2.5,
    filter: "",
  });
});

test("a quoted value may have spaces", () => {
  expect(parseTriageFilter('assignee:"Ada Lovelace" load')).toEqual({ assignee: "Ada Lovelace", filter: "load" });
});

test.each(["std::vector", "alert:", "https://example.org/a", 'Alert:"x', "parse:fast", "step:1"])(
  "%s is a free word",
  (word) => {
    expect(parseTriageFilter(word)).toEqual({ filter: word });
    expect(() => checkTriageFilter(word)).not.toThrow();
  },
);

test("a quoted word is searched for, whatever it names", () => {
  expect(parseTriageFilter('"kind:cubic" fast')).toEqual({ filter: "kind:cubic fast" });
});

test("a value that a field does not take is sent to the server, which refuses it", () => {
  expect(parseTriageFilter("kind:cubic since:yesterday")).toEqual({ kind: "cubic", since: "yesterday", filter: "" });
});

test.each([
  ["conditon:fixed", "Did you mean condition:fixed?"],
  ["kinds:step", "Did you mean kind:step?"],
  ["tikcet:A-1", "Did you mean ticket:A-1?"],
  ["sigma:many", "Write it as sigma:2.5."],
])("%s is refused with the nearest word", (word, remedy) => {
  expect(() => checkTriageFilter(word)).toThrow(
    expect.objectContaining({ where: word, remedy: expect.stringContaining(remedy) as string }) as Error,
  );
});

test.each(["night", "every night", 'the "parser"', "a\\b", '"', "sigma:3 -x"])(
  "the alert %s is named whatever its name has",
  (name) => {
    expect(parseTriageFilter(alertChangesRoute(name).filter)).toEqual({ alert: name, filter: "" });
  },
);

test("a quote that is not closed yet is left out", () => {
  expect(parseTriageFilter('alert:"night')).toEqual({ alert: "night", filter: "" });
});
