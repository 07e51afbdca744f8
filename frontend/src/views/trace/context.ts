/** What the parts of the trace page know of it, and what they may ask it to do. */

import type {
  ApiError,
  Changes,
  Commit,
  Environment,
  Explanation,
  Member,
  Repository,
  Run,
  WithoutValue,
} from "../../api/client";
import type { Series } from "../../api/series";
import type { ChartCandidate, ChartFailure, ChartLine, ChartMark, ChartRange } from "../../charts/chart-data";
import type { TraceAddress } from "../../routes/routes";
import type { CommitCache } from "../../state/plot/commit-cache";
import { changeInWords } from "../../text/findings";

/** A commit among which a change lies; `failed` is a run that gave no value there. */
export interface Suspect {
  commit: Commit;
  failed: Run | undefined;
}

/** A run without a value, on the plot. */
export interface Failure extends ChartFailure {
  run: WithoutValue;
}

export interface Desk {
  readonly address: TraceAddress;
  readonly repositories: readonly Repository[];
  readonly series: Series | undefined;
  readonly times: Float64Array;
  readonly lines: readonly ChartLine[];
  readonly marks: readonly ChartMark[];
  readonly candidates: readonly ChartCandidate[];
  readonly environments: readonly Environment[];
  /** Runs in which the trace failed or was skipped, at commits without a value. */
  readonly failures: readonly Failure[];
  readonly commits: CommitCache | undefined;
  /** The commit that is pinned, what ran there, and the commits among which its change lies. */
  readonly commit: Commit | undefined;
  readonly runs: readonly Run[];
  readonly suspects: readonly Suspect[];
  readonly explanation: Explanation | undefined;
  readonly error: ApiError | undefined;
  readonly whyError: ApiError | undefined;
  loadWhy: () => Promise<void>;
  /** The changes that are shown, in the order of the line. */
  readonly members: readonly Member[];
  readonly range: ChartRange | undefined;
  readonly whole: ChartRange;
  go: (part: Partial<TraceAddress>, how?: "push" | "replace") => void;
  look: (range: ChartRange | undefined, how?: "push" | "replace") => void;
  openWhy: (open: boolean) => void;
  refreshTip: () => void;
}

/** The change that begins at a position. */
export function changeAt(desk: Desk, position: number | undefined): Member | undefined {
  const here = desk.members.filter((member) => position !== undefined && member.place.position === position);
  return here.find((member) => member.condition !== "gone") ?? here[0];
}

/** How a change is drawn on the plot; nothing where the line does not have its commit. */
export function markOf(member: Member): ChartMark | undefined {
  const { position, previous, suspects } = member.place;
  if (position === null) return undefined;
  return {
    id: member.id,
    position,
    previous: previous ?? position - 1,
    suspects,
    status: member.status,
    direction: member.direction,
    text: `${member.size > 0 ? "▲" : "▼"} ${changeInWords(member)}`,
    gone: member.condition === "gone",
    history: member.history,
  };
}

/** The runs without a value, at the commits that show none. */
export function failuresOf(runs: readonly WithoutValue[], measured: ArrayLike<number>): Failure[] {
  const valued = new Set(Array.from(measured));
  return runs.flatMap((run) => {
    const { position } = run.commit;
    return position === null || valued.has(position) ? [] : [{ run, position, failed: run.outcome === "failed" }];
  });
}

/** The changes of environment at a plotted commit, and those since the one plotted before it. */
export function environmentsUntil(desk: Desk, position: number): Environment[] {
  const before = desk.series?.positions.findLast((own) => own < position) ?? -1;
  return desk.environments.filter((own) => own.position > before && own.position <= position);
}

/** The levels of a trace that a value is compared with. */
export type Regions = Changes["regions"];
