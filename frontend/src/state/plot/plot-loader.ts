/** Load what the explore page plots: values of traces, results of formulas, and the commits that they share. */

import { lowerBound } from "../../text/numbers";
import { api, toApiError, type ApiError, type Formula, type Trace } from "../../api/client";
import type { Series } from "../../api/series";
import type { ChartLine, ChartRange } from "./lines";
import { commonParams, commonText, differenceText, formulaText, traceText } from "../../text/trace-names";
import { CommitCache } from "./commit-cache";
import { ValueCache } from "./value-cache";

/** The most traces of one plot. */
export const MAX_TRACES = 1000;
/** The most lines of one formula: their values come as text. */
export const MAX_FORMULA_LINES = 16;

/** The fewest points that the server represents a trace by: its last value is always among them. */
const FEWEST_POINTS = 2;

export interface PlotSelection {
  traces: readonly number[];
  formulas: readonly string[];
  /** The query whose traces are plotted instead of `traces`. */
  plotted: string | undefined;
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
  /** What the traces share, as text. */
  common: string;
  /** How many traces are selected; the plot may have fewer. */
  selected: number;
  /** How many lines of formulas the plot leaves out. */
  omittedResults: number;
  failures: readonly FormulaFailure[];
  /** The times of the commits on the line, in seconds, by position. */
  times: Float64Array;
  commits: CommitCache | undefined;
}

export interface PlotRequest {
  repository: string;
  selection: PlotSelection;
  range: ChartRange | undefined;
  /** The position of the commit that relative values refer to. */
  base: number | undefined;
  /** Traces that are known, and need no request. */
  known: readonly Trace[];
}

type FormulaResult = { formula: string; answer: Formula } | FormulaFailure;

interface ChosenTraces {
  traces: readonly Trace[];
  /** How many there are; more than the traces if there are too many for a plot. */
  total: number;
}

export const EMPTY_PLOT: Plot = {
  lines: [],
  common: "",
  selected: 0,
  omittedResults: 0,
  failures: [],
  times: new Float64Array(),
  commits: undefined,
};

/** The times of the commits of a repository, which all plots of a page share. */
export class LineLoader {
  private line: { repository: string; loaded: Promise<Pick<Plot, "times" | "commits">> } | undefined;

  /** Load the times of the commits, once for each repository. */
  async load(repository: string): Promise<Pick<Plot, "times" | "commits">> {
    if (this.line?.repository !== repository) this.line = { repository, loaded: this.request(repository) };
    return this.line.loaded;
  }

  private async request(repository: string): Promise<Pick<Plot, "times" | "commits">> {
    try {
      return { times: await api.times(repository, ""), commits: new CommitCache(repository, "") };
    } catch (thrown) {
      if (this.line?.repository === repository) this.line = undefined;
      throw thrown;
    }
  }
}

export class PlotLoader {
  private readonly values = new ValueCache();
  private readonly bases = new ValueCache();
  private readonly formulas = new Map<string, Promise<Formula>>();
  /** The traces of a query: a zoom does not change them. */
  private found: (ChosenTraces & { key: string }) | undefined;
  private shortcut: (PlotSelection & { id: string }) | undefined;

  constructor(private readonly line: LineLoader) {}

  /** What a route selects: itself, or what its shortcut stands for; nothing until that is loaded. */
  selectionOf(route: PlotSelection & { keys: string }): PlotSelection {
    if (!route.keys) return route;
    return this.shortcut?.id === route.keys ? this.shortcut : { traces: [], formulas: [], plotted: undefined };
  }

  async loadShortcut(repository: string, id: string, signal: AbortSignal): Promise<void> {
    if (!id || this.shortcut?.id === id) return;
    const { traces, formulas } = await api.shortcut(repository, id, signal);
    this.shortcut = { id, traces: traces.map((trace) => trace.id), formulas, plotted: undefined };
  }

