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

const finding = (id: string): Finding => ({ id }) as Finding;
const change = (id: string, ids: string[]): Change =>
  ({ id, traces: ids.length, members: ids.map(finding) }) as unknown as Change;
const CHANGES = [change("R1", ["P11", "P12"]), change("R2", ["P21"])];
const rows = layOutRows(CHANGES, ["R1"]);
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
  expect(rows.map((row) => row.id)).toEqual(["R1", "P11", "P12", "R2"]);
});

test("the keyboard moves row by row and stays in the table", () => {
  expect([stepRow(rows, "R1", 1), stepRow(rows, "R2", 1), stepRow(rows, "R1", -1)]).toEqual(["P11", "R2", "R1"]);
});

test("the keyboard moves from commit to commit, past their findings", () => {
  expect([stepCommit(rows, "R1", 1), stepCommit(rows, "P12", 1), stepCommit(rows, "R2", 1)]).toEqual([
    "R2",
    "R2",
    "R2",
  ]);
  expect([stepCommit(rows, "R2", -1), stepCommit(rows, "P12", -1), stepCommit(rows, "R1", -1)]).toEqual([
    "R1",
    "R1",
    "R1",
  ]);
});

test("rows between two are those of the table, whichever comes first", () => {
  expect(rowsBetween(rows, "P12", "R1").map(({ id }) => id)).toEqual(["R1", "P11", "P12"]);
});

test("the keyboard is on the first row if its row is gone", () => {
  expect(cursorIndex(rows, "P99")).toBe(0);
  expect(cursorIndex([], "R1")).toBe(-1);
});

test("a change that is selected in part says so", () => {
  const [first] = rows;
  if (!first) throw new Error("no rows");
  expect([
    checkState(first, NOTHING),
    checkState(first, select("P11")),
    checkState(first, select("P11", "P12")),
  ]).toEqual(["none", "some", "all"]);
});

test("a selection touches whole changes and parts of others", () => {
  const { whole, partial } = selectedChanges(CHANGES, select("P12", "R2"));
  expect([whole.map(({ id }) => id), partial.map(({ id }) => id)]).toEqual([["R2"], ["R1"]]);
});

test("selecting a change selects its findings, and again deselects them", () => {
  const once = toggleRows(NOTHING, rows.slice(0, 1));
  expect(targetsOf(once)).toEqual({ ids: [], changes: ["R1"], without: [] });
  expect(toggleRows(once, rows.slice(0, 1)).size).toBe(0);
});

test("selecting a change that is selected in part selects the rest", () => {
  expect(targetsOf(toggleRows(select("P12"), rows.slice(0, 1)))).toEqual({ ids: [], changes: ["R1"], without: [] });
});

test("a finding removed from a selected change is its only exception, also among findings that were not loaded", () => {
  const large = { ...change("R7", ["P71", "P72"]), traces: 8000 };
  const [whole, first] = layOutRows([large], ["R7"]);
  if (!whole || !first) throw new Error("no rows");
  const but = toggleRows(toggleRows(NOTHING, [whole]), [first]);
  expect(targetsOf(but)).toEqual({ ids: [], changes: ["R7"], without: ["P71"] });
  expect([checkState(whole, but), checkState(first, but)]).toEqual(["some", "none"]);
});

test("a key press decides about the selection, or about the current row", () => {
  expect(targetsOf(decisionTargets(rows, "R1", select("R2")))).toEqual({ ids: [], changes: ["R2"], without: [] });
  expect(targetsOf(decisionTargets(rows, "P12", NOTHING))).toEqual({ ids: ["P12"], changes: [], without: [] });
});

test("after a decision the keyboard is on the next row that stays, or on the one before", () => {
  expect(nextRemainingRow(rows, "R1", select("R1"))).toBe("R2");
  expect(nextRemainingRow(rows, "R2", select("R2"))).toBe("P12");
  expect(nextRemainingRow(rows, "R1", select("R1", "R2"))).toBe("");
});

test("a row that left while another page was open leaves the keyboard to the next one that is still there", () => {
  const before = ["R0", "R1", "P11", "P12", "R2"];
  expect(nearestRemainingRow(rows, "P11", before)).toBe("P11");
  expect(nearestRemainingRow(layOutRows(CHANGES, []), "P11", before)).toBe("R2");
  expect(nearestRemainingRow(layOutRows(CHANGES.slice(0, 1), []), "R2", before)).toBe("R1");
  expect(nearestRemainingRow(rows, "unknown", before)).toBe("unknown");
});

test("a finding that was not loaded yet stands in the place of the one before it", () => {
  expect(
    nearestRemainingRow(layOutRows([change("R1", ["P12"]), change("R2", ["P21"])], ["R1"]), "P11", ["R1", "P11", "R2"]),
  ).toBe("P12");
});

test("the reasons why selected findings are held back are given once each", () => {
  const held = { ...change("R3", ["P31", "P32"]), held: "canary loop moved" };
  const partly = { ...change("R4", []), held: "", traces: 2 };
  partly.members = [
    { id: "P41", held: "canary loop moved" },
    { id: "P42", held: "" },
  ] as Finding[];
  const all = toggleRows(NOTHING, layOutRows([held, partly], []), true);
  expect(heldReasons([held, partly], all)).toEqual(["canary loop moved"]);
  expect(heldReasons([partly], new Map([["R4", { whole: false, ids: new Set(["P42"]) }]]))).toEqual([]);
});
