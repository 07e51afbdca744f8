/** Why the method found these changes and no others: all candidates, and the checks that decided. */

import { html, nothing } from "lit";
import type { Explanation } from "../../api/client";
import { commitHash, date } from "../../templates/commit";
import { errorNotice, loadingNotice } from "../../templates/notice";
import { param } from "../../templates/trace-name";
import { countText, grouped, numberText } from "../../text/numbers";
import { whyText } from "../../text/findings";
import { flippingText } from "../../text/units";
import { changeAt, type TraceContext } from "./context";
import { causeText } from "./patterns";

type Candidate = Explanation["candidates"][number];
type Check = Candidate["checks"][number];

export function renderExplanation(context: TraceContext) {
  const { why } = context.route;
  const onToggle = (event: Event): void => context.openExplanation((event.target as HTMLDetailsElement).open);
  return html`<details class="panel why" ?open=${why} @toggle=${onToggle}>
    <summary>
      <h2>Why</h2>
      <span class="faint">all candidates, and the checks that decided <kbd>w</kbd></span>
    </summary>
    ${why ? renderContent(context) : nothing}
  </details>`;
}

function renderContent(context: TraceContext) {
  const { explanation, explanationError } = context;
  if (explanationError) return errorNotice(explanationError, () => context.reloadExplanation());
  if (!explanation) return loadingNotice("Running the method");
  return html`${renderSentence(context, explanation)} ${renderMethod(explanation)}
  ${
    explanation.reason
      ? html`<p>The method does not run on this trace: ${explanation.reason}.</p>`
      : renderTable(context, explanation)
  }
  ${
    explanation.omitted > 0
      ? html`<p class="faint">and ${countText(explanation.omitted, "more candidate")}, all rejected</p>`
      : nothing
  }`;
}

/** What the numbers below say, about the pinned commit or else about the whole trace. */
function renderSentence(context: TraceContext, { candidates, omitted, reason }: Explanation) {
  if (reason) return nothing;
  const { commit } = context.route;
  const finding = changeAt(context, commit);
  if (finding) return html`<p class="why-sentence">${whyText(finding)}</p>`;
  const pinned = candidates.find(({ position }) => position === commit);
  if (pinned && !pinned.accepted)
    return html`<p class="why-sentence">
      Commit ${grouped(pinned.position + 1)} is not a change: ${pinned.reason || "it fails a check"}.
    </p>`;
  const found = candidates.filter(({ accepted }) => accepted).length;
  const rejected = candidates.length - found + omitted;
  return html`<p class="why-sentence">
    The method examined ${countText(found + rejected, "place")} where the values may have changed:
    ${countText(found, "change")} found${rejected > 0 ? html`, ${grouped(rejected)} rejected by a check` : nothing}.
  </p>`;
}

function renderMethod({ method, alert, parameters, facts, flipping, trace }: Explanation) {
  const factPairs = Object.entries(facts);
  return html`<p>
      Method <strong>${method}</strong>${alert ? html`, alert <strong>${alert}</strong>` : nothing}.
      ${Object.entries(parameters).map(([name, value]) => html`${param(name, String(value))} `)}
    </p>
    ${
      factPairs.length > 0
        ? html`<p>
            The whole trace:
            ${factPairs.map(([name, value]) => html`${param(name, value === null ? "none" : numberText(value))} `)}
          </p>`
        : nothing
    }
    ${flipping.map(
      ({ first, last, levels, shares, ...stretch }) =>
        html`<p>
          From commit ${grouped(first + 1)} to ${grouped(last + 1)} it
          <strong>${flippingText(levels, shares, trace.unit)}</strong>; its jumps are not changes.
          ${causeText({ first, last, levels, shares, ...stretch })}
        </p>`,
    )}`;
}

function renderTable(context: TraceContext, { candidates, omitted }: Explanation) {
  if (candidates.length === 0) {
    return html`<p class="faint">
      There is no candidate: the values differ too little, or there are too few of them.
    </p>`;
  }
  const accepted = candidates.filter((candidate) => candidate.accepted);
  const rejected = candidates.filter((candidate) => !candidate.accepted);
  return html`<table class="candidates">
    <caption class="sr-only">
      Candidates of the method
    </caption>
    <thead>
      <tr>
        <th scope="col">Commit</th>
        <th scope="col">Outcome</th>
        <th scope="col">Checks</th>
      </tr>
    </thead>
    ${renderCandidates(context, `${countText(accepted.length, "change")} found`, accepted)}
    ${renderCandidates(context, `${countText(rejected.length + omitted, "candidate")} rejected`, rejected)}
  </table>`;
}

function renderCandidates(context: TraceContext, title: string, candidates: readonly Candidate[]) {
  if (candidates.length === 0) return nothing;
  return html`<tbody>
    <tr>
      <th colspan="3" scope="rowgroup">${title}</th>
    </tr>
    ${candidates.map((candidate) => renderCandidate(context, candidate))}
  </tbody>`;
}

function renderCandidate(context: TraceContext, candidate: Candidate) {
  const { position, commit, accepted, reason, note } = candidate;
  const pin = (): void => context.updateRoute({ commit: position });
  return html`<tr aria-current=${position === context.route.commit ? "true" : "false"}>
    <td>
      <button class="link" title="Show the commit on the plot" @click=${pin}>commit ${grouped(position + 1)}</button>
      <div class="second">${commitHash(commit)}${date(commit.time)}</div>
    </td>
    <td>
      ${accepted ? html`<strong>✓ a change</strong>` : html`<span>✗ ${reason || "rejected"}</span>`}
      ${note ? html`<div class="second">${note}</div>` : nothing}
    </td>
    <td>${renderChecks(candidate)}</td>
  </tr>`;
}

/** The checks that decided, and behind a summary the numbers that were not compared with a bound. */
function renderChecks({ checks, accepted }: Candidate) {
  const deciding = checks.filter((check) => check.relation !== "");
  const others = checks.filter((check) => check.relation === "");
  return html`${deciding.map((check) => renderCheck(check, accepted))}
  ${
    others.length > 0
      ? html`<details>
          <summary>${countText(others.length, "more number")}</summary>
          ${others.map((check) => renderCheck(check, accepted))}
        </details>`
      : nothing
  }`;
}

const RELATIONS: Record<string, string> = { ">=": "≥", "<=": "≤" };

/** One number, with the bound that it was compared with. A failed check of an accepted candidate did not decide. */
function renderCheck({ name, value, bound, relation, passed }: Check, accepted: boolean) {
  const compared = relation !== "";
  const kind = passed || !compared ? "" : accepted ? "spare" : "not";
  const mark = !compared ? "" : passed ? "✓ " : accepted ? "· " : "✗ ";
  const verb = passed || !accepted ? "must be" : "would pass if";
  const limit = `${RELATIONS[relation] ?? relation} ${bound === null ? "" : numberText(bound)}`;
  return html`<span class="check ${kind}">
    ${mark}${name} ${value === null ? "none" : numberText(value)}
    ${compared ? html`<span class="faint">${verb} ${limit}</span>` : nothing}
  </span>`;
}
