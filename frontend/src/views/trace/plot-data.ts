/** What the plot of a trace shows, from what the server answered. */

import type { Changes, Explanation, Finding, MissedChange, Trace, WithoutValue } from "../../api/client";
import type { Series } from "../../api/series";
import type { ChartCandidate, ChartLine, ChartMark } from "../../charts/chart-data";
import { traceText } from "../../text/trace-names";
import { failureMarks, markOf, type FailureMark } from "./context";
import { missedMarks } from "./missed";

/** The single line of the plot. */
export function linesOf(trace: Trace | undefined, series: Series | undefined): readonly ChartLine[] {
  if (!trace || !series) return [];
  const { id, params, unit } = trace;
  return [{ id, label: traceText(params), unit, positions: series.positions, values: series.values }];
}

/** The findings to mark: those that stand, and where asked for those that are gone. */
export function findingsOf(changes: Changes | undefined, gone: boolean): readonly Finding[] {
  return [...(changes?.changes ?? []), ...(gone ? (changes?.gone ?? []) : [])];
}

export function marksOf(findings: readonly Finding[], missed: readonly MissedChange[]): readonly ChartMark[] {
  return [...findings.flatMap((finding) => markOf(finding) ?? []), ...missedMarks(missed)];
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
