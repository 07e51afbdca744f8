/** What the explore page requests of the server: traces, facets, small drawings, the plot, tickets. */

import type { ReactiveControllerHost } from "lit";
import {
  api,
  type ApiError,
  type Facets,
  type Mark,
  type NeverMeasured,
  type Repository,
  type TicketMark,
  type Trace,
  type Traces,
} from "../../api/client";
import type { Series } from "../../api/series";
import { MAX_FULL_LINES, type ChartFinding, type ChartNote, type ChartRange } from "../../charts/chart-data";
import type { ExploreRoute } from "../../routes/explore";
import { memoizeLast } from "../../state/memoize";
import {
  EMPTY_PLOT,
  PlotLoader,
  type FormulaFailure,
  type Plot,
  type PlotSelection,
} from "../../state/plot/plot-loader";
import { firstError, Resource } from "../../state/resource";

/** Points of a small drawing, and traces of one request for them. */
const SPARKLINE_POINTS = 60;
const SPARKLINES_PER_REQUEST = 100;

/** The page that the data belong to. */
export interface ExploreHost extends ReactiveControllerHost {
  readonly route: ExploreRoute;
  readonly repository: Repository | undefined;
  readonly range: ChartRange | undefined;
  /** Another list than the one before was loaded. */
  onNewList: () => void;
  onFormulaFailure: (failure: FormulaFailure) => void;
}

export interface PlotMarks {
  all: readonly Mark[];
  findings: readonly ChartFinding[];
  notes: readonly ChartNote[];
}

/** Whether the server refuses the query itself. */
function isQueryError(error: ApiError): boolean {
  return error.code === 400 || error.code === 422;
}

/** Whether an answer may stay below an error: that of an incomplete query, or an error of the same repository and query. */
function isStillValid(before: readonly unknown[], now: readonly unknown[], error: ApiError): boolean {
  return isQueryError(error) || (before[0] === now[0] && before[1] === now[1]);
}

export class ExploreData {
  sparklines: ReadonlyMap<number, Series> = new Map();
  private readonly plotLoader = new PlotLoader();
  private readonly tracesResource;
  private readonly facetsResource;
  private readonly neverMeasuredResource;
  private readonly sparklinesResource;
  private readonly plotResource;
  private readonly ticketsResource;
  private readonly marksResource;
  private readonly ticketsOf = memoizeLast(
    (tickets: readonly TicketMark[] | undefined): readonly TicketMark[] => tickets ?? [],
  );
  private readonly marksOf = memoizeLast((marks: readonly Mark[] | undefined): PlotMarks => {
    const all = marks ?? [];
    const findings = all.flatMap(({ trace, position, finding }) =>
      finding ? [{ line: trace, position, status: finding.status }] : [],
    );
    const changed = new Set(all.filter(({ finding }) => !finding).map(({ position }) => position));
    return { all, findings, notes: Array.from(changed, (position) => ({ position })) };
  });
  private readonly idsOf = memoizeLast((plot: Plot, { traces, plotted }: PlotSelection): ReadonlySet<number> => {
    return new Set(plotted === undefined ? traces : plot.lines.flatMap((line) => line.trace?.id ?? []));
  });
  /** The repository and query of the newest list. */
  private list = "";

  constructor(private readonly host: ExploreHost) {
    this.tracesResource = new Resource(host, {
      args: () => this.listArgs(host.route.query, host.route.listed),
      load: ([repository, text, listed], signal) => api.traces(repository, text, listed, signal),
      // The list stays while the user types, and below the error of a query that is not yet complete.
      keepWhileLoading: () => true,
      keepAfterError: isStillValid,
      onAnswer: () => this.onTraces(),
    });
    this.facetsResource = new Resource(host, {
      args: () => this.listArgs(host.route.query),
      load: ([repository, text], signal) => api.facets(repository, text, signal),
      keepWhileLoading: () => true,
      keepAfterError: isStillValid,
    });
    this.neverMeasuredResource = new Resource(host, {
      args: () => this.listArgs(),
      load: ([repository], signal) => api.neverMeasured(repository, signal),
      keepWhileLoading: () => true,
    });
    this.sparklinesResource = new Resource(host, {
      args: () => (this.traces ? ([this.traces.traces] as const) : undefined),
      load: ([traces], signal) => this.loadSparklines(traces, signal),
    });
    this.plotResource = new Resource(host, {
      args: () => {
        const { traces, formulas, plotted, keys, first, last, base } = host.route;
        const chosen = plotted === undefined ? traces.join() : `? ${plotted}`;
        return [host.repository?.name ?? "", keys, chosen, formulas.join("\n"), first, last, base] as const;
      },
      load: ([repository, keys], signal) => this.loadPlot(repository, keys, signal),
      keepWhileLoading: () => true,
      keepAfterError: () => true,
      onAnswer: ({ failures }) => {
        if (failures[0]) host.onFormulaFailure(failures[0]);
      },
    });
    const plottedText = (): readonly [string] | undefined => {
      const plotted = this.plot.lines.flatMap((line) => line.trace?.id ?? []);
      return plotted.length > 0 ? [plotted.join()] : undefined;
    };
    this.marksResource = new Resource(host, {
      args: plottedText,
      load: ([plotted], signal) => {
        const ids = plotted.split(",").map(Number);
        return api.marks(ids, ids.length <= MAX_FULL_LINES, signal);
      },
      keepWhileLoading: () => true,
    });
    this.ticketsResource = new Resource(host, {
      args: plottedText,
      load: ([plotted], signal) => api.tickets(plotted.split(",").map(Number), "", signal),
      keepWhileLoading: () => true,
    });
  }

