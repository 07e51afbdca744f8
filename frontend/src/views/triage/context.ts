/** What the parts of the triage page read of its state, and the actions that they call. */

import type { Finding, ChangeList, Repository, Status } from "../../api/client";
import type { DecisionQuestion } from "../../components/decision-dialog";
import type { HistoryMode } from "../../routes/navigation";
import { traceRoute, type TraceRoute } from "../../routes/trace";
import type { TriageRoute } from "../../routes/triage";
import type { Freshness } from "../../state/freshness";
import type { RowWindow } from "../../state/triage/row-window";
import type { ChangeRow, Row } from "../../state/triage/rows";
import type { Selection } from "../../state/triage/selection";
import type { FindingsRequest } from "../../state/triage/triage-list";

export interface TriageContext {
  readonly route: TriageRoute;
  readonly repositories: readonly Repository[];
  /** Whether the caller may decide about findings of at least one repository. */
  readonly decides: boolean;
  readonly data: ChangeList | undefined;
  readonly selection: Selection;
  /** Which rows are in the document. */
  readonly rowWindow: RowWindow;
  readonly loading: boolean;
  readonly freshness: Freshness | undefined;
  /** The requests for more findings, by id of the change. */
  readonly findingsRequests: ReadonlyMap<string, FindingsRequest>;
  /** Whether the caller may decide about findings of a repository. */
  mayDecide: (repository: string) => boolean;
  updateRoute: (part: Partial<TriageRoute>, mode?: HistoryMode) => void;
  decide: (findings: Selection, status: Status) => Promise<void>;
  /** Ask for the ticket, the note or the assignee of a decision. */
  ask: (kind: DecisionQuestion["kind"], findings: Selection) => Promise<void>;
  split: (findings: Selection) => Promise<void>;
  merge: (findings: Selection) => Promise<void>;
  toggleRows: (rows: readonly Row[]) => void;
  /** Select a row, or all rows from the one that was selected last. */
  selectRow: (row: Row, extend: boolean) => void;
  clearSelection: () => void;
  /** Show where the search for the commit of a change is started and watched. */
  findCommit: (row: Row | undefined) => Promise<void>;
  expandRow: (row: ChangeRow, expanded: boolean) => void;
  loadFindings: (change: string) => void;
  /** Sort by a column; `first` is the order of the first click, "-" for descending. */
  sortBy: (column: string, first: "-" | "") => void;
  showColumn: (name: string, shown: boolean) => void;
  filterAfterTyping: (text: string) => void;
}

/** The trace of a finding, with its commit pinned. */
export function findingRoute(finding: Finding, state: Partial<TraceRoute> = {}): TraceRoute {
  const { trace, suspect_range: range, condition } = finding;
  const commit = range.position ?? undefined;
  return traceRoute(trace.id, { line: range.line, commit, gone: condition === "gone", ...state });
}
