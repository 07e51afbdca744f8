/** The rows of the triage table: a change, a finding, and the request for more findings. */

import { html, nothing } from "lit";
import type { Finding, Change, Status } from "../../api/client";
import { findingSparkline } from "../../charts/sparkline";
import "../../components/decision-log";
import { PUBLISHED } from "../../api/published-data";
import { changeRoute } from "../../routes/change";
import { routeUrl } from "../../routes/routes";
import type { Tab } from "../../routes/triage";
import { checkState, selectionOfRow, type FindingRow, type ChangeRow, type Row } from "../../state/triage/rows";
import { FINDINGS_PER_REQUEST } from "../../state/triage/triage-list";
import { bisectionTag } from "../../templates/bisection";
import { commitHash, date, timestamp } from "../../templates/commit";
import {
  causeNote,
  changeHeadline,
  comparison,
  conditionTag,
  hazard,
  HAZARD_TITLE,
  historyTag,
  joinedTag,
  alertTags,
  kindTag,
  heldLine,
  pointSize,
  provisionalTag,
  recoveredTag,
  statusLabel,
  ticketLink,
  ticketOf,
} from "../../templates/finding";
import { errorNotice, loadingNotice } from "../../templates/notice";
import { longName, traceLabel } from "../../templates/trace-name";
import { causeOf, causeText, decidedStatus, hazardNumber, largestHazardText, statusWord } from "../../text/findings";
import { countText, grouped } from "../../text/numbers";
import { commonPrefixLength, traceName, traceText } from "../../text/trace-names";
import "./breakdown";
import { MANY_TRACES } from "./breakdown";
import { findingRoute, type TriageContext } from "./context";

/** Where a row stands in the table, and whether the keyboard is on it. */
interface Place {
  index: number;
  current: boolean;
}

/** Everything that a row is rendered from; while it is the same, so is the row. */
export function rowInputs(context: TriageContext, row: Row, { index, current }: Place): unknown[] {
  const { change } = row;
  const decidable = context.mayDecide(change.repository);
  const state = [
    index,
    current,
    checkState(row, context.selection),
    context.route.tab,
    context.repositories.length,
    decidable,
  ];
  if (row.kind === "change") return [change, row.expanded, ...state];
  const finding = [row.finding, sharedPrefix(change), change.commit.hash, ...state];
  // The last finding has the request for more of them below it.
  return isLast(row) ? [change, context.findingsRequests.get(change.id), ...finding] : finding;
}

export function renderRow(context: TriageContext, row: Row, place: Place) {
  return row.kind === "change" ? renderChange(context, row, place) : renderFinding(context, row, place);
}

function isLast({ change, finding }: FindingRow): boolean {
  return change.members.at(-1)?.id === finding.id;
}

/** Findings that a tab lists may have been decided about. */
export function showsDecisions(tab: Tab): boolean {
  return tab === "processed" || tab === "all" || tab === "gone";
}

const sharedPrefixes = new WeakMap<readonly Finding[], number>();

/** The length of the prefix that the names of a change's traces share, calculated once for all its rows. */
function sharedPrefix({ members }: Change): number {
  const known = sharedPrefixes.get(members);
  if (known !== undefined) return known;
  const length = commonPrefixLength(members.map((finding) => traceName(finding.trace.params).name));
  sharedPrefixes.set(members, length);
  return length;
}

const LARGEST_TITLE = "The largest hazard level of all traces of this commit, by which the column sorts.";

