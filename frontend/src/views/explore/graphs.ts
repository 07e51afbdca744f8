/** The graphs of the page, from top to bottom; traces and formulas are added to the current one. */

import { EMPTY_GRAPH, type ExploreRoute, type GraphSelection } from "../../routes/explore";
import { MAX_TRACES, type Plot, type PlotSelection, type PlottedLine } from "../../state/plot/plot-loader";
import { countText } from "../../text/numbers";
import { omittedText } from "./plot-selection";

/** The most graphs of a page: more of them have no room on a screen, and each keeps its values. */
export const MAX_GRAPHS = 8;

/** What of a route a change of its graphs replaces. */
export type GraphsPart = GraphSelection & Pick<ExploreRoute, "others" | "above">;

export function isEmptyGraph({ traces, formulas, plotted, keys }: GraphSelection): boolean {
  return traces.length + formulas.length === 0 && plotted === undefined && keys === "";
}

export function graphsOf(route: GraphsPart): readonly GraphSelection[] {
  const { traces, formulas, plotted, keys, ownScale, hidden, others, above } = route;
  return [...others.slice(0, above), { traces, formulas, plotted, keys, ownScale, hidden }, ...others.slice(above)];
}

/** The part of a route with these graphs, of which the one at an index is the current one; one alone has the page's scale. */
function withGraphs(graphs: readonly GraphSelection[], current: number): GraphsPart {
  const others = graphs.filter((_, index) => index !== current);
  const used = graphs[current] ?? EMPTY_GRAPH;
  const ownScale = others.length > 0 ? used.ownScale : undefined;
  return { ...used, ownScale, others, above: Math.min(current, others.length) };
}

/** Let the graph at an index be the current one; one that plots nothing does not stay behind. */
export function usedGraph(route: GraphsPart, index: number): GraphsPart {
  const graphs = graphsOf(route);
  const kept = graphs.filter((graph, at) => at === index || !isEmptyGraph(graph));
  return withGraphs(kept, graphs[index] ? kept.indexOf(graphs[index]) : 0);
}

/** Add an empty graph at the bottom, which becomes the current one. */
export function addedGraph(route: GraphsPart, selection: GraphSelection = EMPTY_GRAPH): GraphsPart {
  const kept = graphsOf(route).filter((graph) => !isEmptyGraph(graph));
  return withGraphs([...kept, selection], kept.length);
}

/** Remove the graph at an index; the current one stays so, or the one above it takes its place. */
export function removedGraph(route: GraphsPart, index: number): GraphsPart {
  const { above } = route;
  const kept = graphsOf(route).filter((_, at) => at !== index);
  return withGraphs(kept, Math.min(index < above ? above - 1 : above, Math.max(kept.length - 1, 0)));
}

/** Replace what the graph at an index plots. */
export function replacedGraph(route: GraphsPart, index: number, selection: Partial<GraphSelection>): GraphsPart {
  const graphs = graphsOf(route).map((graph, at) => (at === index ? { ...graph, ...selection } : graph));
  return withGraphs(graphs, route.above);
}

/** Let the graphs that have an id of a shortcut, "" for none, plot what it stands for. */
export function shortened(route: GraphsPart, ids: readonly string[]): GraphsPart {
  const graphs = graphsOf(route).map((graph, index) => {
    const { ownScale, hidden } = graph;
    return ids[index] ? { ...EMPTY_GRAPH, ownScale, hidden, keys: ids[index] } : graph;
  });
  return withGraphs(graphs, route.above);
}

/** What a graph plots, and its plot, which knows the traces of its query. */
export interface DrawnGraph {
  selection: PlotSelection;
  plot: Plot;
}

/** How a graph calls a line that it does not draw: a formula stands for all its lines. */
export function nameOfLine({ id, formula }: Pick<PlottedLine, "id" | "formula">): string {
  return formula || String(id);
}

/**
 * What a graph plots after it took in what another one plots. Its scale stays.
 *
 * Of two queries, or a query and chosen traces, the ids of all their traces are left: a plot has one query.
 */
export function mergedGraph(
  into: DrawnGraph,
  from: DrawnGraph,
): Omit<GraphSelection, "ownScale" | "hidden"> | { refusal: string } {
  const formulas = [...new Set([...into.selection.formulas, ...from.selection.formulas])];
  const chosen = [into, from].filter(({ selection }) => selection.traces.length > 0 || selection.plotted !== undefined);
  const [only, ...more] = chosen;
  if (more.every(({ selection }) => selection.plotted !== undefined && selection.plotted === only?.selection.plotted)) {
    const { traces, plotted } = only?.selection ?? EMPTY_GRAPH;
    return { traces, plotted, formulas, keys: "" };
  }
  const cut = chosen.find(({ plot }) => plot.selected > MAX_TRACES);
  if (cut) return { refusal: `${omittedText(cut.plot)} Narrow it before you move it to another graph.` };
  const ids = chosen.map(({ selection, plot }) =>
    selection.plotted === undefined ? selection.traces : plot.lines.flatMap((line) => line.trace?.id ?? []),
  );
  const traces = [...new Set(ids.flat())];
  if (traces.length > MAX_TRACES) {
    return {
      refusal: `The two graphs have ${countText(traces.length, "trace")}; one plots at most ${countText(MAX_TRACES, "trace")}.`,
    };
  }
  return { traces, plotted: undefined, formulas, keys: "" };
}
