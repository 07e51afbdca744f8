/** The suspects of the change that begins at the pinned commit: who may have caused it, how likely, and why. */

import { html, nothing } from "lit";
import { api, type Bisection, type Commit, type Finding, type Run, type Statement } from "../../api/client";
import type { CommitCache } from "../../state/plot/commit-cache";
import { commitHash } from "../../templates/commit";
import { certaintyText } from "../../text/bisections";
import { countText, percentText } from "../../text/numbers";

/** The most suspects that the page lists. */
const MAX_SUSPECTS = 12;

/** A commit that may have caused a change; `failed` is a run that gave no value there. */
export interface Suspect {
  commit: Commit;
  failed: Run | undefined;
  /** Undefined while the suspects are not ranked. */
  probability: number | undefined;
  reasons: readonly string[];
}

/** The first suspects of a change, the most likely first, or the newest first while they are not ranked. */
export interface SuspectList {
  suspects: readonly Suspect[];
  /** How many there are in all. */
  count: number;
  /** Probability that none of them is the cause. */
  none: number | undefined;
  /** What limits the ranking; "" if nothing does. */
  note: string;
  /** The bisection that found the cause. */
  bisection: Bisection | undefined;
}

/** Load the ranked suspects of a change of a trace, or else the newest commits of its suspect range. */
export async function loadSuspects(
  trace: number,
  commits: CommitCache,
  { suspect_range: range, change }: Finding,
  signal: AbortSignal,
): Promise<SuspectList> {
  const [ranking, [newest]] =
    change === null
      ? [undefined, []]
      : await Promise.all([api.suspects(change, signal), api.bisections(change, signal)]);
  const bisection = newest && newest.culprits.length > 0 ? newest : undefined;
  // A run that failed there is worth a word; published pages do not know of runs, and suspects are there without.
  const failedAt = ({ hash }: Commit) =>
    api.runs(trace, hash, signal).then(
      (runs) => runs.find((run) => run.value === null),
      () => undefined,
    );
  if (ranking?.ranked) {
    const shown = ranking.suspects.slice(0, MAX_SUSPECTS);
    const failed = await Promise.all(shown.map(({ commit }) => failedAt(commit)));
    return {
      suspects: shown.map((suspect, index) => ({ ...suspect, failed: failed[index] })),
      count: ranking.suspects.length,
      none: ranking.none ?? undefined,
      note: [ranking.machine, ranking.note].filter(Boolean).join(" "),
      bisection,
    };
  }
  const { position, previous, commits: count } = range;
  const between = previous === null ? [] : await commits.between(previous, position ?? 0, MAX_SUSPECTS);
  const failed = await Promise.all(between.map(failedAt));
  return {
    suspects: between.map((commit, index) => ({ commit, failed: failed[index], probability: undefined, reasons: [] })),
    count,
    none: undefined,
    note: "",
    bisection,
  };
}

export function renderSuspects(
  finding: Finding | undefined,
  statement: Statement | undefined,
  list: SuspectList | undefined,
) {
  if (!finding) return nothing;
  const bisection = list?.bisection;
  const likely = statement?.likely;
  if (likely?.basis === "bisected") return renderFound([likely.commit], likely.probability, bisection);
  if (bisection && bisection.culprits.length > 1) {
    return renderFound(bisection.culprits, bisection.probability, bisection);
  }
  const range = finding.suspect_range.commits;
  const count = list?.count ?? range;
  if (count < 2) return nothing;
  return html`<h3>
      ${range < 2 ? `${countText(count, "suspect")}: the location is uncertain` : `The change lies in one of ${range} commits`}
    </h3>
    <p class="faint">${explanationOf(list, range)}</p>
    <ol class="suspects">
      ${list?.suspects.map(renderSuspect)}
    </ol>
    ${list ? renderRest(list) : nothing}`;
}

/** What a bisection found: it measured the commits in between, so that none of them is a mere suspect. */
function renderFound(culprits: readonly Commit[], probability: number, bisection: Bisection | undefined) {
  return html`<h3>
      ${culprits.length === 1 ? "A bisection found the commit" : `A bisection found ${culprits.length} commits`}
    </h3>
    <p class="faint">${bisection ? `${bisection.id}, with` : "With"} a probability of ${certaintyText(probability)}.</p>
    <ol class="suspects">
      ${culprits.map((commit) => renderSuspect({ commit, failed: undefined, probability: undefined, reasons: [] }))}
    </ol>`;
}

function explanationOf(list: SuspectList | undefined, range: number): string {
  const unmeasured = range < 2 ? "" : "The commits in between were not measured. ";
  return list?.none === undefined
    ? `${unmeasured}A bisection, or measuring them, finds the one that made the change.`
    : `${unmeasured}The ranking comes from what each commit touches; a bisection, or measuring them, finds the cause.`;
}

function renderSuspect({ commit, failed, probability, reasons }: Suspect) {
  return html`<li>
    ${probability === undefined ? nothing : html`<span class="figure chance">${percentText(probability)}</span>`}
    ${commitHash(commit)} <span class="subject" title=${commit.subject}>${commit.subject}</span>
    ${
      failed
        ? html`<span class="tag outcome ${failed.outcome}" title=${failed.message}>${failed.outcome}</span>`
        : nothing
    }
    <span class="faint">${commit.author}</span>
    ${reasons.length > 0 ? html`<span class="faint reasons">${reasons.join("; ")}</span>` : nothing}
  </li>`;
}

function renderRest({ suspects, count, none, note }: SuspectList) {
  const left = count - suspects.length;
  const parts = [
    left > 0 && suspects.length > 0
      ? `${countText(left, none === undefined ? "older commit" : "less likely commit")} left out.`
      : "",
    none === undefined ? "" : `None of them: ${percentText(none)}.`,
    note,
  ].filter(Boolean);
  return parts.length > 0 ? html`<p class="faint">${parts.join(" ")}</p>` : nothing;
}
