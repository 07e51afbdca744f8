import { expect, test } from "vitest";
import type { Group, Member, Regressions, Triage } from "../src/api/client";
import { marked, patched, putBack, sameAsBefore, withoutFindings } from "../src/state/triage/list-patch";
import { oneMember, wholeGroup } from "../src/state/triage/selection";

const member = (id: number): Member => ({ id, status: "new" }) as Member;
const group = (id: number, ids: number[], traces = ids.length): Group =>
  ({ id, traces, lead: ids[0], members: ids.map(member) }) as unknown as Group;
const ONE = group(1, [11, 12], 8000);
const TWO = group(2, [21]);
const list = (groups: Group[]): Regressions => ({
  page: 1,
  pages: 1,
  groups_total: groups.length,
  unprocessed: groups.length,
  history: 0,
  processed: 0,
  gone: 0,
  groups,
});
const answer = (part: Partial<Triage>): Triage => ({
  changed: 1,
  entries: null,
  groups: [],
  left: [],
  unprocessed: 1,
  history: 0,
  processed: 1,
  gone: 0,
  ...part,
});
const ids = (groups: readonly Group[]): unknown =>
  groups.map((own) => [own.id, own.traces, own.members.map((each) => each.id)]);

test("what is decided leaves its group, and a group without findings leaves the list", () => {
  expect(ids(withoutFindings([ONE, TWO], oneMember(ONE, 11)))).toEqual([
    [1, 7999, [12]],
    [2, 1, [21]],
  ]);
  expect(ids(withoutFindings([ONE, TWO], wholeGroup(ONE)))).toEqual([[2, 1, [21]]]);
});

test("a member that leads and leaves hands the lead on", () => {
  expect(withoutFindings([ONE], oneMember(ONE, 11))[0]?.lead).toBe(12);
});

test("an answer changes the groups that it is about and the counts, and nothing else", () => {
  const now = patched(list([ONE, TWO]), answer({ left: [1] }), "unprocessed", []);
  expect([now.groups, now.unprocessed, now.processed, now.groups_total]).toEqual([[TWO], 1, 1, 1]);
  expect(now.groups[0]).toBe(TWO);
});

test("members that were loaded stay where the group still begins with the same ones", () => {
  const loaded = group(1, [11, 12, 13], 8000);
  const fresh = group(1, [11, 12], 7999);
  expect(ids(patched(list([loaded]), answer({ groups: [fresh] }), "unprocessed", []).groups)).toEqual([
    [1, 7999, [11, 12, 13]],
  ]);
  const other = group(1, [10, 11], 8001);
  expect(ids(patched(list([loaded]), answer({ groups: [other] }), "unprocessed", []).groups)).toEqual([
    [1, 8001, [10, 11]],
  ]);
});

test("a group that comes back is where it was", () => {
  const three = group(3, [31]);
  expect(putBack([ONE, three], [TWO], [1, 2, 3]).map((own) => own.id)).toEqual([1, 2, 3]);
  expect(putBack([three], [TWO, ONE], [1, 2, 3]).map((own) => own.id)).toEqual([1, 2, 3]);
  expect(putBack([ONE], [three], [1, 2, 3]).map((own) => own.id)).toEqual([1, 3]);
});

test("what was decided is written on the findings that stay", () => {
  const [own] = marked([ONE], oneMember(ONE, 12), { status: "ticket", ticket: "PERF-1" });
  expect(own?.members.map((each) => [each.status, each.ticket])).toEqual([
    ["new", undefined],
    ["ticket", "PERF-1"],
  ]);
});

test("a group that did not change stays the same object, with the members that were loaded", () => {
  const loaded = group(1, [11, 12, 13], 8000);
  const [first, second] = sameAsBefore([group(1, [11, 12], 8000), group(2, [21, 22])], [loaded, TWO]);
  expect([first === loaded, second === TWO]).toEqual([true, false]);
});
