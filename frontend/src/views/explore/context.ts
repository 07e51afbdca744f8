/** What the parts of the explore page read of its state, and the actions that they call. */

import type { Repository, Trace } from "../../api/client";
import type { ChartRange, Hovered } from "../../charts/chart-data";
import type { ExploreRoute } from "../../routes/explore";
import type { HistoryMode } from "../../routes/navigation";
import type { LegendOrder } from "../../text/line-stats";
import type { Plot } from "../../state/plot/plot-loader";
import type { ExploreData } from "./data";
import type { Graph } from "./graph";
import type { GraphEdits } from "./graph-edits";

/** What a plot is saved as: its values, or its picture. */
export type ExportFormat = "csv" | "png" | "svg";

export interface ExploreContext {
  readonly route: ExploreRoute;
  readonly repositories: readonly Repository[];
  readonly repository: Repository | undefined;
  /** The query in its field: that of the route, or what was typed just now. */
  readonly query: string;
  readonly data: ExploreData;
  /** The graphs from top to bottom. */
  readonly graphs: readonly Graph[];
  /** The graph that traces and formulas are added to. */
  readonly graph: Graph;
  readonly edits: GraphEdits;
  /** The commits that all graphs share. */
  readonly line: Pick<Plot, "times" | "commits">;
  readonly range: ChartRange | undefined;
  /** Whether the first plot of the page is on its way. */
  readonly isWaiting: boolean;
  /** Whether there is an error of the plot or of a formula. */
  readonly isFailing: boolean;
  /** Index of the listed trace that the keyboard is on. */
  readonly cursor: number;
  /** The facets of which all values are shown. */
  readonly expandedFacets: ReadonlySet<string>;
  /** By what the legends are sorted; undefined for the order of the plot. */
  readonly legendOrder: LegendOrder | undefined;
  /** Whether the table of a crowd of lines is open. */
  readonly isLegendExpanded: boolean;
  sortLegend: (order: LegendOrder | undefined) => void;
  expandLegend: (isOpen: boolean) => void;
  updateRoute: (part: Partial<ExploreRoute>, mode?: HistoryMode) => void;
  zoomTo: (range: ChartRange | undefined, mode?: HistoryMode) => void;
  queryAfterTyping: (text: string) => void;
  openCommit: (graph: Graph, position: number, line?: number) => void;
  createShortAddress: () => Promise<void>;
  /** Show values in percent of those at a commit, which its hash or number names; "" for the first value of each line. */
  findBase: (revision: string) => Promise<void>;
  savePlot: (format: ExportFormat, graph: Graph) => Promise<void>;
  /** Clear the only graph, or remove the current one. */
  clearPlot: () => void;
  /** Plot all traces that the query matches in the current graph. */
  plotQuery: () => void;
  pick: (graph: Graph, hovered: Hovered | undefined) => void;
  /** Open the dialog that builds a query. */
  openQueryDialog: () => void;
  expandFacet: (facet: string) => void;
  highlightLine: (graph: Graph, id: number | undefined) => void;
  refreshTooltip: () => void;
  refreshPicked: () => void;
  openTrace: (trace: Trace) => void;
}
