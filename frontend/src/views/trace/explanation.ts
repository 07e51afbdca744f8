/** Why there are these changes and no others: every place that was looked at, and what decided. */

import { html, nothing } from "lit";
import type { Explanation } from "../../api/client";
import { date, failed, hash, waiting } from "../../templates/finding";
import { grouped } from "../../text/numbers";
import { number } from "../../text/units";
import { count } from "../../text/findings";
import type { Desk } from "./context";

type Candidate = Explanation["candidates"][number];
type Check = Candidate["checks"][number];

export function renderWhy(desk: Desk) {
  const { why } = desk.address;
  return html`<details
    class="panel why"
    ?open=${why}
    @toggle=${(event: Event) => desk.openWhy((event.target as HTMLDetailsElement).open)}
  >
    <summary>
      <h2>Why</h2>
      <span class="faint">every place that was looked at, and what decided <kbd>w</kbd></span>
    </summary>
    ${!why ? nothing : desk.whyError ? failed(desk.whyError, () => void desk.loadWhy()) : desk.explanation ? renderExplanation(desk, desk.explanation) : waiting("Asking the method")}
  </details>`;
}

function renderExplanation(desk: Desk, why: Explanation) {
  const parameters = Object.entries(why.parameters);
  const facts = Object.entries(why.facts);
  const accepted = why.candidates.filter((own) => own.accepted);
  const rejected = why.candidates.filter((own) => !own.accepted);
  return html`<p>
      Method <strong>${why.method}</strong>${why.alert ? html`, alert <strong>${why.alert}</strong>` : nothing}.
      ${parameters.map(([name, value]) => html`<span class="param"><span class="param-key">${name}</span>${String(value)}</span> `)}
    </p>
    ${
      facts.length > 0
        ? html`<p>
            Of the whole trace:
            ${facts.map(([name, value]) => html`<span class="param"><span class="param-key">${name}</span>${value === null ? "none" : number(value)}</span> `)}
          </p>`
        : nothing
    }
    ${why.reason ? html`<p>It does not look at this trace: ${why.reason}.</p>` : nothing}
    ${
      why.reason
        ? nothing
        : why.candidates.length === 0
          ? html`<p class="faint">
              No place was a candidate: the values do not differ enough anywhere, or there are too few of them.
            </p>`
          : html`<table class="candidates">
              <caption class="sr-only">
                Places that the method looked at
              </caption>
              <thead>
                <tr>
                  <th scope="col">Commit</th>
                  <th scope="col">Outcome</th>
                  <th scope="col">Checks</th>
                </tr>
              </thead>
              ${renderCandidates(desk, `${count(accepted.length, "change")} found`, accepted)}
              ${renderCandidates(desk, `${count(rejected.length + why.omitted, "place")} rejected`, rejected)}
            </table>`
    }
    ${why.omitted > 0 ? html`<p class="faint">and ${count(why.omitted, "more place")}, all rejected</p>` : nothing}`;
}

function renderCandidates(desk: Desk, title: string, candidates: readonly Candidate[]) {
  if (candidates.length === 0) return nothing;
  return html`<tbody>
    <tr>
      <th colspan="3" scope="rowgroup">${title}</th>
    </tr>
    ${candidates.map(
      (own) =>
        html`<tr aria-current=${own.position === desk.address.commit ? "true" : "false"}>
          <td>
            <button class="link" title="Show it on the plot" @click=${() => desk.go({ commit: own.position })}>
              commit ${grouped(own.position + 1)}
            </button>
            <div class="second">${hash(own.commit)}${date(own.commit.time)}</div>
          </td>
          <td>
            ${own.accepted ? html`<strong>✓ a change</strong>` : html`<span>✗ ${own.reason || "rejected"}</span>`}
          </td>
          <td>${renderChecks(own)}</td>
        </tr>`,
    )}
  </tbody>`;
}

const RELATIONS: Record<string, string> = { ">=": "≥", "<=": "≤" };

/** The numbers that were compared; what did not pass is no reason to worry where the place was accepted all the same. */
function renderChecks({ checks, accepted }: Candidate) {
  const mark = (check: Check): string => (check.passed ? "✓ " : accepted ? "· " : "✗ ");
  const one = (check: Check) =>
    html`<span class="check ${check.passed || check.relation === "" ? "" : accepted ? "spare" : "not"}">
      ${check.relation ? mark(check) : ""}${check.name} ${check.value === null ? "none" : number(check.value)}
      ${
        check.relation
          ? html`<span class="faint"
              >${check.passed || !accepted ? "must be" : "would do if"} ${RELATIONS[check.relation] ?? check.relation}
              ${check.bound === null ? "" : number(check.bound)}</span
            >`
          : nothing
      }
    </span>`;
  const deciding = checks.filter((check) => check.relation !== "");
  const others = checks.filter((check) => check.relation === "");
  return html`${deciding.map(one)}
  ${
    others.length > 0
      ? html`<details>
          <summary>${count(others.length, "more number")}</summary>
          ${others.map(one)}
        </details>`
      : nothing
  }`;
}
