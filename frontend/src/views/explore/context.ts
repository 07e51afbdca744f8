/** What the parts of the explore page read of its state, and the actions that they call. */

import type { ApiError, Facets, NeverMeasured, Repository, TicketMark, Trace, Traces } from "../../api/client";
import type { Series } from "../../api/series";
import type { ChartRange } from "../../charts/chart-data";
import type { ExploreRoute } from "../../routes/explore";
import type { HistoryMode } from "../../routes/navigation";
import type { Plot, PlotSelection } from "../../state/plot/plot-loader";

export interface ExploreContext {
  readonly route: ExploreRoute;
  readonly repositories: readonly Repository[];
  readonly repository: Repository | undefined;
  /** The traces that match the query. */
  readonly traces: Traces | undefined;
  readonly facets: Facets | undefined;
  readonly neverMeasured: readonly NeverMeasured[];
  /** The values for the small drawings, by id of the trace. */
  readonly sparklines: ReadonlyMap<number, Series>;
  readonly plot: Plot;
  /** The tickets about the plotted traces, also where no change is. */
  readonly tickets: readonly TicketMark[];
  /** The traces and formulas that the route selects. */
  readonly plotSelection: PlotSelection;
  readonly range: ChartRange | undefined;
  readonly error: ApiError | undefined;
  /** Why the server refuses the query. */
  readonly queryError: ApiError | undefined;
  /** Whether there is an error of the plot or of a formula. */
  readonly isFailing: boolean;
  /** Index of the listed trace that the keyboard is on. */
  readonly cursor: number;
  /** The facets of which all values are shown. */
  readonly expandedFacets: ReadonlySet<string>;
  updateRoute: (part: Partial<ExploreRoute>, mode?: HistoryMode) => void;
  zoomTo: (range: ChartRange | undefined, mode?: HistoryMode) => void;
  queryAfterTyping: (text: string) => void;
  toggleTrace: (id: number) => void;
  removeFormula: (formula: string) => void;
  openCommit: (position: number, line?: number) => void;
  createShortAddress: () => Promise<void>;
  clearPlot: () => void;
  plotFirst: () => void;
  expandFacet: (facet: string) => void;
  highlightLine: (id: number | undefined) => void;
  refreshTooltip: () => void;
  openTrace: (trace: Trace) => void;
}
