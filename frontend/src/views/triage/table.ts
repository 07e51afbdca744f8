/** The list of findings: a row a commit, and below an opened one a row a trace. */

import { html, nothing, type TemplateResult } from "lit";
import { guard } from "lit/directives/guard.js";
import { repeat } from "lit/directives/repeat.js";
import type { Group, Member, Regressions, Status } from "../../api/client";
import "../../components/decision-log";
import {
  HAZARD,
  change,
  compared,
  cutName,
  date,
  failed,
  hash,
  hazard,
  historyTag,
  key,
  state,
  ticketLink,
  traceLabel,
  waiting,
} from "../../templates/finding";
import { sparkline } from "../../charts/sparkline";
import { writeAddress, type Tab } from "../../routes/routes";
import { freshnessText } from "../../state/freshness";
import { MEMBERS_AT_ONCE } from "../../state/triage/triage-list";
import { cursorOf, findingsOf, tickedOf, type GroupRow, type MemberRow, type Row } from "../../state/triage/rows";
import { grouped } from "../../text/numbers";
import { commonBeginning, traceName, traceText } from "../../text/trace-names";
import { count, decidedStatus, hazardNumber, mixText, statusWord } from "../../text/findings";
import { memberAddress, type Desk } from "./context";

interface Column {
  place: string;
  sorts: readonly { by: string; label: string; first: string }[];
}

const COLUMNS: readonly Column[] = [
  {
    place: "change",
    sorts: [
      { by: "change", label: "Change", first: "-" },
      { by: "found", label: "Found", first: "-" },
    ],
  },
  {
    place: "subject",
    sorts: [
      { by: "subject", label: "Commit", first: "" },
      { by: "author", label: "Author", first: "" },
      { by: "date", label: "Date", first: "-" },
    ],
  },
  { place: "date", sorts: [{ by: "date", label: "Date", first: "-" }] },
  { place: "hazard", sorts: [{ by: "hazard", label: "Hazard", first: "-" }] },
  { place: "traces", sorts: [{ by: "traces", label: "Traces", first: "-" }] },
];
const CAPTIONS: Record<Tab, string> = {
  unprocessed: "Unprocessed",
  processed: "Processed",
  history: "Unprocessed historical",
  gone: "Gone",
};
const DECIDE = html`${key("x")} select · ${key("a")} acknowledge · ${key("h")} hide · ${key("u")} undo ·`;
const FOOT: Record<Tab, TemplateResult> = {
  unprocessed: DECIDE,
  history: DECIDE,
  processed: html`${key("x")} select · ${key("r")} put back · ${key("u")} undo ·`,
  gone: html`${key("p")} back ·`,
};

export function renderTable(desk: Desk, data: Regressions, rows: readonly Row[]) {
  const { tab, at } = desk.address;
  const cursor = cursorOf(rows, at);
  return html`<table class="findings">
      <caption class="sr-only">
        ${CAPTIONS[tab]} findings, grouped by commit
      </caption>
      <thead>
        <tr>
          <th class="c-tick" scope="col">
            ${
              tab === "gone"
                ? html`<span class="sr-only">Selection</span>`
                : html`<input
                    type="checkbox"
                    aria-label="Select all findings on this page"
                    .checked=${rows.length > 0 && rows.every((row) => tickedOf(row, desk.selected) === "all")}
                    .indeterminate=${desk.selected.size > 0 && rows.some((row) => tickedOf(row, desk.selected) !== "all")}
                    @click=${() => desk.select(rows)}
                  />`
            }
          </th>
          ${COLUMNS.map((column) => renderHead(desk, column))}
          <th class="c-lead" scope="col">Leading trace</th>
          <th class="c-spark" scope="col">Values</th>
          <th class="c-act" scope="col"><span class="sr-only">Decide</span></th>
        </tr>
      </thead>
      <tbody>
        ${repeat(
          rows,
          (row) => row.id,
          (row, index) => guard(partsOf(desk, row, index === cursor), () => renderRow(desk, row, index === cursor)),
        )}
      </tbody>
    </table>
    <p class="foot">
      ${key("j")} ${key("k")} move · ${FOOT[tab]} ${key("Enter")} open · ${key("w")} why · ${key("?")} all keys
      <span class="spring"></span>
      ${desk.freshness ? html`<span>${freshnessText(desk.freshness.alerts)}</span>` : nothing}
      <span>${count(data.groups_total, "commit")}</span>
    </p>`;
}

/** Whether what a list shows may have decisions. */
function isDecided(tab: Tab): boolean {
  return tab === "processed" || tab === "gone";
}

