import { expect, test } from "vitest";
import type { Group, Member } from "../src/api/client";
import { aimOf, cursorOf, heirOf, layRows, move, nextAfter, tickedOf, toggle } from "../src/state/triage/rows";
import { groupsOf, NOTHING, targetsOf, type Selection } from "../src/state/triage/selection";
import { shownList } from "../src/state/triage/undo-stack";

const member = (id: number): Member => ({ id }) as Member;
const group = (id: number, ids: number[]): Group =>
  ({ id, traces: ids.length, members: ids.map(member) }) as unknown as Group;
const GROUPS = [group(1, [11, 12]), group(2, [21])];
const rows = layRows(GROUPS, ["c1"]);
/** Select rows by their names. */
const picked = (...names: string[]): Selection =>
  toggle(
    NOTHING,
    rows.filter((row) => names.includes(row.id)),
    true,
  );
const asked = (selection: Selection): unknown => {
  const { ids, regressions, without } = targetsOf(selection, shownList().filter);
  return { ids, regressions, without };
};

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
  expect([tickedOf(first, NOTHING), tickedOf(first, picked("11")), tickedOf(first, picked("11", "12"))]).toEqual([
    "none",
    "some",
    "all",
  ]);
});

test("a selection touches whole groups and parts of others", () => {
  const { whole, parts } = groupsOf(GROUPS, picked("12", "c2"));
  expect([whole.map((own) => own.id), parts.map((own) => own.id)]).toEqual([[2], [1]]);
});

test("selecting a group selects its members, and again takes them out", () => {
  const once = toggle(NOTHING, rows.slice(0, 1));
  expect(asked(once)).toEqual({ ids: [], regressions: [1], without: [] });
  expect(toggle(once, rows.slice(0, 1)).size).toBe(0);
});

test("selecting a group that is selected in part selects the rest", () => {
  expect(asked(toggle(picked("12"), rows.slice(0, 1)))).toEqual({ ids: [], regressions: [1], without: [] });
});

test("a member taken out of a selected group is left out of it, those included that were never loaded", () => {
  const large = { ...group(7, [71, 72]), traces: 8000 };
  const [whole, first] = layRows([large], ["c7"]);
  if (!whole || !first) throw new Error("no rows");
  const but = toggle(toggle(NOTHING, [whole]), [first]);
  expect(asked(but)).toEqual({ ids: [], regressions: [7], without: [71] });
  expect([tickedOf(whole, but), tickedOf(first, but)]).toEqual(["some", "none"]);
});

test("a key press decides about the selection, or about the current row", () => {
  expect(asked(aimOf(rows, "c1", picked("c2")))).toEqual({ ids: [], regressions: [2], without: [] });
  expect(asked(aimOf(rows, "12", NOTHING))).toEqual({ ids: [12], regressions: [], without: [] });
});

test("after a decision the keyboard is on the next row that stays, or on the one before", () => {
  expect(nextAfter(rows, "c1", picked("c1"))).toBe("c2");
  expect(nextAfter(rows, "c2", picked("c2"))).toBe("12");
  expect(nextAfter(rows, "c1", picked("c1", "c2"))).toBe("");
});

test("a row that left while somebody looked elsewhere leaves the keyboard to the next one that is still there", () => {
  const before = ["c0", "c1", "11", "12", "c2"];
  expect(heirOf(rows, "11", before)).toBe("11");
  expect(heirOf(layRows(GROUPS, []), "11", before)).toBe("c2");
  expect(heirOf(layRows(GROUPS.slice(0, 1), []), "c2", before)).toBe("c1");
  expect(heirOf(rows, "unheard of", before)).toBe("unheard of");
});
