import { expect, test } from "vitest";
import type { Group, Member } from "../src/api/client";
import { aimOf, cursorOf, groupsOf, heirOf, layRows, move, nextAfter, sameAsBefore, tickedOf, toggle, withoutFindings } from "../src/state/rows";

const member = (id: number): Member => ({ id }) as Member;
const group = (id: number, ids: number[]): Group => ({ id, ids, members: ids.map(member) }) as unknown as Group;
const GROUPS = [group(1, [11, 12]), group(2, [21])];
const rows = layRows(GROUPS, ["c1"]);

test("members follow the group that is opened", () => {
  expect(rows.map((row) => row.id)).toEqual(["c1", "11", "12", "c2"]);
});

test("the keyboard moves row by row and stays in the table", () => {
  expect([move(rows, "c1", 1), move(rows, "c2", 1), move(rows, "c1", -1)]).toEqual(["11", "c2", "c1"]);
});

test("a row that has gone gives way to the first", () => {
  expect(cursorOf(rows, "99")).toBe(0);
  expect(cursorOf([], "c1")).toBe(-1);
});

test("a group that is selected in part says so", () => {
  const [first] = rows;
  if (!first) throw new Error("no rows");
  expect([tickedOf(first, new Set()), tickedOf(first, new Set([11])), tickedOf(first, new Set([11, 12]))]).toEqual(["none", "some", "all"]);
});

test("a selection touches whole groups and parts of others", () => {
  const { whole, parts } = groupsOf(GROUPS, [12, 21]);
  expect([whole.map((own) => own.id), parts.map((own) => own.id)]).toEqual([[2], [1]]);
});

test("selecting a group selects its members, and again takes them out", () => {
  const once = toggle(new Set(), rows.slice(0, 1));
  expect([...once]).toEqual([11, 12]);
  expect([...toggle(once, rows.slice(0, 1))]).toEqual([]);
});

test("selecting a group that is selected in part selects the rest", () => {
  expect([...toggle(new Set([12]), rows.slice(0, 1))].sort()).toEqual([11, 12]);
});

test("a key press decides about the selection, or about the current row", () => {
  expect(aimOf(rows, "c1", new Set([21]))).toEqual([21]);
  expect(aimOf(rows, "12", new Set())).toEqual([12]);
});

test("after a decision the keyboard is on the next row that stays, or on the one before", () => {
  expect(nextAfter(rows, "c1", new Set([11, 12]))).toBe("c2");
  expect(nextAfter(rows, "c2", new Set([21]))).toBe("12");
  expect(nextAfter(rows, "c1", new Set([11, 12, 21]))).toBe("");
});

test("what is decided leaves its group, and a group without findings leaves the list", () => {
  const left = withoutFindings(GROUPS, new Set([11, 21]));
  expect(left.map((own) => [own.id, own.ids, own.members.map((each) => each.id)])).toEqual([[1, [12], [12]]]);
});

test("a row that left while somebody looked elsewhere leaves the keyboard to the next one that is still there", () => {
  const before = ["c0", "c1", "11", "12", "c2"];
  expect(heirOf(rows, "11", before)).toBe("11");
  expect(heirOf(layRows(GROUPS, []), "11", before)).toBe("c2");
  expect(heirOf(layRows(GROUPS.slice(0, 1), []), "c2", before)).toBe("c1");
  expect(heirOf(rows, "unheard of", before)).toBe("unheard of");
});

test("a group that did not change stays the same object", () => {
  const [first, second] = sameAsBefore([group(1, [11, 12]), group(2, [21, 22])], GROUPS);
  expect([first === GROUPS[0], second === GROUPS[1]]).toEqual([true, false]);
});