function renderChange(context: TriageContext, row: ChangeRow, { index, current }: Place) {
  const { change } = row;
  const commit = causeOf(change);
  const lead = change.members.find((finding) => finding.id === change.lead) ?? change.members[0];
  if (!lead) {
    return html`<tr
      class="change-row"
      id="row-${row.id}"
      data-row=${row.id}
      aria-rowindex=${index + 2}
      tabindex=${current ? 0 : -1}
    >
      <td colspan="9">${loadingNotice(`Loading the traces of ${commit.short}`)}</td>
    </tr>`;
  }
  const findings = countText(change.traces, "change point");
  return html`<tr
      class="change-row"
      id="row-${row.id}"
      data-row=${row.id}
      aria-rowindex=${index + 2}
      data-hash=${commit.hash}
      tabindex=${current ? 0 : -1}
      aria-current=${current ? "true" : "false"}
      @click=${(event: MouseEvent) => onRowClick(event, () => context.expandRow(row, !row.expanded))}
    >
      ${renderCheckbox(context, row, `Select ${findings} at ${commit.short} ${commit.subject}`)}
      <td class="c-change"><a href=${routeUrl(changeRoute(change.id))}>${changeHeadline(change)}</a></td>
      <td class="c-subject">${renderSubject(context, row, lead)}</td>
      <td class="c-date">${date(commit.time)}</td>
      <td class="c-hazard figure" title=${HAZARD_TITLE}>${hazardNumber(lead.hazard)}${largestHazard(change, lead)}</td>
      <td class="c-traces figure">${grouped(change.traces)}</td>
      ${
        showsDecisions(context.route.tab)
          ? html`<td class="c-decision">${renderDecision(change, lead)}</td>`
          : html`<td class="c-lead">${renderLead(lead)}</td>`
      }
      <td class="c-spark">${findingSparkline(lead)}</td>
      ${renderActions(context, row, `all of ${commit.short}`)}
    </tr>
    ${
      row.expanded && change.traces >= MANY_TRACES && PUBLISHED === undefined
        ? html`<tr class="more">
            <td></td>
            <td colspan="8"><kp-breakdown .change=${change} .context=${context}></kp-breakdown></td>
          </tr>`
        : nothing
    }`;
}

function renderSubject(context: TriageContext, row: ChangeRow, lead: Finding) {
  const { change, expanded } = row;
  const { repository, statement } = change;
  const commit = causeOf(change);
  const cause = renderCause(change, lead);
  const { tab } = context.route;
  return html`<div class="subject-line">
      <button
        class="twist"
        aria-expanded=${expanded}
        aria-label="Traces of ${commit.short}"
        @click=${() => context.expandRow(row, !expanded)}
      >
        <span aria-hidden="true">›</span>
      </button>
      <span class="subject">${longName(commit.subject)}</span>
      ${change.history && tab !== "history" ? historyTag() : nothing} ${alertTags(lead, change.alert_severity)}
      ${kindTag(lead)}${conditionTag(statement, repository)}${change.certainty === "provisional" ? provisionalTag(lead) : nothing}
      ${lead.assignee ? html`<span class="tag" title="Assignee">${lead.assignee}</span>` : nothing}
    </div>
    ${heldLine(change.held)}
    <div class="second indent facts-line">
      ${commitHash(commit, repository)}${cause}${renderFindCommit(context, row)}${
        commit.author ? html`<span>${commit.author}</span>` : nothing
      }<span class="when-narrow">${date(commit.time)}</span>
      <span class="when-medium">${hazard(lead.hazard)}</span>
      <span class="when-medium">${largestHazard(change, lead)}</span>
      ${context.repositories.length > 1 ? html`<span>${repository}</span>` : nothing}
    </div>
    <div class="when-small second indent">
      <a class="trace-link" href=${routeUrl(findingRoute(lead))}>${longName(traceName(lead.trace.params).name)}</a
      >${comparison(lead)}
      ${showsDecisions(tab) ? nothing : html`${hazard(lead.hazard)} ${largestHazard(change, lead)}`}
    </div>`;
}

/** Why the commit is named, and how the search for it stands: one tag once that found it. */
function renderCause({ statement, suspect_range: range, bisection }: Change, lead: Finding) {
  if (!bisection) return causeNote(statement, range.commits);
  const url = routeUrl(findingRoute(lead));
  return statement?.likely?.basis === "bisected"
    ? bisectionTag(bisection, url, causeText(statement, range.commits))
    : html`${causeNote(statement, range.commits)} ${bisectionTag(bisection, url)}`;
}

