/** The rows of the triage table: which are shown, where the keyboard is, and which findings a row stands for. */

import type { Finding, Change } from "../../api/client";
import {
  countSelectedIn,
  isSelected,
  NOTHING,
  selectFinding,
  selectChange,
  withFinding,
  withChange,
  type Selection,
} from "./selection";

export interface ChangeRow {
  kind: "change";
  id: string;
  change: Change;
  expanded: boolean;
}

export interface FindingRow {
  kind: "finding";
  id: string;
  change: Change;
  finding: Finding;
}

export type Row = ChangeRow | FindingRow;

/** A row for each change, followed by the rows of its findings where it is expanded. */
export function layOutRows(changes: readonly Change[], open: readonly string[]): Row[] {
  const rows: Row[] = [];
  for (const change of changes) {
    const expanded = open.includes(change.id);
    rows.push({ kind: "change", id: change.id, change, expanded });
    if (!expanded) continue;
    for (const finding of change.members) rows.push({ kind: "finding", id: finding.id, change, finding });
  }
  return rows;
}

/** The finding that a row shows: its own, or the lead of its change, which is undefined until it is loaded. */
export function memberOf(row: Row): Finding | undefined {
  if (row.kind === "finding") return row.finding;
  const { members, lead } = row.change;
  return members.find((finding) => finding.id === lead) ?? members[0];
}

/** The findings that a row stands for. */
export function selectionOfRow(row: Row): Selection {
  return row.kind === "change" ? selectChange(row.change) : selectFinding(row.change, row.finding.id);
}

/** The index of the row with the keyboard: the first one if that row is gone, −1 without rows. */
export function cursorIndex(rows: readonly Row[], at: string): number {
  if (rows.length === 0) return -1;
  const index = rows.findIndex((row) => row.id === at);
  return Math.max(index, 0);
}

/** The id of the row `by` steps away from `at`; it stops at both ends of the table. */
export function stepRow(rows: readonly Row[], at: string, by: number): string {
  const from = rows.findIndex((row) => row.id === at);
  const to = from < 0 ? (by > 0 ? 0 : rows.length - 1) : Math.min(Math.max(from + by, 0), rows.length - 1);
  return rows[to]?.id ?? "";
}

/** The id of the row of the next or the previous commit; from a finding, the previous one is its own. */
export function stepCommit(rows: readonly Row[], at: string, by: number): string {
  const from = cursorIndex(rows, at);
  const isCommit = ({ kind }: Row): boolean => kind === "change";
  const found = by > 0 ? rows.slice(from + 1).find(isCommit) : rows.slice(0, Math.max(from, 0)).findLast(isCommit);
  return found?.id ?? at;
}

/** The rows from one to another, in the order of the table; one that is not there counts as the first. */
export function rowsBetween(rows: readonly Row[], one: string, other: string): Row[] {
  const ends = [one, other].map((id) =>
    Math.max(
      0,
      rows.findIndex((row) => row.id === id),
    ),
  );
  return rows.slice(Math.min(...ends), Math.max(...ends) + 1);
}

/** The row to move to when the findings `leaving` leave: the next one that stays, else the one before. */
export function nextRemainingRow(rows: readonly Row[], at: string, leaving: Selection): string {
  const stays = (row: Row): boolean =>
    row.kind === "change"
      ? countSelectedIn(row.change, leaving) < row.change.traces
      : !isSelected(row.change, row.finding.id, leaving);
  const from = cursorIndex(rows, at);
  const next = rows.slice(from).find(stays) ?? rows.slice(0, Math.max(from, 0)).findLast(stays);
  return next?.id ?? "";
}

/**
 * The row to be on after rows left while the page showed something else.
 *
 * `before` are the ids of the rows as they were last shown. The answer is `at` itself if its row is still there, else
 * the row that stands in its place now: after the nearest one before it that remains. That may be one that had not
 * been loaded. Where nothing stands there, it is that nearest one.
 */
export function nearestRemainingRow(rows: readonly Row[], at: string, before: readonly string[]): string {
  const places = new Map(rows.map((row, place) => [row.id, place]));
  const from = before.indexOf(at);
  if (places.has(at) || from < 0) return at;
  const above = before.slice(0, from).findLast((id) => places.has(id));
  const place = above === undefined ? -1 : (places.get(above) ?? -1);
  return (rows[place + 1] ?? rows[place])?.id ?? "";
}

export type CheckState = "all" | "some" | "none";

/** Whether all, some or none of the findings of a row are selected. */
export function checkState(row: Row, selection: Selection): CheckState {
  if (row.kind === "finding") return isSelected(row.change, row.finding.id, selection) ? "all" : "none";
  const selected = countSelectedIn(row.change, selection);
  return selected === 0 ? "none" : selected === row.change.traces ? "all" : "some";
}

/** Select the findings of some rows, or deselect them if all of them are selected; `to` says which. */
export function toggleRows(selection: Selection, rows: readonly Row[], to?: boolean): Selection {
  const add = to ?? rows.some((row) => checkState(row, selection) !== "all");
  return rows.reduce(
    (next, row) =>
      row.kind === "change" ? withChange(next, row.change, add) : withFinding(next, row.change, row.finding.id, add),
    selection,
  );
}

/** The findings that a key decides about: the selection, else the row with the keyboard. */
export function decisionTargets(rows: readonly Row[], at: string, selection: Selection): Selection {
  if (selection.size > 0) return selection;
  const row = rows[cursorIndex(rows, at)];
  return row ? selectionOfRow(row) : NOTHING;
}
