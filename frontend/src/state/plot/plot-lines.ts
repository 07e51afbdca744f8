/** What a plot of several traces and formulas shows: names, units, values. */

import { api, shown, type ApiError, type Formula, type Trace } from "../../api/client";
import type { Series } from "../../api/series";
import type { ChartLine, ChartRange } from "../../charts/chart-data";
import { commonParams, formulaText, traceText } from "../../text/trace-names";
import { ValueSource } from "./value-cache";

/** Lines that one plot can bear. */
export const MOST_LINES = 16;

export interface Chosen {
  traces: readonly number[];
  formulas: readonly string[];
}

export interface PlottedLine extends ChartLine {
  /** The stored trace, or undefined where the line is calculated. */
  trace: Trace | undefined;
  /** The formula that it was calculated by, "" for a stored trace. */
  formula: string;
  /** The name in full, for those who ask. */
  title: string;
}

export interface Plotted {
  lines: readonly PlottedLine[];
  /** Lines that are asked for beyond those that one plot can bear. */
  omitted: number;
  failures: readonly { formula: string; error: ApiError }[];
}

/** Fetch what is plotted, and keep what formulas gave. */
export class PlotSource {
  private readonly values = new ValueSource();
  private readonly calculated = new Map<string, Promise<Formula>>();
  private kept: (Chosen & { id: string }) | undefined;

  /** What an address says, or what its short id stands for; nothing while that is not known. */
  chosen(address: Chosen & { keys: string }): Chosen {
    if (!address.keys) return address;
    return this.kept?.id === address.keys ? this.kept : { traces: [], formulas: [] };
  }

  /** Read what a short id stands for. */
  async open(repository: string, keys: string, signal: AbortSignal): Promise<void> {
    if (!keys || this.kept?.id === keys) return;
    const found = await api.shortcut(repository, keys, signal);
    this.kept = { id: keys, traces: found.traces.map((trace) => trace.id), formulas: found.formulas };
  }

  async fetch(
    repository: string,
    chosen: Chosen,
    known: readonly Trace[],
    range: ChartRange | undefined,
    signal: AbortSignal,
  ): Promise<Plotted> {
    const ids = chosen.traces.slice(0, MOST_LINES);
    const have = new Map(known.map((trace) => [trace.id, trace]));
    const [traces, series, answers] = await Promise.all([
      Promise.all(ids.map(async (id) => have.get(id) ?? api.trace(id, signal))),
      ids.length > 0 ? this.values.fetch(ids, "", range, signal) : [],
      Promise.all(chosen.formulas.map((formula) => this.calculate(repository, formula))),
    ]);
    const failures = answers.flatMap((answer) => ("error" in answer ? [answer] : []));
    const given = answers.flatMap((answer) =>
      "error" in answer ? [] : answer.traces.map((trace) => ({ trace, formula: answer.formula })),
    );
    const lines = linesOf(traces, series, given);
    const omitted = chosen.traces.length - ids.length + Math.max(lines.length - MOST_LINES, 0);
    return { lines: lines.slice(0, MOST_LINES), omitted, failures };
  }

  private async calculate(
    repository: string,
    formula: string,
  ): Promise<{ formula: string; traces: Formula["traces"] } | { formula: string; error: ApiError }> {
    const name = `${repository} ${formula}`;
    const asked = this.calculated.get(name) ?? api.formula(repository, formula, MOST_LINES);
    this.calculated.set(name, asked);
    try {
      return { formula, traces: (await asked).traces };
    } catch (thrown) {
      this.calculated.delete(name);
      return { formula, error: shown(thrown) };
    }
  }
}

function linesOf(
  traces: readonly Trace[],
  series: readonly Series[],
  given: readonly { trace: Formula["traces"][number]; formula: string }[],
): PlottedLine[] {
  const common = commonParams(traces.map((trace) => trace.params));
  const none = new Float64Array();
  const stored = traces.map((trace, index): PlottedLine => ({
    id: trace.id,
    label: traceText(trace.params, common),
    title: traceText(trace.params),
    unit: trace.unit,
    positions: series[index]?.positions ?? none,
    values: series[index]?.values ?? none,
    trace,
    formula: "",
  }));
  const calculated = given.map(({ trace, formula }, index): PlottedLine => ({
    id: -1 - index,
    label: formulaText(trace.id),
    title: formulaText(trace.id),
    unit: trace.unit,
    positions: Float64Array.from(trace.positions),
    values: Float64Array.from(trace.values),
    trace: undefined,
    formula,
  }));
  return [...stored, ...calculated];
}