/** What a row is drawn from; while it stays the same, so does the row. */
function partsOf(desk: Desk, row: Row, current: boolean): unknown[] {
  const around = [current, tickedOf(row, desk.selected), desk.address.tab, desk.repositories.length];
  if (row.kind === "group") return [row.group, row.opened, ...around];
  const last = isLast(row);
  return [
    row.member,
    fadedIn(row.group),
    last ? row.group : row.group.commit.hash,
    last ? desk.paging.get(row.group.id) : undefined,
    ...around,
  ];
}

function isLast({ group, member }: MemberRow): boolean {
  return group.members.at(-1)?.id === member.id;
}

const beginnings = new WeakMap<readonly Member[], number>();

/** How much the names of the members of a group have in common at their beginning, found once for all of them. */
function fadedIn({ members }: Group): number {
  const known = beginnings.get(members);
  if (known !== undefined) return known;
  const found = commonBeginning(members.map((own) => traceName(own.trace.params).name));
  beginnings.set(members, found);
  return found;
}

function renderRow(desk: Desk, row: Row, current: boolean) {
  return row.kind === "group" ? renderGroup(desk, row, current) : renderMember(desk, row, current);
}

function renderHead(desk: Desk, column: Column) {
  const { sort } = desk.address;
  const by = sort.replace("-", "");
  const falling = sort.startsWith("-");
  const on = column.sorts.some((own) => own.by === by) && (by !== "date" || column.place === "date");
  return html`<th
    class="c-${column.place}"
    scope="col"
    aria-sort=${on ? (falling ? "descending" : "ascending") : "none"}
  >
    ${column.sorts.map(
      (own, index) =>
        html`<button
          class="sort ${index > 0 ? "faint" : ""} ${own.by === "date" && column.place !== "date" ? "when-narrow" : ""}"
          @click=${() => desk.sortBy(own.by, own.first)}
        >
          ${own.label}<span class="sort-mark" aria-hidden="true">${own.by === by ? (falling ? "↓" : "↑") : ""}</span>
        </button>`,
    )}
  </th>`;
}

function renderTick(desk: Desk, row: Row, label: string) {
  if (desk.address.tab === "gone") return html`<td class="c-tick"></td>`;
  const ticked = tickedOf(row, desk.selected);
  return html`<td class="c-tick">
    <input
      type="checkbox"
      aria-label=${label}
      .checked=${ticked === "all"}
      .indeterminate=${ticked === "some"}
      @click=${(event: MouseEvent) => desk.tickRow(row, event.shiftKey)}
    />
  </td>`;
}

function renderActions(desk: Desk, row: Row, about: string) {
  const { tab } = desk.address;
  const covered = row.kind === "member" && tab === "processed" && decidedStatus(row.member) === "new";
  if (tab === "gone" || covered) return html`<td class="c-act"></td>`;
  const button = (label: string, status: Status, letter: string) =>
    html`<button
      class="button small"
      title="${label} ${about} (${letter})"
      @click=${() => void desk.decideAbout(findingsOf(row), status)}
    >
      ${label}
    </button>`;
  return html`<td class="c-act">
    <div class="actions">
      ${tab === "processed" ? button("Put back", "new", "r") : html`${button("Acknowledge", "acknowledged", "a")}${button("Hide", "hidden", "h")}`}
    </div>
  </td>`;
}

function renderGroup(desk: Desk, row: GroupRow, current: boolean) {
  const { group } = row;
  const lead = group.members.find((member) => member.id === group.lead) ?? group.members[0];
  const { commit } = group;
  if (!lead)
    return html`<tr class="group" data-row=${row.id} tabindex=${current ? 0 : -1}>
      <td colspan="9">${waiting(`Reading the traces of ${commit.short}`)}</td>
    </tr>`;
  return html`<tr
    class="group"
    data-row=${row.id}
    data-hash=${commit.hash}
    tabindex=${current ? 0 : -1}
    aria-current=${current ? "true" : "false"}
    @click=${(event: MouseEvent) => onRow(event, () => desk.fold(row, !row.opened))}
  >
    ${renderTick(desk, row, `Select ${count(group.traces, "finding")} at ${commit.short} ${commit.subject}`)}
    <td class="c-change">
      ${change(lead)} ${group.traces > 1 ? html`<div class="second">${mixText(group.directions)}</div>` : nothing}
    </td>
    <td class="c-subject">
      <div class="subject-line">
        <button
          class="twist"
          aria-expanded=${row.opened}
          aria-label="Traces of ${commit.short}"
          @click=${() => desk.fold(row, !row.opened)}
        >
          <span aria-hidden="true">›</span>
        </button>
        <span class="subject" title=${commit.subject}>${commit.subject}</span>
        ${
          group.place.suspects > 1
            ? html`<span class="range" title="Not every commit was measured: the change lies somewhere in these."
                >one of ${group.place.suspects} commits</span
              >`
            : nothing
        }
        ${group.history && desk.address.tab !== "history" ? historyTag() : nothing}
        ${isDecided(desk.address.tab) ? renderStates(group) : nothing}
      </div>
      <div class="second indent facts-line">
        ${hash(commit)}<span class="clip" title=${commit.author}>${commit.author}</span
        ><span class="when-narrow">${date(commit.time)}</span>
        <span class="when-medium">${largestHazard(group)}</span>
        ${desk.repositories.length > 1 ? html`<span class="clip least" title=${group.repository}>${group.repository}</span>` : nothing}
      </div>
      <div class="when-small second indent">
        ${cutName(traceName(lead.trace.params).name)}${compared(lead)} ${largestHazard(group)}
      </div>
    </td>
    <td class="c-date">${date(commit.time)}</td>
    <td class="c-hazard figure" title=${`${HAZARD} The largest of all traces here.`}>${hazardNumber(group.hazard)}</td>
    <td class="c-traces figure">${grouped(group.traces)}</td>
    <td class="c-lead">${renderLead(lead)}</td>
    <td class="c-spark">${sparkline(lead)}</td>
    ${renderActions(desk, row, `all of ${commit.short}`)}
  </tr>`;
}