  async load(request: PlotRequest, signal: AbortSignal): Promise<Plot> {
    const { repository, selection, base } = request;
    // Nearly always the traces are of this repository. Whoever waits for it below gets the error.
    this.line.load(repository).catch(() => undefined);
    const [{ traces, series, total }, results] = await Promise.all([
      this.loadTraces(request, signal),
      Promise.all(selection.formulas.map((formula) => this.calculate(repository, formula))),
    ]);
    const failures = results.filter((result) => "error" in result);
    const answered = results.filter((result) => "answer" in result);
    // Lines of formulas have negative ids, so that they never equal those of traces.
    const formulaLines = answered.flatMap(calculatedLines).map((line, index) => ({ ...line, id: -1 - index }));
    const lines = formulaLines.map((line) => ({ ...line, base: base === undefined ? base : valueUntil(line, base) }));
    const bases = await this.loadBases(traces, base, signal);
    const common = commonParams(traces.map((trace) => trace.params));
    return {
      lines: [...traceLines(traces, series, common).map((line, at) => ({ ...line, base: bases[at] })), ...lines],
      common: commonText(traces[0]?.params ?? {}, common),
      selected: total,
      omittedResults: answered.reduce((sum, { answer }) => sum + answer.total - answer.traces.length, 0),
      failures,
      ...(await this.line.load(traces[0]?.repository ?? repository)),
    };
  }

  /** The values of traces at a commit, or the last ones before it; undefined for a trace that had none by then. */
  private async loadBases(
    traces: readonly Trace[],
    base: number | undefined,
    signal: AbortSignal,
  ): Promise<(number | undefined)[]> {
    if (base === undefined || traces.length === 0) return [];
    const ids = traces.map(({ id }) => id);
    const series = await this.bases.fetch(ids, "", { first: 0, last: base }, signal, FEWEST_POINTS);
    return series.map((each) => valueUntil(each, base));
  }

  private async loadTraces(
    { repository, selection, range, known }: Omit<PlotRequest, "base">,
    signal: AbortSignal,
  ): Promise<ChosenTraces & { series: readonly Series[] }> {
    const { plotted } = selection;
    if (plotted === undefined) {
      const ids = selection.traces.slice(0, MAX_TRACES);
      const [traces, series] = await Promise.all([
        loadKnown(ids, known, signal),
        this.values.fetch(ids, "", range, signal),
      ]);
      return { traces, series, total: selection.traces.length };
    }
    // Values are asked for by ids where these are known, or were others by the time of the second answer.
    const key = `${repository} ${plotted}`;
    if (this.found?.key !== key) {
      const [found] = await Promise.all([
        api.traces(repository, plotted, MAX_TRACES, signal),
        this.values.prepare(repository, plotted, MAX_TRACES, range, signal),
      ]);
      this.found = { key, ...found };
    }
    const { traces, total } = this.found;
    const ids = traces.map((trace) => trace.id);
    return { traces, total, series: await this.values.fetch(ids, "", range, signal) };
  }

  /** Forget what was found, so that the next plot has what came in since. */
  forget(): void {
    this.found = undefined;
  }

  /** Calculate a formula, once: its result covers the whole line and does not depend on the zoom. */
  private async calculate(repository: string, formula: string): Promise<FormulaResult> {
    const key = `${repository} ${formula}`;
    const result = this.formulas.get(key) ?? api.formula(repository, formula, MAX_FORMULA_LINES);
    this.formulas.set(key, result);
    try {
      return { formula, answer: await result };
    } catch (thrown) {
      this.formulas.delete(key);
      return { formula, error: toApiError(thrown) };
    }
  }
}

/** The traces of some ids; those that are not known are requested. */
async function loadKnown(ids: readonly number[], known: readonly Trace[], signal: AbortSignal): Promise<Trace[]> {
  const byId = new Map(known.map((trace) => [trace.id, trace]));
  const missing = ids.filter((id) => !byId.has(id));
  for (const trace of await api.tracesById(missing, signal)) byId.set(trace.id, trace);
  return ids.flatMap((id) => byId.get(id) ?? []);
}

/** The value at a position, or the last one before it. */
function valueUntil({ positions, values }: Pick<Series, "positions" | "values">, position: number): number | undefined {
  return values[lowerBound(positions, position + 1) - 1];
}

function traceLines(traces: readonly Trace[], series: readonly Series[], common: ReadonlySet<string>): PlottedLine[] {
  const empty = new Float64Array();
  return traces.map((trace, index) => ({
    id: trace.id,
    label: differenceText(trace.params, common),
    title: traceText(trace.params),
    unit: trace.unit,
    positions: series[index]?.positions ?? empty,
    values: series[index]?.values ?? empty,
    trace,
    formula: "",
  }));
}

function calculatedLines(result: { formula: string; answer: Formula }): Omit<PlottedLine, "id">[] {
  return result.answer.traces.map((trace) => ({
    label: formulaText(trace.id),
    title: formulaText(trace.id),
    unit: trace.unit,
    positions: Float64Array.from(trace.positions),
    values: Float64Array.from(trace.values),
    trace: undefined,
    formula: result.formula,
  }));
}
