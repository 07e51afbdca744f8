/** What the parts of the explore page read of its state, and the actions that they call. */

import type { Repository, Trace } from "../../api/client";
import type { ChartRange, Hovered } from "../../charts/chart-data";
import type { ExploreRoute } from "../../routes/explore";
import type { HistoryMode } from "../../routes/navigation";
import type { PlottedLine } from "../../state/plot/plot-loader";
import type { ExploreData } from "./data";
import type { ExportFormat } from "./export";

export interface ExploreContext {
  readonly route: ExploreRoute;
  readonly repositories: readonly Repository[];
  readonly repository: Repository | undefined;
  readonly data: ExploreData;
  /** The lines of the plot as they are drawn: smoothed where the route says so. */
  readonly drawnLines: readonly PlottedLine[];
  readonly range: ChartRange | undefined;
  /** The value of a crowd of lines that was clicked. */
  readonly picked: Hovered | undefined;
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
  /** Show values in percent of those at a commit, which its hash or number names; "" for the first value of each line. */
  findBase: (revision: string) => Promise<void>;
  savePlot: (format: ExportFormat) => Promise<void>;
  clearPlot: () => void;
  /** Plot all traces that the query matches. */
  plotQuery: () => void;
  pick: (hovered: Hovered | undefined) => void;
  /** Open the dialog that builds a query. */
  openQueryDialog: () => void;
  expandFacet: (facet: string) => void;
  highlightLine: (id: number | undefined) => void;
  refreshTooltip: () => void;
  refreshPicked: () => void;
  openTrace: (trace: Trace) => void;
}
