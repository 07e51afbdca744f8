/** What the parts of the trace page read of its state, and the actions that they call. */

import type {
  ApiError,
  Caller,
  ChangePoints,
  Commit,
  Environment,
  Explanation,
  Finding,
  MissedChange,
  QuarantinedValue,
  RemeasuredValue,
  Repository,
  Run,
  Statement,
  TicketMark,
  WithoutValue,
} from "../../api/client";
import type { Series } from "../../api/series";
import type {
  ChartCandidate,
  ChartFailure,
  ChartInterval,
  ChartLine,
  ChartMark,
  ChartPatterns,
  ChartRange,
} from "../../charts/chart-data";
import type { DecisionDialog } from "../../components/decision-dialog";
import type { HistoryMode } from "../../routes/navigation";
import type { TraceRoute } from "../../routes/trace";
import type { CommitCache } from "../../state/plot/commit-cache";
import { arrowOf } from "../../text/findings";
import type { SuspectList } from "./suspects";

/** A run without a value, on the plot. */
export interface FailureMark extends ChartFailure {
  run: WithoutValue;
}

/** The stable regions of a trace. */
export type Regions = ChangePoints["regions"];

export interface TraceContext {
  readonly route: TraceRoute;
  readonly repositories: readonly Repository[];
  /** Whether the caller may decide about the changes of this trace. */
  readonly mayDecide: boolean;
  readonly caller: Caller;
  /** The dialog that asks for the ticket, the note or the assignee of a decision. */
  readonly dialog: DecisionDialog | null;
  /** The names of the trackers that tickets can be made in. */
  readonly trackers: readonly string[];
  /** What of the samples is plotted instead of the median, and its stable regions; undefined for the median. */
  readonly plotted: ChangePoints["summaries"][number] | undefined;
  readonly series: Series | undefined;
  readonly times: Float64Array;
  readonly lines: readonly ChartLine[];
  readonly marks: readonly ChartMark[];
  readonly candidates: readonly ChartCandidate[];
  /** Its drifts, and the stretches in which it flips between levels. */
  readonly patterns: ChartPatterns;
  readonly environments: readonly Environment[];
  /** Runs that failed or were skipped, at commits without a value. */
  readonly failures: readonly FailureMark[];
  /** Values that take no part in levels. */
  readonly quarantined: readonly QuarantinedValue[];
  /** Values that probes of bisections measured. */
  readonly remeasured: readonly RemeasuredValue[];
  /** The tickets about this trace, also where no change is. */
  readonly tickets: readonly TicketMark[];
  /** Changes that people marked as missed, also those that an alert found since. */
  readonly missed: readonly MissedChange[];
  readonly commits: CommitCache | undefined;
  /** The pinned commit, its runs, and the suspects of the change that begins there. */
  readonly commit: Commit | undefined;
  readonly runs: readonly Run[];
  readonly suspects: SuspectList | undefined;
  readonly explanation: Explanation | undefined;
  readonly error: ApiError | undefined;
  readonly explanationError: ApiError | undefined;
  /** The shown changes; those that are gone follow the others. */
  readonly findings: readonly Finding[];
  /** What the change is that a finding belongs to; undefined for one that belongs to none. */
  statementOf: (finding: Finding) => Statement | undefined;
  /** The zoomed range; undefined for the whole line. */
  readonly range: ChartRange | undefined;
  readonly wholeRange: ChartRange;
  updateRoute: (part: Partial<TraceRoute>, mode?: HistoryMode) => void;
  zoomTo: (range: ChartRange | undefined, mode?: HistoryMode) => void;
  /** Open or close the explanation; `commit` pins another commit as well. */
  openExplanation: (open: boolean, commit?: number) => void;
  reloadExplanation: () => void;
  refreshTooltip: () => void;
}

/** The change that begins at a position; one that is gone only if there is no other. */
export function changeAt(
  { findings }: Pick<TraceContext, "findings">,
  position: number | undefined,
): Finding | undefined {
  if (position === undefined) return undefined;
  const here = findings.filter((finding) => finding.suspect_range.position === position);
  return here.find((finding) => finding.condition !== "gone") ?? here[0];
}

/** How the plot shows a change; nothing if the line does not have its commit. */
export function markOf(finding: Finding, statement: Statement | undefined): ChartMark | undefined {
  const { position, previous, commits: suspects } = finding.suspect_range;
  if (position === null) return undefined;
  return {
    id: finding.id,
    position,
    previous: previous ?? position - 1,
    // Once a bisection has found the commit, the others of the range are not suspects.
    suspects: statement?.likely?.basis === "bisected" ? 1 : suspects,
    status: finding.status,
    direction: finding.direction,
    sides: { before: finding.before_level, after: finding.after_level },
    interval: levelInterval(finding),
    text: `${arrowOf(finding)} ${finding.size_text}`,
    gone: finding.condition === "gone",
    history: finding.history,
  };
}

/** Where the level after a change lies, as sure as the values tell. */
function levelInterval({ before_level: before, low, high }: Finding): ChartInterval | undefined {
  return low === null || high === null ? undefined : { low: before + low, high: before + high };
}

/** The runs without a value at commits where no other run gave one. */
export function failureMarks(runs: readonly WithoutValue[], measured: ArrayLike<number>): FailureMark[] {
  const withValue = new Set(Array.from(measured));
  return runs.flatMap((run) => {
    const { position } = run.commit;
    return position === null || withValue.has(position) ? [] : [{ run, position, failed: run.outcome === "failed" }];
  });
}

/** The changes of environment at a plotted commit, and those since the plotted commit before it. */
export function environmentsAt({ environments, series }: TraceContext, position: number): Environment[] {
  const previous = series?.positions.findLast((candidate) => candidate < position) ?? -1;
  return environments.filter((change) => change.position > previous && change.position <= position);
}
