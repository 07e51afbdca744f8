/**
 * Change a list by what a decision did to it, without reading the list again.
 *
 * A page may list thousands of findings and a person decides every second, so the server answers a decision with the
 * regressions that it changed, and these functions put them into the list.
 */

import type { Finding, Regression, RegressionList, Triage } from "../../api/client";
import type { Tab } from "../../routes/triage";
import { countSelectedIn, isSelected, type Selection } from "./selection";

/** The regressions without the findings of a selection; a regression without findings goes as well. */
export function withoutFindings(regressions: readonly Regression[], leaving: Selection): Regression[] {
  return regressions.flatMap((regression) => {
    const number = countSelectedIn(regression, leaving);
    if (number === 0) return [regression];
    const members = regression.members.filter((finding) => !isSelected(regression, finding.id, leaving));
    const traces = regression.traces - number;
    // The server sorts findings by severity, so the first that stays takes over the lead.
    const leadStays = members.some((finding) => finding.id === regression.lead);
    const lead = leadStays ? regression.lead : (members[0]?.id ?? regression.lead);
    return traces > 0 ? [{ ...regression, members, traces, lead }] : [];
  });
}

/** What a decision writes on a finding. */
export type FindingPatch = Partial<Pick<Finding, "status" | "note" | "ticket" | "assignee">>;

/** The regressions with a patch applied to the findings of a selection. */
export function patchFindings(
  regressions: readonly Regression[],
  selection: Selection,
  patch: FindingPatch,
): Regression[] {
  return regressions.map((regression) => {
    if (countSelectedIn(regression, selection) === 0) return regression;
    const members = regression.members.map((finding) =>
      isSelected(regression, finding.id, selection) ? { ...finding, ...patch } : finding,
    );
    return { ...regression, members };
  });
}

/** Insert regressions where they were: each before the first one that followed it in `order`, else at the end. */
export function insertInOrder(
  regressions: readonly Regression[],
  returning: readonly Regression[],
  order: readonly number[],
): Regression[] {
  const rank = new Map(order.map((id, index) => [id, index]));
  const next = [...regressions];
  for (const regression of returning) {
    const former = rank.get(regression.id) ?? Infinity;
    const at = next.findIndex((other) => (rank.get(other.id) ?? -1) > former);
    next.splice(at < 0 ? next.length : at, 0, regression);
  }
  return next;
}

/**
 * A regression as the server has it now, with the findings that were loaded before: the server sends the first ones only.
 *
 * Findings that came back may be among those that the server did not send: a list that has more than its first findings
 * of a regression that grew is read again.
 */
function keepLoadedFindings(before: Regression, now: Regression): Regression {
  const first = new Set(now.members.map(({ id }) => id));
  return { ...now, members: [...now.members, ...before.members.filter(({ id }) => !first.has(id))] };
}

/** The ids of regressions that have more findings now, and how many, where more were loaded than the server sent. */
export function grownRegressions(before: readonly Regression[], now: readonly Regression[]): [number, number][] {
  const known = new Map(before.map((regression) => [regression.id, regression]));
  return now.flatMap(({ id, members, traces }) => {
    const old = known.get(id);
    return old && traces > old.traces && old.members.length > members.length ? [[id, traces - old.traces]] : [];
  });
}

/** The list after a decision. `order` has the ids as they were listed before it, for regressions that return. */
export function patchList(list: RegressionList, answer: Triage, tab: Tab, order: readonly number[]): RegressionList {
  const changed = new Map(answer.groups.map((regression) => [regression.id, regression]));
  const left = new Set(answer.left);
  // Regressions that stay, as the decision left them
  const staying = list.groups
    .filter((regression) => !left.has(regression.id))
    .map((regression) => {
      const now = changed.get(regression.id);
      return now ? keepLoadedFindings(regression, now) : regression;
    });
  // Regressions that the decision brought back
  const listed = new Set(staying.map((regression) => regression.id));
  const returning = answer.groups.filter((regression) => !listed.has(regression.id));
  return {
    ...list,
    groups: insertInOrder(staying, returning, order),
    groups_total: answer[tab],
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
 * A list that was read again, with the objects of the list before for regressions that did not change.
 *
 * The table renders a row again only if its object is another one, and keeps the findings that were loaded.
 */
export function reuseUnchanged(regressions: readonly Regression[], before: readonly Regression[]): Regression[] {
  const known = new Map(before.map((regression) => [regression.id, regression]));
  return regressions.map((regression) => {
    const old = known.get(regression.id);
    if (!old) return regression;
    const beginning = { ...old, members: old.members.slice(0, regression.members.length) };
    return JSON.stringify(beginning) === JSON.stringify(regression) ? old : regression;
  });
}
