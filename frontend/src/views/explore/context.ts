/** What the parts of the explore page know of it, and what they may ask it to do. */

import type { ApiError, Facets, NeverMeasured, Repository, Trace, Traces } from "../../api/client";
import type { Series } from "../../api/series";
import type { ChartRange } from "../../charts/chart-data";
import type { ExploreAddress } from "../../routes/routes";
import type { CommitCache } from "../../state/plot/commit-cache";
import type { Chosen, PlottedLine } from "../../state/plot/plot-lines";

export interface Desk {
  readonly address: ExploreAddress;
  readonly repositories: readonly Repository[];
  readonly repository: Repository | undefined;
  readonly found: Traces | undefined;
  readonly facets: Facets | undefined;
  readonly neverMeasured: readonly NeverMeasured[];
  readonly sparks: ReadonlyMap<number, Series>;
  readonly lines: readonly PlottedLine[];
  readonly omitted: number;
  readonly error: ApiError | undefined;
  readonly times: Float64Array;
  readonly commits: CommitCache | undefined;
  readonly chosen: Chosen;
  readonly range: ChartRange | undefined;
  readonly queryError: ApiError | undefined;
  readonly failing: boolean;
  readonly cursor: number;
  readonly unfolded: ReadonlySet<string>;
  change: (part: Partial<ExploreAddress>, how?: "push" | "replace") => void;
  look: (range: ChartRange | undefined, how?: "push" | "replace") => void;
  typeQuery: (text: string) => void;
  toggleTrace: (id: number) => void;
  dropFormula: (formula: string) => void;
  pick: (position: number) => void;
  keep: () => Promise<void>;
  clear: () => void;
  plotFirst: () => void;
  unfold: (facet: string) => void;
  hint: (id: number | undefined) => void;
  refreshTip: () => void;
  openTrace: (trace: Trace) => void;
}
