/** What people do with the graphs: add, use, move and remove them, and change what each plots. */

import { EMPTY_GRAPH, type ExploreRoute } from "../../routes/explore";
import type { HistoryMode } from "../../routes/navigation";
import type { Scale } from "../../routes/url";
import type { PlottedLine } from "../../state/plot/plot-loader";
import { showToast } from "../../state/toasts";
import type { Graph } from "./graph";
import {
  addedGraph,
  graphsOf,
  isEmptyGraph,
  MAX_GRAPHS,
  mergedGraph,
  nameOfLine,
  removedGraph,
  replacedGraph,
  usedGraph,
} from "./graphs";
import { addressRefusal, toggledTrace, type SelectionChange } from "./plot-selection";

/** The page whose graphs are changed. */
export interface EditedPage {
  readonly route: ExploreRoute;
  readonly graphs: readonly Graph[];
  readonly graph: Graph;
  /** The query in its field; that of the route follows it. */
  readonly query: string;
  updateRoute: (part: Partial<ExploreRoute>, mode?: HistoryMode) => void;
  requestUpdate: () => void;
}

export class GraphEdits {
  constructor(private readonly page: EditedPage) {}

  /** Add an empty graph, which becomes the current one. */
  add(): void {
    if (!isEmptyGraph(this.page.graph.chosen) && this.hasRoom()) this.change(addedGraph(this.page.route));
  }

  /** Plot what the query finds in a graph of its own. */
  addQuery(): void {
    const { query, route } = this.page;
    if (this.hasRoom()) this.change({ ...addedGraph(route, { ...EMPTY_GRAPH, plotted: query }), query });
  }

  remove(graph: Graph): void {
    this.change(removedGraph(this.page.route, this.indexOf(graph)));
  }

  /** Let a graph be the current one. Its query comes into its field, to be changed and plotted again. */
  use(graph: Graph): void {
    const { route } = this.page;
    const query = graph.chosen.plotted ?? route.query;
    this.page.updateRoute({ ...usedGraph(route, this.indexOf(graph)), query }, "replace");
  }

  /** Add what a graph plots to another one, and remove it. */
  move(from: Graph, into: Graph): void {
    const merged = mergedGraph(into, from);
    if ("refusal" in merged) this.refuse(merged.refusal);
    else {
      const hidden = [...new Set([...into.chosen.hidden, ...from.chosen.hidden])];
      const moved = replacedGraph(this.page.route, this.indexOf(into), { ...merged, hidden });
      this.change(removedGraph(moved, this.indexOf(from)));
    }
  }

  /** Add a trace to a graph, or take it out. */
  toggleTrace(id: number, graph: Graph): void {
    const change = toggledTrace(graph.selection, graph.plot, id);
    if ("refusal" in change) this.refuse(change.refusal);
    else this.change(replacedGraph(this.page.route, this.indexOf(graph), change.route), "replace");
  }

  /** Take a line out of a graph; with one that a formula made, the formula. */
  removeLine(line: PlottedLine, graph: Graph): void {
    if (line.trace) this.toggleTrace(line.id, graph);
    else this.removeFormula(line.formula, graph);
  }

  /** Draw a line no more, or again; it stays in the legend. */
  toggleHidden(line: PlottedLine, graph: Graph): void {
    const name = nameOfLine(line);
    const others = graph.chosen.hidden.filter((each) => each !== name);
    const hidden = others.length < graph.chosen.hidden.length ? others : [...others, name];
    this.change(replacedGraph(this.page.route, this.indexOf(graph), { hidden }));
  }

  /** Move a line, or all lines of its formula, to another graph; without one, to a new one at the bottom. */
  moveLine(line: PlottedLine, from: Graph, into?: Graph): void {
    const { route } = this.page;
    const left = toggledLine(from, line);
    const taken = into && !hasLine(into, line) ? toggledLine(into, line) : { route: {} };
    const refused = [left, taken].find((change) => "refusal" in change);
    if (refused) this.refuse(refused.refusal);
    if (!("route" in left) || !("route" in taken) || (!into && !this.hasRoom())) return;
    const hidden = from.chosen.hidden.filter((name) => name !== nameOfLine(line));
    const without = replacedGraph(route, this.indexOf(from), { ...left.route, hidden });
    const alone = { ...EMPTY_GRAPH, ...(line.trace ? { traces: [line.id] } : { formulas: [line.formula] }) };
    const moved = into
      ? replacedGraph({ ...route, ...without }, this.indexOf(into), taken.route)
      : addedGraph({ ...route, ...without }, alone);
    const rest = into && graphsOf(moved)[this.indexOf(from)];
    this.change(rest && isEmptyGraph(rest) ? removedGraph(moved, this.indexOf(from)) : moved);
  }

  /** Give a graph a scale of its own; undefined for that of the page. */
  scale(graph: Graph, ownScale: Scale | undefined): void {
    this.change(replacedGraph(this.page.route, this.indexOf(graph), { ownScale }), "replace");
  }

  /** Show the values of a graph in percent of those at a commit: with the other graphs, unless it has a scale of its own. */
  relate(graph: Graph, base: number): void {
    const isOwn = graph.chosen.ownScale !== undefined;
    const own = replacedGraph(this.page.route, this.indexOf(graph), { ownScale: "ratio" });
    this.change({ base, ...(isOwn ? own : { scale: "ratio" }) }, "replace");
  }

  removeFormula(formula: string, graph: Graph): void {
    const { selection } = graph;
    const formulas = selection.formulas.filter((other) => other !== formula);
    const changed = { ...selection, formulas, keys: "" };
    this.change(replacedGraph(this.page.route, this.indexOf(graph), changed), "replace");
  }

  private indexOf(graph: Graph): number {
    return this.page.graphs.indexOf(graph);
  }

  private hasRoom(): boolean {
    const { length } = graphsOf(this.page.route).filter((graph) => !isEmptyGraph(graph));
    if (length >= MAX_GRAPHS) this.refuse(`A page has at most ${MAX_GRAPHS} graphs. Remove one first.`);
    return length < MAX_GRAPHS;
  }

  /** Change the graphs, unless the address has no room for them. */
  private change(part: Partial<ExploreRoute>, mode: HistoryMode = "push"): void {
    const refusal = addressRefusal({ ...this.page.route, ...part });
    if (refusal) this.refuse(refusal);
    else this.page.updateRoute(part, mode);
  }

  private refuse(text: string): void {
    showToast({ text });
    this.page.requestUpdate(); // resets the checkbox, which the browser has checked
  }
}

function hasLine({ plottedIds, selection }: Graph, { id, trace, formula }: PlottedLine): boolean {
  return trace ? plottedIds.has(id) : selection.formulas.includes(formula);
}

/** Add a line to what a graph plots, or take it out; a formula with all its lines. */
function toggledLine(graph: Graph, line: PlottedLine): SelectionChange {
  const { selection, plot } = graph;
  if (line.trace) return toggledTrace(selection, plot, line.id);
  const others = selection.formulas.filter((formula) => formula !== line.formula);
  const formulas = hasLine(graph, line) ? others : [...others, line.formula];
  return { route: { ...selection, formulas, keys: "" } };
}
