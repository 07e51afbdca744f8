/** The changes of a trace, the newest first, each with its status and decisions. */

import { html, nothing } from "lit";
import type { ChangePoints, Finding, Statement, Status } from "../../api/client";
import { PUBLISHED } from "../../api/published-data";
import type { DecisionQuestion } from "../../components/decision-dialog";
import "../../components/decision-log";
import { changeRoute } from "../../routes/change";
import { routeUrl } from "../../routes/routes";
import { decide } from "../../state/triage/decisions";
import { selectById } from "../../state/triage/selection";
import { commitHash, date } from "../../templates/commit";
import {
  causeNote,
  changeHeadline,
  comparison,
  conditionTag,
  hazard,
  heldLine,
  kindTag,
  pointSize,
  provisionalTag,
  recoveredTag,
  sizeRange,
  standing,
  ticketLink,
  ticketOf,
} from "../../templates/finding";
import { ticketList } from "../../templates/tickets";
import { longName } from "../../templates/trace-name";
import { causeOf, decidedStatus, overText } from "../../text/findings";
import { countText, grouped, numberText } from "../../text/numbers";
import type { TraceContext } from "./context";
import { renderMissedList } from "./missed";
import { ask } from "./shortcuts";

export function renderChangeList(context: TraceContext, changes: ChangePoints) {
  const gone = context.route.gone ? changes.gone : [];
  const empty = changes.change_points.length === 0;
  return html`<section aria-labelledby="changes-title" class="panel">
    <h2 id="changes-title">${countText(changes.change_points.length, "change")}</h2>
    ${
      empty
        ? html`<p class="faint">No change was found in this trace. “Why” below shows what the method examined.</p>`
        : nothing
    }
    ${empty && gone.length === 0 ? nothing : renderTable(context, changes, gone)} ${renderMissedList(context)}
    ${ticketList(context.tickets, (position) => context.updateRoute({ commit: position }))}
  </section>`;
}

function renderTable(context: TraceContext, { change_points: changes, notes }: ChangePoints, gone: readonly Finding[]) {
  return html`<table class="changes">
    <caption class="sr-only">
      Changes of this trace, newest first
    </caption>
    <thead>
      <tr>
        <th scope="col">Change</th>
        <th scope="col">Status</th>
      </tr>
    </thead>
    <tbody>
      ${newestFirst(changes).map((finding) => renderChange(context, finding, notes[finding.id]))}
    </tbody>
    ${
      gone.length > 0
        ? html`<tbody class="gone">
            <tr>
              <th colspan="2" scope="rowgroup">Gone: later data no longer show ${gone.length === 1 ? "it" : "them"}</th>
            </tr>
            ${newestFirst(gone).map((finding) => renderChange(context, finding))}
          </tbody>`
        : nothing
    }
  </table>`;
}

function newestFirst(findings: readonly Finding[]): Finding[] {
  return [...findings].sort((a, b) => (b.suspect_range.position ?? 0) - (a.suspect_range.position ?? 0));
}

function renderChange(context: TraceContext, finding: Finding, note = "") {
  const { suspect_range: range, p_value: pValue } = finding;
  const { repository } = finding.trace;
  const statement = context.statementOf(finding);
  const commit = causeOf({ statement, commit: finding.commit });
  const current = range.position !== null && range.position === context.route.commit;
  const over = overText(finding);
  const pin = (): void => context.updateRoute({ commit: range.position ?? undefined });
  return html`<tr data-finding=${finding.id} aria-current=${current ? "true" : "false"}>
    <td>
      <div class="change-line">${pointSize(finding)} ${comparison(finding)}</div>
      <button class="link subject" title=${commit.subject} @click=${pin}>
        ${longName(commit.subject || commit.short)}
      </button>
      <div class="second">
        ${commitHash(commit, repository)}<span>${commit.author}</span>${date(commit.time)}
        ${causeNote(statement, range.commits)} ${sizeRange(finding)} ${over ? html`<span>${over}</span>` : nothing}
        ${note ? html`<span>${note}</span>` : nothing}
        ${hazard(finding.hazard)}${
          pValue === null ? nothing : html`<span class="figure">p ${numberText(pValue, 2)}</span>`
        }
      </div>
      ${statement ? renderWhole(statement, finding) : nothing}
    </td>
    <td>${renderStatus(context, finding)}</td>
  </tr>`;
}

/** What the change is that a change point belongs to, where it is more than the change point itself. */
function renderWhole(statement: Statement, finding: Finding) {
  const traces = statement.worse + statement.better + statement.undirected;
  if (traces < 2 && statement.headline === statement.size) return nothing;
  if (traces < 2) return html`<div class="second">${changeHeadline({ statement, members: [finding] })}</div>`;
  return html`<div class="second whole-change">
    <a href=${routeUrl(changeRoute(finding.change ?? ""))}>Part of a change of ${grouped(traces)} traces:</a>
    ${changeHeadline({ statement, members: [finding] })}
  </div>`;
}

function renderStatus(context: TraceContext, finding: Finding) {
  const { condition, note } = finding;
  const ticket = ticketOf(finding);
  const statement = context.statementOf(finding);
  const stated = condition === "gone" ? nothing : conditionTag(statement, finding.trace.repository);
  return html`${standing(finding)} ${stated === nothing ? recoveredTag(finding) : stated}
    ${condition === "gone" ? nothing : html`${kindTag(finding)} ${provisionalTag(finding)}`}
    ${condition === "gone" ? nothing : heldLine(finding.held)}
    ${ticket ? html`<div class="second">${ticketLink(ticket)}</div>` : nothing}
    ${note ? html`<div class="second note" title=${note}>${note}</div>` : nothing}
    ${condition === "gone" ? nothing : renderActions(context, finding)}
    <kp-decision-log .finding=${finding.id} .mayUndo=${context.mayDecide}></kp-decision-log>`;
}

function renderActions(context: TraceContext, finding: Finding) {
  const button = (label: string, key: string, status: Status) =>
    html`<button
      class="button small"
      title="${label} (${key})"
      @click=${() => void decide({ findings: selectById(finding.id), status })}
    >
      ${label}
    </button>`;
  const asked = (label: string, key: string, kind: DecisionQuestion["kind"]) =>
    html`<button class="button small" title="${label} (${key})" @click=${() => ask(context, kind, finding)}>
      ${label}
    </button>`;
  const explain = (): void => context.openExplanation(true, finding.suspect_range.position ?? undefined);
  const decisions =
    decidedStatus(finding) === "new"
      ? html`${button("Acknowledge", "a", "acknowledged")}${button("Hide", "h", "hidden")}`
      : button("Put back", "r", "new");
  return html`<div class="actions always">
    ${
      context.mayDecide
        ? html`${decisions}${asked("Ticket", "t", "ticket")}${asked("Note", "n", "note")}${asked("Assign", "i", "assignee")}`
        : nothing
    }
    ${
      PUBLISHED === undefined
        ? html`<button class="button small" title="What the method examined here (w)" @click=${explain}>Why</button>`
        : nothing
    }
  </div>`;
}
