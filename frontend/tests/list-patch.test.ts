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

const finding = (id: number): Finding => ({ id, status: "new" }) as Finding;
const change = (id: number, ids: number[], traces = ids.length): Change =>
  ({ id, traces, lead: ids[0], members: ids.map(finding) }) as unknown as Change;
const ONE = change(1, [11, 12], 8000);
const TWO = change(2, [21]);
const list = (changes: Change[]): ChangeList => ({
  page: 1,
  pages: 1,
  groups_total: changes.length,
  unprocessed: changes.length,
  history: 0,
  processed: 0,
  all: 1,
  gone: 0,
  groups: changes,
});
const answer = (part: Partial<Triage>): Triage => ({
  changed: 1,
  entries: null,
  groups: [],
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
  expect(ids(withoutFindings([ONE, TWO], selectFinding(ONE, 11)))).toEqual([
    [1, 7999, [12]],
    [2, 1, [21]],
  ]);
  expect(ids(withoutFindings([ONE, TWO], selectChange(ONE)))).toEqual([[2, 1, [21]]]);
});

test("the next finding takes over the lead of one that leaves", () => {
  expect(withoutFindings([ONE], selectFinding(ONE, 11))[0]?.lead).toBe(12);
});

test("an answer changes the changes that it is about and the counts, and nothing else", () => {
  const now = patchList(list([ONE, TWO]), answer({ left: [1] }), "unprocessed", []);
  expect([now.groups, now.unprocessed, now.processed, now.groups_total]).toEqual([[TWO], 1, 1, 1]);
  expect(now.groups[0]).toBe(TWO);
});

test("findings that were loaded stay behind the first ones that the server sends", () => {
  const loaded = change(1, [11, 12, 13], 8000);
  const fresh = change(1, [11, 12], 7999);
  expect(ids(patchList(list([loaded]), answer({ groups: [fresh] }), "unprocessed", []).groups)).toEqual([
    [1, 7999, [11, 12, 13]],
  ]);
  const other = change(1, [10, 11], 8001);
  expect(ids(patchList(list([loaded]), answer({ groups: [other] }), "unprocessed", []).groups)).toEqual([
    [1, 8001, [10, 11, 12, 13]],
  ]);
});

test("a change that grew is read again where more of it was loaded than the server sent", () => {
  const loaded = change(1, [11, 12, 13], 8000);
  expect(grownChanges([loaded, TWO], [change(1, [10, 11], 8001), TWO])).toEqual([[1, 1]]);
  expect(grownChanges([loaded], [change(1, [11, 12], 7999), change(3, [31])])).toEqual([]);
  expect(grownChanges([TWO], [change(2, [21, 22])])).toEqual([]);
});

test("a change that returns is where it was", () => {
  const three = change(3, [31]);
  expect(insertInOrder([ONE, three], [TWO], [1, 2, 3]).map(({ id }) => id)).toEqual([1, 2, 3]);
  expect(insertInOrder([three], [TWO, ONE], [1, 2, 3]).map(({ id }) => id)).toEqual([1, 2, 3]);
  expect(insertInOrder([ONE], [three], [1, 2, 3]).map(({ id }) => id)).toEqual([1, 3]);
});

test("a decision is written on the findings that stay", () => {
  const [patched] = patchFindings([ONE], selectFinding(ONE, 12), { status: "ticket", ticket: "PERF-1" });
  expect(patched?.members.map((finding) => [finding.status, finding.ticket])).toEqual([
    ["new", undefined],
    ["ticket", "PERF-1"],
  ]);
});

test("a change that did not change stays the same object, with the findings that were loaded", () => {
  const loaded = change(1, [11, 12, 13], 8000);
  const [first, second] = reuseUnchanged([change(1, [11, 12], 8000), change(2, [21, 22])], [loaded, TWO]);
  expect([first === loaded, second === TWO]).toEqual([true, false]);
});
