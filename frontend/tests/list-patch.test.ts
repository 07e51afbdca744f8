import { expect, test } from "vitest";
import type { Change, Finding, ChangeList, Triage } from "../src/api/client";
import {
  grownChanges,
  patchFindings,
  patchList,
  insertInOrder,
  reuseUnchanged,
  withoutFindings,
} from "../src/state/triage/list-patch";
import { selectFinding, selectChange } from "../src/state/triage/selection";

const finding = (id: string): Finding => ({ id, status: "new" }) as Finding;
const change = (id: string, ids: string[], traces = ids.length): Change =>
  ({ id, traces, lead: ids[0], members: ids.map(finding) }) as unknown as Change;
const ONE = change("R1", ["P11", "P12"], 8000);
const TWO = change("R2", ["P21"]);
const list = (changes: Change[]): ChangeList => ({
  page: 1,
  pages: 1,
  total: changes.length,
  unprocessed: changes.length,
  history: 0,
  processed: 0,
  all: 1,
  gone: 0,
  changes: changes,
});
const answer = (part: Partial<Triage>): Triage => ({
  changed: 1,
  entries: null,
  changes: [],
  left: [],
  unprocessed: 1,
  history: 0,
  processed: 1,
  all: 1,
  gone: 0,
  ...part,
});
const ids = (changes: readonly Change[]): unknown =>
  changes.map((change) => [change.id, change.traces, change.members.map(({ id }) => id)]);

test("what is decided leaves its change, and a change without findings leaves the list", () => {
  expect(ids(withoutFindings([ONE, TWO], selectFinding(ONE, "P11")))).toEqual([
    ["R1", 7999, ["P12"]],
    ["R2", 1, ["P21"]],
  ]);
  expect(ids(withoutFindings([ONE, TWO], selectChange(ONE)))).toEqual([["R2", 1, ["P21"]]]);
});

test("the next finding takes over the lead of one that leaves", () => {
  expect(withoutFindings([ONE], selectFinding(ONE, "P11"))[0]?.lead).toBe("P12");
});

test("an answer changes the changes that it is about and the counts, and nothing else", () => {
  const now = patchList(list([ONE, TWO]), answer({ left: ["R1"] }), "unprocessed", []);
  expect([now.changes, now.unprocessed, now.processed, now.total]).toEqual([[TWO], 1, 1, 1]);
  expect(now.changes[0]).toBe(TWO);
});

test("findings that were loaded stay behind the first ones that the server sends", () => {
  const loaded = change("R1", ["P11", "P12", "P13"], 8000);
  const fresh = change("R1", ["P11", "P12"], 7999);
  expect(ids(patchList(list([loaded]), answer({ changes: [fresh] }), "unprocessed", []).changes)).toEqual([
    ["R1", 7999, ["P11", "P12", "P13"]],
  ]);
  const other = change("R1", ["P10", "P11"], 8001);
  expect(ids(patchList(list([loaded]), answer({ changes: [other] }), "unprocessed", []).changes)).toEqual([
    ["R1", 8001, ["P10", "P11", "P12", "P13"]],
  ]);
});

test("a change that grew is read again where more of it was loaded than the server sent", () => {
  const loaded = change("R1", ["P11", "P12", "P13"], 8000);
  expect(grownChanges([loaded, TWO], [change("R1", ["P10", "P11"], 8001), TWO])).toEqual([["R1", 1]]);
  expect(grownChanges([loaded], [change("R1", ["P11", "P12"], 7999), change("R3", ["P31"])])).toEqual([]);
  expect(grownChanges([TWO], [change("R2", ["P21", "P22"])])).toEqual([]);
});

test("a change that returns is where it was", () => {
  const three = change("R3", ["P31"]);
  expect(insertInOrder([ONE, three], [TWO], ["R1", "R2", "R3"]).map(({ id }) => id)).toEqual(["R1", "R2", "R3"]);
  expect(insertInOrder([three], [TWO, ONE], ["R1", "R2", "R3"]).map(({ id }) => id)).toEqual(["R1", "R2", "R3"]);
  expect(insertInOrder([ONE], [three], ["R1", "R2", "R3"]).map(({ id }) => id)).toEqual(["R1", "R3"]);
});

test("a decision is written on the findings that stay", () => {
  const [patched] = patchFindings([ONE], selectFinding(ONE, "P12"), { status: "ticket", ticket: "PERF-1" });
  expect(patched?.members.map((finding) => [finding.status, finding.ticket])).toEqual([
    ["new", undefined],
    ["ticket", "PERF-1"],
  ]);
});

test("a change that did not change stays the same object, with the findings that were loaded", () => {
  const loaded = change("R1", ["P11", "P12", "P13"], 8000);
  const [first, second] = reuseUnchanged(
    [change("R1", ["P11", "P12"], 8000), change("R2", ["P21", "P22"])],
    [loaded, TWO],
  );
  expect([first === loaded, second === TWO]).toEqual([true, false]);
});
