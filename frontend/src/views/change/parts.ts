/** The parts of the page of a change: its head, its traces, and the history of decisions and announcements. */

import { html, nothing } from "lit";
import type { Change, ChangePage, Finding, FindingPage, Status } from "../../api/client";
import { findingSparkline } from "../../charts/sparkline";
import type { DecisionQuestion } from "../../components/decision-dialog";
import { routeUrl } from "../../routes/routes";
import { traceRoute } from "../../routes/trace";
import { triageRoute } from "../../routes/triage";
import { commitHash, date, timestamp } from "../../templates/commit";
import {
  alertTags,
  causeNote,
  changeHeadline,
  comparison,
  conditionTag,
  heldLine,
  historyTag,
  kindTag,
  pointSize,
  provisionalTag,
  recoveredTag,
  sizeRange,
  standing,
  statusLabel,
  ticketLink,
} from "../../templates/finding";
import { longName } from "../../templates/trace-name";
import { saidOnce } from "../../templates/change-table";
import { announcementWord } from "../../text/announcements";
import { causeOf, decidedStatus } from "../../text/findings";
import { countText, grouped } from "../../text/numbers";
import { commonParams, traceText } from "../../text/trace-names";

export interface HeadActions {
  decide: (status: Status) => void;
  ask: (kind: DecisionQuestion["kind"]) => void;
  step: (by: number) => void;
}

export function renderHead({ change, gone }: ChangePage, mayDecide: boolean, actions: HeadActions) {
  const { id, statement, repository, held, members, history } = change;
  const [lead] = members;
  const isNew = statement ? statement.decision === "new" : lead && decidedStatus(lead) === "new";
  const small = (label: string, key: string, run: () => void) =>
    html`<button class="button small" title="${label} (${key})" @click=${run}>${label}</button>`;
  return html`<div class="trace-title">
    <div>
      <h1><span class="faint">${id}</span> ${changeHeadline(change)}</h1>
      <p>${renderCauseSentence(change)}</p>
      <p class="second">
        <bdi>${repository}</bdi> ${change.found ? html`<span>found ${timestamp(change.found)}</span>` : nothing}
        ${gone ? html`<span class="tag">gone</span>` : lead ? standing(lead) : nothing}
        ${gone ? nothing : conditionTag(statement, repository)} ${history && !isNew ? historyTag() : nothing}
        ${lead && !gone ? html`${kindTag(lead)} ${provisionalTag(lead)} ${alertTags(lead, change.alert_severity)}` : nothing}
        ${statement?.ticket ? html`<span>ticket ${ticketLink(statement.ticket)}</span>` : nothing}
        ${lead?.assignee ? html`<span>assigned to <bdi>${lead.assignee}</bdi></span>` : nothing}
      </p>
      ${lead?.note ? html`<p class="second wide-note">${lead.note}</p>` : nothing} ${heldLine(held)}
    </div>
    <div class="actions always">
      ${
        mayDecide
          ? html`${
              isNew
                ? html`${small("Acknowledge", "a", () => actions.decide("acknowledged"))}
                  ${small("Hide", "h", () => actions.decide("hidden"))}`
                : small("Put back", "r", () => actions.decide("new"))
            }
            ${small("Ticket", "t", () => actions.ask("ticket"))} ${small("Note", "n", () => actions.ask("note"))}
            ${small("Assign", "i", () => actions.ask("assignee"))}`
          : nothing
      }
      ${small("Previous", "k", () => actions.step(-1))} ${small("Next", "j", () => actions.step(1))}
      <a class="button small" href=${routeUrl(listOf(change, gone))}>In triage</a>
    </div>
  </div>`;
}

/** The list of triage that has a change, with the change open. */
function listOf({ id, members, commit, repository }: Change, gone: boolean) {
  const [lead] = members;
  const tab = gone ? "gone" : lead?.status !== "new" ? "processed" : lead.history ? "history" : "unprocessed";
  return { ...triageRoute, tab, repository, filter: commit.hash, open: [id] } as const;
}

/** One sentence: since which commit, and why that one is named. */
function renderCauseSentence(change: Change) {
  const { statement, suspect_range: range, repository } = change;
  const commit = causeOf(change);
  const note = causeNote(statement, range.commits);
  const how =
    statement?.likely?.basis === "bisected"
      ? "Made by"
      : statement?.likely
        ? "Most likely made by"
        : range.commits > 1
          ? "Made by a commit up to"
          : "First measured at";
  return html`${how} ${commitHash(commit, repository)} <strong>${longName(commit.subject)}</strong>${
      commit.author ? html` by ${commit.author}` : nothing
    }${commit.time ? html`, ${date(commit.time)}` : nothing}.
    ${note}
    ${/^https?:/.test(commit.url) ? html`<a class="button small" href=${commit.url} target="_blank" rel="noreferrer">Its diff</a>` : nothing}`;
}

