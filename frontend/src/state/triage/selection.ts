/**
 * The selected findings: single findings of a change, or the whole change without some.
 *
 * A change may have thousands of findings of which the page has loaded a few, so a selection names the exceptions
 * instead of listing all ids.
 */

import type { ListFilter, Change, Targets } from "../../api/client";

export interface SelectedFindings {
  /** True: all findings of the change but `ids`. False: only `ids`. */
  readonly whole: boolean;
  readonly ids: ReadonlySet<string>;
}

/** By id of the change. */
export type Selection = ReadonlyMap<string, SelectedFindings>;

export const NOTHING: Selection = new Map();

export function selectChange(change: Change): Selection {
  return new Map([[change.id, { whole: true, ids: new Set<string>() }]]);
}

export function selectFinding(change: Change, finding: string): Selection {
  return new Map([[change.id, { whole: false, ids: new Set([finding]) }]]);
}

/** One finding whose change is not known, as on the page of a trace. */
export function selectById(finding: string): Selection {
  return new Map([["", { whole: false, ids: new Set([finding]) }]]);
}

/** How many findings of a change are selected. */
export function countSelectedIn(change: Change, selection: Selection): number {
  const selected = selection.get(change.id);
  if (!selected) return 0;
  return selected.whole ? Math.max(change.traces - selected.ids.size, 0) : selected.ids.size;
}

export function countSelected(changes: readonly Change[], selection: Selection): number {
  return changes.reduce((sum, change) => sum + countSelectedIn(change, selection), 0);
}

/** Why selected findings are held back, each reason once; of findings that are not loaded their change knows it. */
export function heldReasons(changes: readonly Change[], selection: Selection): string[] {
  const reasons = selectedChanges(changes, selection)
    .whole.map((change) => change.held)
    .concat(
      changes.flatMap((change) =>
        change.members.filter(({ id }) => isSelected(change, id, selection)).map(({ held }) => held),
      ),
    );
  return [...new Set(reasons.filter(Boolean))];
}

export function isSelected(change: Change, finding: string, selection: Selection): boolean {
  const selected = selection.get(change.id);
  return selected !== undefined && selected.whole !== selected.ids.has(finding);
}

/** The selection with a whole change added or removed. */
export function withChange(selection: Selection, change: Change, add: boolean): Selection {
  const next = new Map(selection);
  if (add) next.set(change.id, { whole: true, ids: new Set() });
  else next.delete(change.id);
  return next;
}

/** The selection with one finding added or removed. */
export function withFinding(selection: Selection, change: Change, finding: string, add: boolean): Selection {
  const before = selection.get(change.id) ?? { whole: false, ids: new Set<string>() };
  const ids = new Set(before.ids);
  // In a whole change the ids are the exceptions: adding a finding removes its id.
  if (add === before.whole) ids.delete(finding);
  else ids.add(finding);
  const selected = { whole: before.whole, ids };
  const number = countSelectedIn(change, new Map([[change.id, selected]]));
  if (number === 0 || number === change.traces) return withChange(selection, change, number > 0);
  return new Map([...selection, [change.id, selected]]);
}

/** What stays selected after the findings `removed` left the list. */
export function withoutSelection(selection: Selection, removed: Selection): Selection {
  const next = new Map(selection);
  for (const [id, { whole, ids }] of removed) {
    const before = selection.get(id);
    const left = before && !before.whole && !whole ? [...before.ids].filter((finding) => !ids.has(finding)) : [];
    if (left.length > 0) next.set(id, { whole: false, ids: new Set(left) });
    else next.delete(id);
  }
  return next;
}

/** The changes that are selected: as a whole, and in part. */
export function selectedChanges(
  changes: readonly Change[],
  selection: Selection,
): { whole: Change[]; partial: Change[] } {
  const touched = changes.filter((change) => countSelectedIn(change, selection) > 0);
  const whole = touched.filter((change) => countSelectedIn(change, selection) === change.traces);
  return { whole, partial: touched.filter((change) => !whole.includes(change)) };
}

/** The part of a selection that lies in some changes. */
export function selectionWithin(selection: Selection, changes: readonly Change[]): Selection {
  const present = new Set(changes.map((change) => change.id));
  return new Map([...selection].filter(([id]) => present.has(id)));
}

/** A selection as the API takes it; `filter` names the list that it was made on. */
export function toTargets(selection: Selection, filter: ListFilter): Targets {
  const entries = [...selection];
  const ids = (whole: boolean): string[] =>
    entries.filter(([, selected]) => selected.whole === whole).flatMap(([, selected]) => [...selected.ids]);
  return {
    ids: ids(false),
    changes: entries.filter(([, selected]) => selected.whole).map(([id]) => id),
    without: ids(true),
    filter,
  };
}

/** A selection as plain lists, for what keeps it as JSON. */
export function formatSelection(selection: Selection): [string, boolean, string[]][] {
  return [...selection].map(([id, { whole, ids }]) => [id, whole, [...ids]]);
}

/** The selection of `formatSelection`; none of anything else. */
export function parseSelection(kept: unknown): Selection {
  if (!Array.isArray(kept)) return NOTHING;
  return new Map((kept as [string, boolean, string[]][]).map(([id, whole, ids]) => [id, { whole, ids: new Set(ids) }]));
}
