/** One graph of the explore page: what it plots, and what it requests of the server for that. */

import type { ReactiveControllerHost } from "lit";
import { api, type ApiError, type Mark, type Repository, type TicketMark, type Trace } from "../../api/client";
import {
  MAX_FULL_LINES,
  type ChartFinding,
  type ChartNote,
  type ChartRange,
  type Hovered,
} from "../../charts/chart-data";
import { smoothed } from "../../charts/smoothing";
import type { ExploreRoute, GraphSelection } from "../../routes/explore";
import { memoizeLast } from "../../state/memoize";
import {
  EMPTY_PLOT,
  PlotLoader,
  type FormulaFailure,
  type LineLoader,
  type Plot,
  type PlottedLine,
  type PlotSelection,
} from "../../state/plot/plot-loader";
import { firstError, Resource } from "../../state/resource";
import { inSlices } from "../../state/slices";
import { nameOfLine } from "./graphs";

/** The page that the graph belongs to. */
export interface GraphHost extends ReactiveControllerHost {
  readonly route: ExploreRoute;
  readonly repository: Repository | undefined;
  readonly range: ChartRange | undefined;
  /** Whether a plot is on its way that marks wait for. */
  readonly isWaiting: boolean;
  /** Traces that need no request. */
  readonly listedTraces: readonly Trace[];
  onFormulaFailure: (failure: FormulaFailure) => void;
}

export interface PlotMarks {
  all: readonly Mark[];
  findings: readonly ChartFinding[];
  notes: readonly ChartNote[];
}

const NO_VALUES = { positions: new Float64Array(), values: new Float64Array() };

/** The charts of the page show their cursors at the same commit. */
export const CURSOR_GROUP = "explore";

/** The range of a plot that shows the whole line, so that plots of lines that begin later have it as well. */
export function wholeRange({ times }: Pick<Plot, "times">): ChartRange {
  return { first: 0, last: times.length - 1 };
}

export class Graph {
  /** The value of a crowd of lines that was clicked. */
  picked: Hovered | undefined;
  private readonly loader;
  private readonly plotResource;
  private readonly ticketsResource;
  private readonly marksResource;
  private readonly smoothResource;
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
  /** Hidden lines have no values, so that the others keep their colours. */
  private readonly withoutHidden = memoizeLast(
    (lines: readonly PlottedLine[], hidden: string): readonly PlottedLine[] =>
      hidden ? lines.map((line) => (this.isHidden(line) ? { ...line, ...NO_VALUES } : line)) : lines,
  );
  private readonly idsOf = memoizeLast((plot: Plot, { traces, plotted }: PlotSelection): ReadonlySet<number> => {
    return new Set(plotted === undefined ? traces : plot.lines.flatMap((line) => line.trace?.id ?? []));
  });

  constructor(
    private readonly host: GraphHost,
    line: LineLoader,
    /** What the graph plots: what the route says of it. */
    public chosen: GraphSelection,
  ) {
    this.loader = new PlotLoader(line);
    this.plotResource = new Resource(host, {
      args: () => {
        const { traces, formulas, plotted, keys } = this.chosen;
        const { first, last, base } = host.route;
        const selected = plotted === undefined ? traces.join() : `? ${plotted}`;
        return [host.repository?.name ?? "", keys, selected, formulas.join("\n"), first, last, base] as const;
      },
      load: ([repository, keys], signal) => this.loadPlot(repository, keys, signal),
      keepWhileLoading: () => true,
      keepAfterError: () => true,
      onAnswer: ({ failures }) => {
        if (failures[0]) host.onFormulaFailure(failures[0]);
      },
    });
    this.smoothResource = new Resource(host, {
      args: () => (host.route.smooth > 1 ? ([this.plot.lines, host.route.smooth] as const) : undefined),
      load: ([lines, count], signal) => inSlices(lines, (line) => smoothed(line, count), signal),
      keepWhileLoading: () => true,
    });
    const plottedText = (): readonly [string] | undefined => {
      const plotted = this.plot.lines.flatMap((line) => line.trace?.id ?? []);
      return plotted.length > 0 && !host.isWaiting ? [plotted.join()] : undefined;
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

  /** The lines as they are drawn: smoothed where the route says so, and none until that is done. */
  get drawnLines(): readonly PlottedLine[] {
    const { lines } = this.plot;
    const drawn = this.host.route.smooth > 1 && lines.length > 0 ? (this.smoothResource.value ?? []) : lines;
    return this.withoutHidden(drawn, this.chosen.hidden.join("\n"));
  }

  isHidden(line: PlottedLine): boolean {
    return this.chosen.hidden.includes(nameOfLine(line));
  }

  get isLoading(): boolean {
    return this.plotResource.loading || this.smoothResource.loading;
  }

  /** Whether what it plots is on its way, and it shows nothing of it. */
  get isAwaited(): boolean {
    return this.isLoading && this.drawnLines.length === 0;
  }

  /** What is plotted: for a shortcut, what it stands for. */
  get selection(): PlotSelection {
    return this.loader.selectionOf(this.chosen);
  }

  /** The ids of the plotted traces, or of those that will be. */
  get plottedIds(): ReadonlySet<number> {
    return this.idsOf(this.plot, this.selection);
  }

  get plotError(): ApiError | undefined {
    return this.plotResource.error;
  }

  get error(): ApiError | undefined {
    return firstError(this.resources);
  }

  reload(): void {
    this.loader.forget();
    for (const resource of this.resources) resource.reload();
  }

  /** Abort what is on its way, and load nothing more. */
  dispose(): void {
    for (const resource of this.resources) resource.dispose();
  }

  private get resources() {
    return [this.plotResource, this.smoothResource, this.ticketsResource, this.marksResource] as const;
  }

  private async loadPlot(repository: string, keys: string, signal: AbortSignal): Promise<Plot> {
    const { loader, host } = this;
    await loader.loadShortcut(repository, keys, signal);
    signal.throwIfAborted();
    const { selection, plot } = this;
    const { traces, formulas, plotted } = selection;
    if (traces.length + formulas.length === 0 && plotted === undefined) {
      return { ...EMPTY_PLOT, times: plot.times, commits: plot.commits };
    }
    const known = [...plot.lines.flatMap((line) => line.trace ?? []), ...host.listedTraces];
    return loader.load({ repository, selection, range: host.range, base: host.route.base, known }, signal);
  }
}

/** The graphs of a route: what plots the same as before stays as it is, and what is left over plots something else. */
export function matchGraphs(
  before: readonly Graph[],
  chosen: readonly GraphSelection[],
  create: (selection: GraphSelection) => Graph,
): Graph[] {
  const left = new Set(before);
  const take = (found: Graph | undefined): Graph | undefined => {
    if (found) left.delete(found);
    return found;
  };
  const same = chosen.map((selection) => take([...left].find((graph) => isSame(graph.chosen, selection))));
  const graphs = chosen.map((selection, index) => {
    const graph = same[index] ?? take([...left][0]) ?? create(selection);
    graph.chosen = selection;
    return graph;
  });
  for (const graph of left) graph.dispose();
  return graphs;
}

function isSame(a: GraphSelection, b: GraphSelection): boolean {
  const textOf = ({ traces, formulas, plotted, keys }: GraphSelection): string =>
    JSON.stringify([traces, formulas, plotted, keys]);
  return textOf(a) === textOf(b);
}