export interface MemberActions {
  plot: (member: Finding) => void;
  more: () => void;
}

/** The traces of a change, the worst first: those that got worse, those that got better, and the others. */
export function renderMembers(
  { statement, traces }: Change,
  page: FindingPage | undefined,
  shown: string | undefined,
  actions: MemberActions,
) {
  const members = page?.members ?? [];
  const { worse = 0, better = 0 } = statement ?? {};
  const split = worse > 0 && better > 0 ? `: ${grouped(worse)} worse, ${grouped(better)} better` : "";
  const common = commonParams(members.map(({ trace }) => trace.params));
  return html`<section class="part" aria-labelledby="members-title">
    <h2 id="members-title">${countText(traces, "trace")}${split}</h2>
    ${members[0] ? saidOnce(members[0].trace.params, common) : nothing}
    <div class="wide">
      <table class="records" aria-label="Traces of the change">
        <thead>
          <tr>
            <th scope="col">Trace</th>
            <th scope="col">Change</th>
            <th scope="col">Levels</th>
            <th scope="col">Status</th>
            <th scope="col">Values</th>
          </tr>
        </thead>
        <tbody>
          ${members.map(
            (member) =>
              html`<tr aria-current=${member.id === shown ? "true" : "false"}>
                <th scope="row" data-label="Trace">
                  <a href=${routeUrl(memberRoute(member))}
                    ><bdi>${longName(traceText(member.trace.params, common))}</bdi></a
                  >
                </th>
                <td data-label="Change"><span>${pointSize(member)} ${recoveredTag(member)}</span></td>
                <td data-label="Levels">
                  <span>${comparison(member)}</span>
                  <div class="second">${sizeRange(member)}</div>
                </td>
                <td data-label="Status">${standing(member)}</td>
                <td data-label="Values">
                  <button class="link" title="Plot this trace" @click=${() => actions.plot(member)}>
                    ${findingSparkline(member)}<span class="sr-only">Plot this trace</span>
                  </button>
                </td>
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
    ${page?.after ? html`<p><button class="button small" @click=${actions.more}>More traces</button></p>` : nothing}
  </section>`;
}

function memberRoute({ trace, suspect_range: { line, position } }: Finding) {
  return traceRoute(trace.id, { line, commit: position ?? undefined });
}

const ACTION_WORDS = { decide: "", split: "split off, ", merge: "merged, ", undo: "undone, back to " } as const;

/** What people decided and what was announced, the newest first. */
export function renderHistory({ change, decisions, announcements }: ChangePage) {
  const entries = [
    ...decisions.map((each) => ({ time: each.time, line: renderDecision(each, change.traces) })),
    ...announcements.map((each) => ({ time: each.time, line: renderAnnouncement(each) })),
  ].sort((a, b) => Date.parse(b.time) - Date.parse(a.time));
  return html`<section class="panel" aria-labelledby="history-title">
    <h2 id="history-title">Decisions and announcements</h2>
    ${
      entries.length === 0
        ? html`<p class="faint">Nothing was decided or announced yet.</p>`
        : html`<ol class="suspects">
            ${entries.map(({ time, line }) => html`<li>${line} <span class="faint">${timestamp(time)}</span></li>`)}
          </ol>`
    }
  </section>`;
}

function renderDecision(entry: ChangePage["decisions"][number], traces: number) {
  const { action, status, who, note, ticket, assignee, traces: concerned } = entry;
  return html`<span>${ACTION_WORDS[action]}${statusLabel(status)}</span> ${who ? html`<bdi>${who}</bdi>` : nothing}
    ${concerned < traces ? html`<span class="faint">${grouped(concerned)} of ${countText(traces, "trace")}</span>` : nothing}
    ${ticket ? html`<span>${ticketLink(ticket)}</span>` : nothing}
    ${assignee ? html`<span>assigned to <bdi>${assignee}</bdi></span>` : nothing}
    ${note ? html`<span class="reasons wide-note">${note}</span>` : nothing}`;
}

function renderAnnouncement({ kind, size_text, traces }: ChangePage["announcements"][number]) {
  return html`<span class="tag">announced</span>
    <span>${announcementWord[kind]}: ${size_text}</span>
    ${traces > 1 ? html`<span class="faint">${countText(traces, "trace")}</span>` : nothing}`;
}
