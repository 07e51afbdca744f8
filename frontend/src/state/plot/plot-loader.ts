/** Load what the explore page plots: values of traces, results of formulas, and the commits that they share. */

import { api, toApiError, type ApiError, type Formula, type Trace } from "../../api/client";
import type { Series } from "../../api/series";
import type { ChartLine, ChartRange } from "../../charts/chart-data";
import { commonParams, formulaText, traceText } from "../../text/trace-names";
import { CommitCache } from "./commit-cache";
import { ValueCache } from "./value-cache";

/** The most lines of one plot; with more of them no line can be followed. */
export const MAX_LINES = 16;

export interface PlotSelection {
  traces: readonly number[];
  formulas: readonly string[];
}

export interface PlottedLine extends ChartLine {
  /** The trace; undefined for a line that a formula made. */
  trace: Trace | undefined;
  /** The formula that made the line; "" for a trace. */
  formula: string;
  /** The full name, for tooltips. */
  title: string;
}

export interface FormulaFailure {
  formula: string;
  error: ApiError;
}

export interface Plot {
  lines: readonly PlottedLine[];
  /** How many selected lines the plot leaves out. */
  omitted: number;
  failures: readonly FormulaFailure[];
  /** The times of the commits on the line, in seconds, by position. */
  times: Float64Array;
  commits: CommitCache | undefined;
}

export interface PlotRequest {
  repository: string;
  selection: PlotSelection;
  range: ChartRange | undefined;
  /** Traces that are known, and need no request. */
  known: readonly Trace[];
}

type FormulaResult = { formula: string; traces: Formula["traces"] } | FormulaFailure;

export const EMPTY_PLOT: Plot = { lines: [], omitted: 0, failures: [], times: new Float64Array(), commits: undefined };

export class PlotLoader {
  private readonly values = new ValueCache();
  private readonly formulas = new Map<string, Promise<Formula>>();
  private shortcut: (PlotSelection & { id: string }) | undefined;
  private line: Pick<Plot, "times" | "commits"> = EMPTY_PLOT;

  /** What a route selects: itself, or what its shortcut stands for; nothing until that is loaded. */
  selectionOf(route: PlotSelection & { keys: string }): PlotSelection {
    if (!route.keys) return route;
    return this.shortcut?.id === route.keys ? this.shortcut : { traces: [], formulas: [] };
  }

  async loadShortcut(repository: string, id: string, signal: AbortSignal): Promise<void> {
    if (!id || this.shortcut?.id === id) return;
    const { traces, formulas } = await api.shortcut(repository, id, signal);
    this.shortcut = { id, traces: traces.map((trace) => trace.id), formulas };
  }

  async load({ repository, selection, range, known }: PlotRequest, signal: AbortSignal): Promise<Plot> {
    const ids = selection.traces.slice(0, MAX_LINES);
    const knownById = new Map(known.map((trace) => [trace.id, trace]));
    const [traces, series, results] = await Promise.all([
      Promise.all(ids.map(async (id) => knownById.get(id) ?? api.trace(id, signal))),
      ids.length > 0 ? this.values.fetch(ids, "", range, signal) : [],
      Promise.all(selection.formulas.map((formula) => this.calculate(repository, formula))),
    ]);
    const failures = results.filter((result) => "error" in result);
    const calculated = results.flatMap((result) => ("error" in result ? [] : calculatedLines(result)));
    // Lines of formulas have negative ids, so that they never equal those of traces.
    const formulaLines = calculated.map((line, index) => ({ ...line, id: -1 - index }));
    const lines = [...traceLines(traces, series), ...formulaLines];
    const omitted = selection.traces.length - ids.length + Math.max(lines.length - MAX_LINES, 0);
    const { times, commits } = await this.loadLine(traces[0]?.repository ?? repository, signal);
    return { lines: lines.slice(0, MAX_LINES), omitted, failures, times, commits };
  }

  /** Load the times of the commits, once for each repository. */
  private async loadLine(repository: string, signal: AbortSignal): Promise<Pick<Plot, "times" | "commits">> {
    if (this.line.commits?.repository !== repository) {
      const times = await api.times(repository, "", signal);
      this.line = { times, commits: new CommitCache(repository, "") };
    }
    return this.line;
  }

  /** Calculate a formula, once: its result covers the whole line and does not depend on the zoom. */
  private async calculate(repository: string, formula: string): Promise<FormulaResult> {
    const key = `${repository} ${formula}`;
    const result = this.formulas.get(key) ?? api.formula(repository, formula, MAX_LINES);
    this.formulas.set(key, result);
    try {
      return { formula, traces: (await result).traces };
    } catch (thrown) {
      this.formulas.delete(key);
      return { formula, error: toApiError(thrown) };
    }
  }
}

function traceLines(traces: readonly Trace[], series: readonly Series[]): PlottedLine[] {
  const common = commonParams(traces.map((trace) => trace.params));
  const empty = new Float64Array();
  return traces.map((trace, index) => ({
    id: trace.id,
    label: traceText(trace.params, common),
    title: traceText(trace.params),
    unit: trace.unit,
    positions: series[index]?.positions ?? empty,
    values: series[index]?.values ?? empty,
    trace,
    formula: "",
  }));
}

function calculatedLines(result: { formula: string; traces: Formula["traces"] }): Omit<PlottedLine, "id">[] {
  return result.traces.map((trace) => ({
    label: formulaText(trace.id),
    title: formulaText(trace.id),
    unit: trace.unit,
    positions: Float64Array.from(trace.positions),
    values: Float64Array.from(trace.values),
    trace: undefined,
    formula: result.formula,
  }));
}