/** The hazard level for widths without a column for it, away from the word of the lead: it may be that of another trace. */
function largestHazard(group: Group) {
  return html`<span>${group.traces > 1 ? "largest " : nothing}${hazard(group.hazard)}</span>`;
}

function renderLead(lead: Member) {
  const { name, rest } = traceName(lead.trace.params);
  return html`<a
      class="trace-link"
      href=${writeAddress(memberAddress(lead))}
      title=${[name, ...rest.map(([own, value]) => `${own}=${value}`)].join("\n")}
      >${cutName(name)}</a
    >
    <div class="second">${compared(lead)}</div>`;
}

function renderStates(group: Group) {
  return Object.entries(group.statuses)
    .filter(([, number]) => number > 0)
    .map(
      ([name, number]) =>
        html`<span title="${number} ${statusWord[name as Status]}"
          >${state(name as Status)}${group.traces > 1 ? ` ${number}` : ""}</span
        >`,
    );
}

function renderMember(desk: Desk, row: MemberRow, current: boolean) {
  const { member, group } = row;
  const faded = fadedIn(group);
  return html`<tr
      class="member"
      data-row=${row.id}
      tabindex=${current ? 0 : -1}
      aria-current=${current ? "true" : "false"}
      @click=${(event: MouseEvent) => onRow(event, () => desk.change({ at: row.id }, "replace"))}
    >
      ${renderTick(desk, row, `Select ${traceText(member.trace.params)}`)}
      <td class="c-change">${change(member)}</td>
      <td class="c-subject" colspan="5">
        <a class="trace-link indent" href=${writeAddress(memberAddress(member))}>${traceLabel(member.trace, faded)}</a>
        <div class="second indent">
          ${compared(member)} ${hazard(member.hazard)}
          <a
            href=${writeAddress(memberAddress(member, { why: true }))}
            title="Why this is a finding, and what was rejected (w)"
            >why</a
          >
          ${member.commit.hash === group.commit.hash ? nothing : html`<span class="at">at ${hash(member.commit)}</span>`}
          ${member.condition === "present" ? nothing : html`<span class="tag">${member.condition}</span>`}
          ${member.status === "new" ? nothing : html`<span>${state(member.status)}</span>`}
          ${member.ticket || member.matched_ticket ? html`<span>${ticketLink(member.ticket || member.matched_ticket)}</span>` : nothing}
          ${member.note ? html`<span class="note" title=${member.note}>${member.note}</span>` : nothing}
          ${isDecided(desk.address.tab) ? html`<kp-log .finding=${member.id}></kp-log>` : nothing}
        </div>
      </td>
      <td class="c-spark">${sparkline(member)}</td>
      ${renderActions(desk, row, "this trace")}
    </tr>
    ${isLast(row) && group.members.length < group.traces ? renderMore(desk, group) : nothing}`;
}

function renderMore(desk: Desk, group: Group) {
  const paging = desk.paging.get(group.id);
  const left = group.traces - group.members.length;
  const next = html`<button class="link" @click=${() => desk.moreMembers(group.id)}>
      Show ${left > MEMBERS_AT_ONCE ? `${MEMBERS_AT_ONCE} more` : `the other ${grouped(left)}`}
    </button>
    <span class="faint"
      >${grouped(group.members.length)} of ${count(group.traces, "finding")} of this commit are shown.</span
    >`;
  return html`<tr class="more">
    <td></td>
    <td colspan="8">
      ${paging === undefined ? next : paging === "reading" ? waiting("Reading the traces") : failed(paging, () => desk.moreMembers(group.id))}
    </td>
  </tr>`;
}

function onRow(event: MouseEvent, run: () => void): void {
  if ((event.target as Element).closest("a, button, input, details")) return;
  if (window.getSelection()?.type === "Range") return;
  run();
}
