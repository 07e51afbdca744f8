/**
 * Change a list by what a decision did to it, without reading the list again.
 *
 * A page may list thousands of findings and a person decides every second, so the server answers a decision with the
 * changes that it touched, and these functions put them into the list.
 */

import type { Finding, Change, ChangeList, Triage } from "../../api/client";
import type { Tab } from "../../routes/triage";
import { countSelectedIn, isSelected, type Selection } from "./selection";

/** The changes without the findings of a selection; a change without findings goes as well. */
export function withoutFindings(changes: readonly Change[], leaving: Selection): Change[] {
  return changes.flatMap((change) => {
    const number = countSelectedIn(change, leaving);
    if (number === 0) return [change];
    const members = change.members.filter((finding) => !isSelected(change, finding.id, leaving));
    const traces = change.traces - number;
    // The server sorts findings by severity, so the first that stays takes over the lead.
    const leadStays = members.some((finding) => finding.id === change.lead);
    const lead = leadStays ? change.lead : (members[0]?.id ?? change.lead);
    return traces > 0 ? [{ ...change, members, traces, lead }] : [];
  });
}

/** What a decision writes on a finding. */
export type FindingPatch = Partial<Pick<Finding, "status" | "note" | "ticket" | "assignee">>;

/** The changes with a patch applied to the findings of a selection. */
export function patchFindings(changes: readonly Change[], selection: Selection, patch: FindingPatch): Change[] {
  return changes.map((change) => {
    if (countSelectedIn(change, selection) === 0) return change;
    const members = change.members.map((finding) =>
      isSelected(change, finding.id, selection) ? { ...finding, ...patch } : finding,
    );
    return { ...change, members };
  });
}

/** Insert changes where they were: each before the first one that followed it in `order`, else at the end. */
export function insertInOrder(
  changes: readonly Change[],
  returning: readonly Change[],
  order: readonly string[],
): Change[] {
  const rank = new Map(order.map((id, index) => [id, index]));
  const next = [...changes];
  for (const change of returning) {
    const former = rank.get(change.id) ?? Infinity;
    const at = next.findIndex((other) => (rank.get(other.id) ?? -1) > former);
    next.splice(at < 0 ? next.length : at, 0, change);
  }
  return next;
}

/**
 * A change as the server has it now, with the findings that were loaded before: the server sends the first ones only.
 *
 * Findings that came back may be among those that the server did not send: a list that has more than its first findings
 * of a change that grew is read again.
 */
function keepLoadedFindings(before: Change, now: Change): Change {
  const first = new Set(now.members.map(({ id }) => id));
  return { ...now, members: [...now.members, ...before.members.filter(({ id }) => !first.has(id))] };
}

/** The ids of changes that have more findings now, and how many, where more were loaded than the server sent. */
export function grownChanges(before: readonly Change[], now: readonly Change[]): [string, number][] {
  const known = new Map(before.map((change) => [change.id, change]));
  return now.flatMap(({ id, members, traces }) => {
    const old = known.get(id);
    return old && traces > old.traces && old.members.length > members.length ? [[id, traces - old.traces]] : [];
  });
}

/** The list after a decision. `order` has the ids as they were listed before it, for changes that return. */
export function patchList(list: ChangeList, answer: Triage, tab: Tab, order: readonly string[]): ChangeList {
  const changed = new Map(answer.changes.map((change) => [change.id, change]));
  const left = new Set(answer.left);
  // Changes that stay, as the decision left them
  const staying = list.changes
    .filter((change) => !left.has(change.id))
    .map((change) => {
      const now = changed.get(change.id);
      return now ? keepLoadedFindings(change, now) : change;
    });
  // Changes that the decision brought back
  const listed = new Set(staying.map((change) => change.id));
  const returning = answer.changes.filter((change) => !listed.has(change.id));
  return {
    ...list,
    changes: insertInOrder(staying, returning, order),
    total: answer[tab],
    unprocessed: answer.unprocessed,
    history: answer.history,
    processed: answer.processed,
    all: answer.all,
    gone: answer.gone,
  };
}

/** A finding that was read again: the object of before where nothing of it changed, for which no row is rendered again. */
export function reuseFinding(now: Finding, before: Finding | undefined): Finding {
  return before && JSON.stringify(before) === JSON.stringify(now) ? before : now;
}

/**
 * A list that was read again; rows that are equal keep their objects.
 *
 * The table renders a row again only if its object is another one, and keeps the findings that were loaded.
 */
export function reuseUnchanged(changes: readonly Change[], before: readonly Change[]): Change[] {
  const known = new Map(before.map((change) => [change.id, change]));
  return changes.map((change) => {
    const old = known.get(change.id);
    if (!old) return change;
    const beginning = { ...old, members: old.members.slice(0, change.members.length) };
    return JSON.stringify(beginning) === JSON.stringify(change) ? old : change;
  });
}