/** Whether a search may still say more about the commit of a change. */
export function isSearchable({ statement, suspect_range: range, bisection }: Change): boolean {
  return PUBLISHED === undefined && !bisection && range.commits > 1 && statement?.likely?.basis !== "bisected";
}

function renderFindCommit(context: TriageContext, row: ChangeRow) {
  if (!isSearchable(row.change) || !isDecidable(context, row)) return nothing;
  return html`<button
    class="link"
    title="Build and measure commits of the suspect range (b)"
    @click=${() => void context.findCommit(row)}
  >
    Find the commit
  </button>`;
}

function largestHazard(change: Change, lead: Finding) {
  const text = largestHazardText(change.hazard, lead.hazard);
  return text ? html`<span class="faint hazard-level" title=${LARGEST_TITLE}>${text}</span>` : nothing;
}

function renderStatuses({ statuses, traces }: Change) {
  return Object.entries(statuses)
    .filter(([, number]) => number > 0)
    .map(([name, number]) => {
      const status = name as Status;
      const title = `${number} ${statusWord[status]}`;
      return html`<span title=${title}>${statusLabel(status)}${traces > 1 ? ` ${number}` : ""}</span>`;
    });
}

/** What was decided: the statuses, the ticket, the note of the newest decision, and whose decision that was. */
function renderDecision(change: Change, lead: Finding) {
  const { decided } = change;
  const ticket = ticketOf({ ticket: decided?.ticket ?? "", matched_ticket: ticketOf(lead) });
  return html`<div class="statuses">
      ${renderStatuses(change)}${ticket ? html`<span class="ticket">${ticketLink(ticket)}</span>` : nothing}
    </div>
    ${
      decided
        ? html`${decided.note ? html`<div class="note" title=${decided.note}><bdi>${decided.note}</bdi></div>` : nothing}
            <div class="second"><bdi>${decided.who}</bdi> ${timestamp(decided.time)}</div>`
        : nothing
    }`;
}

function renderLead(lead: Finding) {
  const { name, rest } = traceName(lead.trace.params);
  const title = [name, ...rest.map(([param, value]) => `${param}=${value}`)].join("\n");
  return html`<a class="trace-link" href=${routeUrl(findingRoute(lead))} title=${title}>${longName(name)}</a>
    <div class="second">${comparison(lead)}</div>`;
}

function renderFinding(context: TriageContext, row: FindingRow, { index, current }: Place) {
  const { finding, change } = row;
  return html`<tr
      class="finding-row"
      id="row-${row.id}"
      data-row=${row.id}
      aria-rowindex=${index + 2}
      tabindex=${current ? 0 : -1}
      aria-current=${current ? "true" : "false"}
      @click=${(event: MouseEvent) => onRowClick(event, () => context.updateRoute({ at: row.id }, "replace"))}
    >
      ${renderCheckbox(context, row, `Select ${traceText(finding.trace.params)}`)}
      <td class="c-change">${pointSize(finding)}</td>
      <td class="c-subject" colspan="5">
        <a class="trace-link indent" href=${routeUrl(findingRoute(finding))}
          >${traceLabel(finding.trace, sharedPrefix(change))}</a
        >
        <div class="second indent">${renderFindingFacts(context, row)}</div>
      </td>
      <td class="c-spark">${findingSparkline(finding)}</td>
      ${renderActions(context, row, "this trace")}
    </tr>
    ${isLast(row) && change.members.length < change.traces ? renderMore(context, change) : nothing}`;
}

