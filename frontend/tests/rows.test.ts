import { expect, test } from "vitest";
import type { Change, Finding } from "../src/api/client";
import {
  decisionTargets,
  cursorIndex,
  nearestRemainingRow,
  layOutRows,
  stepCommit,
  stepRow,
  rowsBetween,
  nextRemainingRow,
  checkState,
  toggleRows,
} from "../src/state/triage/rows";
import { heldReasons, selectedChanges, NOTHING, toTargets, type Selection } from "../src/state/triage/selection";
import { visibleList } from "../src/state/triage/visible-list";

const finding = (id: number): Finding => ({ id }) as Finding;
const change = (id: number, ids: number[]): Change =>
  ({ id, traces: ids.length, members: ids.map(finding) }) as unknown as Change;
const CHANGES = [change(1, [11, 12]), change(2, [21])];
const rows = layOutRows(CHANGES, ["c1"]);
/** Select rows by their names. */
const select = (...names: string[]): Selection =>
  toggleRows(
    NOTHING,
    rows.filter((row) => names.includes(row.id)),
    true,
  );
const targetsOf = (selection: Selection): unknown => {
  const { ids, changes, without } = toTargets(selection, visibleList().filter);
  return { ids, changes, without };
};

test("findings follow the change that is expanded", () => {
  expect(rows.map((row) => row.id)).toEqual(["c1", "11", "12", "c2"]);
});

test("the keyboard moves row by row and stays in the table", () => {
  expect([stepRow(rows, "c1", 1), stepRow(rows, "c2", 1), stepRow(rows, "c1", -1)]).toEqual(["11", "c2", "c1"]);
});

test("the keyboard moves from commit to commit, past their findings", () => {
  expect([stepCommit(rows, "c1", 1), stepCommit(rows, "12", 1), stepCommit(rows, "c2", 1)]).toEqual(["c2", "c2", "c2"]);
  expect([stepCommit(rows, "c2", -1), stepCommit(rows, "12", -1), stepCommit(rows, "c1", -1)]).toEqual([
    "c1",
    "c1",
    "c1",
  ]);
});

test("rows between two are those of the table, whichever comes first", () => {
  expect(rowsBetween(rows, "12", "c1").map(({ id }) => id)).toEqual(["c1", "11", "12"]);
});

test("the keyboard is on the first row if its row is gone", () => {
  expect(cursorIndex(rows, "99")).toBe(0);
  expect(cursorIndex([], "c1")).toBe(-1);
});

test("a change that is selected in part says so", () => {
  const [first] = rows;
  if (!first) throw new Error("no rows");
  expect([checkState(first, NOTHING), checkState(first, select("11")), checkState(first, select("11", "12"))]).toEqual([
    "none",
    "some",
    "all",
  ]);
});

test("a selection touches whole changes and parts of others", () => {
  const { whole, partial } = selectedChanges(CHANGES, select("12", "c2"));
  expect([whole.map(({ id }) => id), partial.map(({ id }) => id)]).toEqual([[2], [1]]);
});

test("selecting a change selects its findings, and again deselects them", () => {
  const once = toggleRows(NOTHING, rows.slice(0, 1));
  expect(targetsOf(once)).toEqual({ ids: [], changes: [1], without: [] });
  expect(toggleRows(once, rows.slice(0, 1)).size).toBe(0);
});

test("selecting a change that is selected in part selects the rest", () => {
  expect(targetsOf(toggleRows(select("12"), rows.slice(0, 1)))).toEqual({ ids: [], changes: [1], without: [] });
});

test("a finding removed from a selected change is its only exception, also among findings that were not loaded", () => {
  const large = { ...change(7, [71, 72]), traces: 8000 };
  const [whole, first] = layOutRows([large], ["c7"]);
  if (!whole || !first) throw new Error("no rows");
  const but = toggleRows(toggleRows(NOTHING, [whole]), [first]);
  expect(targetsOf(but)).toEqual({ ids: [], changes: [7], without: [71] });
  expect([checkState(whole, but), checkState(first, but)]).toEqual(["some", "none"]);
});

test("a key press decides about the selection, or about the current row", () => {
  expect(targetsOf(decisionTargets(rows, "c1", select("c2")))).toEqual({ ids: [], changes: [2], without: [] });
  expect(targetsOf(decisionTargets(rows, "12", NOTHING))).toEqual({ ids: [12], changes: [], without: [] });
});

test("after a decision the keyboard is on the next row that stays, or on the one before", () => {
  expect(nextRemainingRow(rows, "c1", select("c1"))).toBe("c2");
  expect(nextRemainingRow(rows, "c2", select("c2"))).toBe("12");
  expect(nextRemainingRow(rows, "c1", select("c1", "c2"))).toBe("");
});

test("a row that left while another page was open leaves the keyboard to the next one that is still there", () => {
  const before = ["c0", "c1", "11", "12", "c2"];
  expect(nearestRemainingRow(rows, "11", before)).toBe("11");
  expect(nearestRemainingRow(layOutRows(CHANGES, []), "11", before)).toBe("c2");
  expect(nearestRemainingRow(layOutRows(CHANGES.slice(0, 1), []), "c2", before)).toBe("c1");
  expect(nearestRemainingRow(rows, "unknown", before)).toBe("unknown");
});

test("a finding that was not loaded yet stands in the place of the one before it", () => {
  expect(nearestRemainingRow(layOutRows([change(1, [12]), change(2, [21])], ["c1"]), "11", ["c1", "11", "c2"])).toBe(
    "12",
  );
});

test("the reasons why selected findings are held back are given once each", () => {
  const held = { ...change(3, [31, 32]), held: "canary loop moved" };
  const partly = { ...change(4, []), held: "", traces: 2 };
  partly.members = [
    { id: 41, held: "canary loop moved" },
    { id: 42, held: "" },
  ] as Finding[];
  const all = toggleRows(NOTHING, layOutRows([held, partly], []), true);
  expect(heldReasons([held, partly], all)).toEqual(["canary loop moved"]);
  expect(heldReasons([partly], new Map([[4, { whole: false, ids: new Set([42]) }]]))).toEqual([]);
});
