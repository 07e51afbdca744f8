/** What people do with the graphs: add, use, move and remove them, and change what each plots. */

import { EMPTY_GRAPH, type ExploreRoute } from "../../routes/explore";
import type { HistoryMode } from "../../routes/navigation";
import type { Scale } from "../../routes/url";
import { showToast } from "../../state/toasts";
import type { Graph } from "./graph";
import {
  addedGraph,
  graphsOf,
  isEmptyGraph,
  MAX_GRAPHS,
  mergedGraph,
  removedGraph,
  replacedGraph,
  usedGraph,
} from "./graphs";
import { addressRefusal, toggledTrace } from "./plot-selection";

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
      const moved = replacedGraph(this.page.route, this.indexOf(into), merged);
      this.change(removedGraph(moved, this.indexOf(from)));
    }
  }

  /** Add a trace to a graph, or take it out. */
  toggleTrace(id: number, graph: Graph): void {
    const change = toggledTrace(graph.selection, graph.plot, id);
    if ("refusal" in change) this.refuse(change.refusal);
    else this.change(replacedGraph(this.page.route, this.indexOf(graph), change.route), "replace");
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