function renderFindingFacts(context: TriageContext, { finding, change }: FindingRow) {
  const { assignee, commit, condition, status, note } = finding;
  const ticket = ticketOf(finding);
  return html`${comparison(finding)} ${hazard(finding.hazard)}
    <a
      href=${routeUrl(findingRoute(finding, { why: true }))}
      title="Why this is a change point, and what was rejected (w)"
      >why</a
    >
    ${commit.hash === change.commit.hash ? nothing : html`<span class="at">at ${commitHash(commit, change.repository)}</span>`}
    ${kindTag(finding)}${provisionalTag(finding)}${joinedTag(finding, change.found)}
    ${recoveredTag(finding)}${condition === "gone" ? html`<span class="tag">gone</span>` : nothing}
    ${status === "new" ? nothing : html`<span>${statusLabel(status)}</span>`}
    ${ticket ? html`<span>${ticketLink(ticket)}</span>` : nothing}
    ${assignee ? html`<span class="tag" title="Assignee">${assignee}</span>` : nothing}
    ${note ? html`<span class="note" title=${note}>${note}</span>` : nothing}
    ${showsDecisions(context.route.tab) ? renderDecisionLog(context, finding.id, change.repository) : nothing}`;
}

function renderDecisionLog(context: TriageContext, finding: string, repository: string) {
  return html`<kp-decision-log .finding=${finding} .mayUndo=${context.mayDecide(repository)}></kp-decision-log>`;
}

function renderCheckbox(context: TriageContext, row: Row, label: string) {
  if (!isDecidable(context, row)) return html`<td class="c-tick"></td>`;
  const checked = checkState(row, context.selection);
  return html`<td class="c-tick">
    <input
      type="checkbox"
      aria-label=${label}
      .checked=${checked === "all"}
      .indeterminate=${checked === "some"}
      @click=${(event: MouseEvent) => context.selectRow(row, event.shiftKey)}
    />
  </td>`;
}

/** Whether the caller may decide about the findings of a row; findings that are gone need no decision. */
function isDecidable(context: TriageContext, row: Row): boolean {
  return context.route.tab !== "gone" && context.mayDecide(row.change.repository);
}

function renderActions(context: TriageContext, row: Row, target: string) {
  const { tab } = context.route;
  // A finding that only a matching ticket processed has no decision to take back.
  const undecided = row.kind === "finding" && decidedStatus(row.finding) === "new";
  const isNew = row.kind === "finding" ? undecided : row.change.statuses.new;
  if (!isDecidable(context, row) || (undecided && tab === "processed")) return html`<td class="c-act"></td>`;
  const button = (label: string, status: Status, key: string) =>
    html`<button
      class="button small"
      title="${label} ${target} (${key})"
      @click=${() => void context.decide(selectionOfRow(row), status)}
    >
      ${label}
    </button>`;
  return html`<td class="c-act">
    <div class="actions">
      ${
        tab === "processed" || (tab === "all" && !isNew)
          ? button("Put back", "new", "r")
          : html`${button("Acknowledge", "acknowledged", "a")}${button("Hide", "hidden", "h")}`
      }
    </div>
  </td>`;
}

function renderMore(context: TriageContext, change: Change) {
  const request = context.findingsRequests.get(change.id);
  const load = (): void => context.loadFindings(change.id);
  return html`<tr class="more">
    <td></td>
    <td colspan="8">
      ${
        request === undefined
          ? renderMoreButton(change, load)
          : request === "loading"
            ? loadingNotice("Loading the traces")
            : errorNotice(request, load)
      }
    </td>
  </tr>`;
}

function renderMoreButton({ traces, members }: Change, load: () => void) {
  const left = traces - members.length;
  const label = left > FINDINGS_PER_REQUEST ? `${FINDINGS_PER_REQUEST} more` : `the other ${grouped(left)}`;
  return html`<button class="link" title="On one of its traces: →" @click=${load}>Show ${label}</button>
    <span class="faint"
      >${grouped(members.length)} of ${countText(traces, "change point")} of this commit are shown.</span
    >`;
}

/** Run an action for a click on the row itself: not on what is in it, and not at the end of selecting text. */
function onRowClick(event: MouseEvent, run: () => void): void {
  if ((event.target as Element).closest("a, button, input, details")) return;
  if (window.getSelection()?.type === "Range") return;
  run();
}
