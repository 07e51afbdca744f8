/** What the plot of a trace shows, from what the server answered. */

import type { ChangePoints, Explanation, Finding, MissedChange, Trace, WithoutValue } from "../../api/client";
import type { Series } from "../../api/series";
import type { ChartCandidate, ChartLine, ChartMark } from "../../charts/chart-data";
import type { TraceRoute } from "../../routes/trace";
import { traceText } from "../../text/trace-names";
import { failureMarks, markOf, type FailureMark } from "./context";
import { missedMarks } from "./missed";

/** Whether values are asked for of the same trace, line and number of the samples, and only of another range. */
export function isSameTrace(before: readonly unknown[], now: readonly unknown[]): boolean {
  return before.slice(0, 3).every((value, at) => value === now[at]);
}

/** The single line of the plot. */
export function linesOf(trace: Trace | undefined, series: Series | undefined): readonly ChartLine[] {
  if (!trace || !series) return [];
  const { id, params, unit } = trace;
  return [{ id, label: traceText(params), unit, positions: series.positions, values: series.values }];
}

/** What the plot shows instead of medians, with its stable regions; undefined for medians. */
export type PlottedSummary = ChangePoints["summaries"][number];

/** What the route says, else what the change at the pinned commit was found in, else what all changes were found in. */
export function plottedSummary(
  changes: ChangePoints | undefined,
  { summary, commit }: Pick<TraceRoute, "summary" | "commit">,
): PlottedSummary | undefined {
  if (!changes || summary) return changes?.summaries.find((each) => each.summary === summary);
  const pinned = changes.change_points.filter(({ suspect_range: range }) => range.position === commit);
  const about = pinned.length > 0 ? pinned : changes.change_points;
  return changes.summaries.find(
    ({ change_points: ids }) => about.length > 0 && about.every(({ id }) => ids.includes(id)),
  );
}

export function withRegions(
  changes: ChangePoints | undefined,
  plotted: PlottedSummary | undefined,
): ChangePoints | undefined {
  return changes && plotted ? { ...changes, regions: plotted.regions } : changes;
}

/** The findings to mark: those that stand, and where asked for those that are gone. */
export function findingsOf(changes: ChangePoints | undefined, gone: boolean): readonly Finding[] {
  return [...(changes?.change_points ?? []), ...(gone ? (changes?.gone ?? []) : [])];
}

/** The marks of the plot; the interval of a change is only drawn among the values that it was found in. */
export function marksOf(
  findings: readonly Finding[],
  statements: ChangePoints["statements"] | undefined,
  missed: readonly MissedChange[],
  summaries: readonly PlottedSummary[],
  plotted: PlottedSummary | undefined,
): readonly ChartMark[] {
  const isAmong = (id: string) => summaries.find(({ change_points: found }) => found.includes(id)) === plotted;
  const marks = findings.flatMap((finding) => markOf(finding, statements?.[finding.change ?? ""]) ?? []);
  return [
    ...marks.map((mark) => (isAmong(mark.id) ? mark : { ...mark, interval: undefined, sides: undefined })),
    ...missedMarks(missed),
  ];
}

export function failuresOf(
  runs: readonly WithoutValue[] | undefined,
  series: Series | undefined,
): readonly FailureMark[] {
  return failureMarks(runs ?? [], series?.positions ?? []);
}

export function candidatesOf(explanation: Explanation | undefined): readonly ChartCandidate[] {
  return explanation?.candidates ?? [];
}