  get traces(): Traces | undefined {
    return this.tracesResource.value;
  }

  get facets(): Facets | undefined {
    return this.facetsResource.value;
  }

  get neverMeasured(): readonly NeverMeasured[] {
    return this.neverMeasuredResource.value ?? [];
  }

  get tickets(): readonly TicketMark[] {
    return this.ticketsOf(this.ticketsResource.value);
  }

  /** Findings on the plotted lines, and changes of their environments. */
  get marks(): PlotMarks {
    return this.marksOf(this.marksResource.value);
  }

  get plot(): Plot {
    return this.plotResource.value ?? EMPTY_PLOT;
  }

  get isPlotLoading(): boolean {
    return this.plotResource.loading;
  }

  get plotSelection(): PlotSelection {
    return this.plotLoader.selectionOf(this.host.route);
  }

  /** The ids of the plotted traces, or of those that will be. */
  get plottedIds(): ReadonlySet<number> {
    return this.idsOf(this.plot, this.plotSelection);
  }

  get queryError(): ApiError | undefined {
    const error = firstError([this.tracesResource, this.facetsResource]);
    return error && isQueryError(error) ? error : undefined;
  }

  get error(): ApiError | undefined {
    return this.queryError ? this.plotResource.error : firstError(this.resources);
  }

  reload(): void {
    this.plotLoader.forget();
    for (const resource of this.resources) resource.reload();
  }

  private get resources() {
    const { tracesResource, facetsResource, neverMeasuredResource, sparklinesResource, plotResource } = this;
    return [
      tracesResource,
      facetsResource,
      neverMeasuredResource,
      sparklinesResource,
      plotResource,
      this.ticketsResource,
      this.marksResource,
    ] as const;
  }

  /** The repository followed by other arguments; nothing without results. */
  private listArgs<Rest extends readonly unknown[]>(...rest: Rest): readonly [string, ...Rest] | undefined {
    const { repository } = this.host;
    return repository && [repository.name, ...rest];
  }

  /** Another list begins at its first row; a longer one of the same query does not. */
  private onTraces(): void {
    const list = this.tracesResource.answeredArgs?.slice(0, 2).join(" ") ?? "";
    if (list !== this.list) this.host.onNewList();
    this.list = list;
  }

  /** Load the drawings of the listed traces that have none, and show them as they come. */
  private async loadSparklines(traces: readonly Trace[], signal: AbortSignal): Promise<void> {
    const listed = new Set(traces.map((trace) => trace.id));
    this.sparklines = new Map([...this.sparklines].filter(([id]) => listed.has(id)));
    const missing = [...listed].filter((id) => !this.sparklines.has(id));
    for (let from = 0; from < missing.length; from += SPARKLINES_PER_REQUEST) {
      const ids = missing.slice(from, from + SPARKLINES_PER_REQUEST);
      const series = await api.values(ids, { points: SPARKLINE_POINTS }, signal);
      signal.throwIfAborted();
      const loaded = ids.flatMap((id, index) => (series[index] ? [[id, series[index]] as const] : []));
      this.sparklines = new Map([...this.sparklines, ...loaded]);
      this.host.requestUpdate();
    }
  }

  private async loadPlot(repository: string, keys: string, signal: AbortSignal): Promise<Plot> {
    await this.plotLoader.loadShortcut(repository, keys, signal);
    signal.throwIfAborted();
    const { plotSelection: selection, plot } = this;
    const { traces, formulas, plotted } = selection;
    if (traces.length + formulas.length === 0 && plotted === undefined) {
      return { ...EMPTY_PLOT, times: plot.times, commits: plot.commits };
    }
    const known = [...plot.lines.flatMap((line) => line.trace ?? []), ...(this.traces?.traces ?? [])];
    return this.plotLoader.load(
      { repository, selection, range: this.host.range, base: this.host.route.base, known },
      signal,
    );
  }
}
