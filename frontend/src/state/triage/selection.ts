/**
 * The selected findings: single findings of a regression, or the whole regression without some.
 *
 * A regression may have thousands of findings of which the page has loaded a few, so a selection names the exceptions
 * instead of listing all ids.
 */

import type { ListFilter, Regression, Targets } from "../../api/client";

export interface SelectedFindings {
  /** True: all findings of the regression but `ids`. False: only `ids`. */
  readonly whole: boolean;
  readonly ids: ReadonlySet<number>;
}

/** By id of the regression. */
export type Selection = ReadonlyMap<number, SelectedFindings>;

export const NOTHING: Selection = new Map();

export function selectRegression(regression: Regression): Selection {
  return new Map([[regression.id, { whole: true, ids: new Set<number>() }]]);
}

export function selectFinding(regression: Regression, finding: number): Selection {
  return new Map([[regression.id, { whole: false, ids: new Set([finding]) }]]);
}

/** One finding whose regression is not known, as on the page of a trace. */
export function selectById(finding: number): Selection {
  return new Map([[0, { whole: false, ids: new Set([finding]) }]]);
}

/** How many findings of a regression are selected. */
export function countSelectedIn(regression: Regression, selection: Selection): number {
  const selected = selection.get(regression.id);
  if (!selected) return 0;
  return selected.whole ? Math.max(regression.traces - selected.ids.size, 0) : selected.ids.size;
}

export function countSelected(regressions: readonly Regression[], selection: Selection): number {
  return regressions.reduce((sum, regression) => sum + countSelectedIn(regression, selection), 0);
}

/** Why selected findings are held back, each reason once; of findings that are not loaded their regression knows it. */
export function heldReasons(regressions: readonly Regression[], selection: Selection): string[] {
  const reasons = selectedRegressions(regressions, selection)
    .whole.map((regression) => regression.held)
    .concat(
      regressions.flatMap((regression) =>
        regression.members.filter(({ id }) => isSelected(regression, id, selection)).map(({ held }) => held),
      ),
    );
  return [...new Set(reasons.filter(Boolean))];
}

export function isSelected(regression: Regression, finding: number, selection: Selection): boolean {
  const selected = selection.get(regression.id);
  return selected !== undefined && selected.whole !== selected.ids.has(finding);
}

/** The selection with a whole regression added or removed. */
export function withRegression(selection: Selection, regression: Regression, add: boolean): Selection {
  const next = new Map(selection);
  if (add) next.set(regression.id, { whole: true, ids: new Set() });
  else next.delete(regression.id);
  return next;
}

/** The selection with one finding added or removed. */
export function withFinding(selection: Selection, regression: Regression, finding: number, add: boolean): Selection {
  const before = selection.get(regression.id) ?? { whole: false, ids: new Set<number>() };
  const ids = new Set(before.ids);
  // In a whole regression the ids are the exceptions: adding a finding removes its id.
  if (add === before.whole) ids.delete(finding);
  else ids.add(finding);
  const selected = { whole: before.whole, ids };
  const number = countSelectedIn(regression, new Map([[regression.id, selected]]));
  if (number === 0 || number === regression.traces) return withRegression(selection, regression, number > 0);
  return new Map([...selection, [regression.id, selected]]);
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

/** The regressions that are selected: as a whole, and in part. */
export function selectedRegressions(
  regressions: readonly Regression[],
  selection: Selection,
): { whole: Regression[]; partial: Regression[] } {
  const touched = regressions.filter((regression) => countSelectedIn(regression, selection) > 0);
  const whole = touched.filter((regression) => countSelectedIn(regression, selection) === regression.traces);
  return { whole, partial: touched.filter((regression) => !whole.includes(regression)) };
}

/** The part of a selection that lies in some regressions. */
export function selectionWithin(selection: Selection, regressions: readonly Regression[]): Selection {
  const present = new Set(regressions.map((regression) => regression.id));
  return new Map([...selection].filter(([id]) => present.has(id)));
}

/** A selection as the API takes it; `filter` names the list that it was made on. */
export function toTargets(selection: Selection, filter: ListFilter): Targets {
  const entries = [...selection];
  const ids = (whole: boolean): number[] =>
    entries.filter(([, selected]) => selected.whole === whole).flatMap(([, selected]) => [...selected.ids]);
  return {
    ids: ids(false),
    regressions: entries.filter(([, selected]) => selected.whole).map(([id]) => id),
    without: ids(true),
    filter,
  };
}
