import { html, nothing, type PropertyValues, type TemplateResult } from "lit";
import { abandoned, api, shown, type ApiError, type Group, type Regressions, type Repository, type Status } from "../api/client";
import type { DecidePart } from "../parts/decide";
import { Part } from "../parts/element";
import { change, date, failed, hash, hazard, key, state, traceLabel, waiting } from "../parts/pieces";
import { sparkline } from "../parts/sparkline";
import { toast } from "../parts/toast";
import { go, writeAddress, type Tab, type TraceAddress, type TriageAddress } from "../state/address";
import { decide, regroup, undoLast } from "../state/decide";
import { addShortcuts, type Shortcuts } from "../state/keys";
import {
  aimOf,
  cursorOf,
  groupRow,
  groupsOf,
  layRows,
  move,
  nextAfter,
  tickedOf,
  toggle,
  type GroupRow,
  type MemberRow,
  type Row,
} from "../state/rows";
import { fromTo } from "../text/numbers";
import { count, directionWord, statusWord, traceText } from "../text/words";

const COLUMNS = [
  { sort: "hazard", label: "Change", first: "-" },
  { sort: "subject", label: "Commit", first: "" },
  { sort: "date", label: "Date", first: "-" },
  { sort: "traces", label: "Traces", first: "-" },
] as const;
const CAPTIONS: Record<Tab, string> = { unprocessed: "Unprocessed", processed: "Processed", gone: "Gone" };
const FOOT: Record<Tab, TemplateResult> = {
  unprocessed: html`${key("x")} select · ${key("a")} acknowledge · ${key("h")} hide · ${key("u")} undo ·`,
  processed: html`${key("x")} select · ${key("r")} put back · ${key("u")} undo ·`,
  gone: html`${key("p")} back ·`,
};
const FEW_MEMBERS = 20;
const FILTER_DELAY = 250;

class TriageView extends Part {
  static override properties = {
    address: { attribute: false },
    repositories: { attribute: false },
    data: { state: true },
    error: { state: true },
    busy: { state: true },
    selected: { state: true },
  };
  declare address: TriageAddress;
  declare repositories: readonly Repository[];
  declare data: Regressions | undefined;
  declare error: ApiError | undefined;
  declare busy: boolean;
  declare selected: ReadonlySet<number>;

  private members = FEW_MEMBERS;
  private request: AbortController | undefined;
  private anchor = "";
  private filterTimer = 0;
  private removeShortcuts: (() => void) | undefined;
  private readonly refresh = (): void => void this.load();
  private readonly onSight = (): void => {
    if (document.visibilityState === "visible") void this.load();
  };

  constructor() {
    super();
    this.selected = new Set();
    this.busy = false;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.removeShortcuts = addShortcuts(() => this.shortcuts());
    window.addEventListener("kp-decided", this.refresh);
    document.addEventListener("visibilitychange", this.onSight);
  }

  override disconnectedCallback(): void {
    this.removeShortcuts?.();
    window.removeEventListener("kp-decided", this.refresh);
    document.removeEventListener("visibilitychange", this.onSight);
    this.request?.abort();
    super.disconnectedCallback();
  }

  override willUpdate(changed: PropertyValues<this>): void {
    if (!changed.has("address")) return;
    const before = changed.get("address");
    if (before && asked(before) === asked(this.address)) return;
    if (before && (before.tab !== this.address.tab || before.repository !== this.address.repository)) {
      this.selected = new Set();
      this.data = undefined; // so that no key decides about rows of the other list
    }
    void this.load();
  }

  private async load(): Promise<void> {
    this.request?.abort();
    const request = (this.request = new AbortController());
    const { tab, repository, filter, direction, sort, page } = this.address;
    this.busy = true;
    try {
      const data = await api.regressions(
        { processed: tab === "processed", gone: tab === "gone", repository, filter, direction, sort, page, members: this.members },
        request.signal,
      );
      this.data = data;
      this.error = undefined;
      const there = new Set(data.groups.flatMap((group) => group.ids));
      this.selected = new Set([...this.selected].filter((id) => there.has(id)));
    } catch (thrown) {
      if (abandoned(thrown)) return;
      this.error = shown(thrown);
    }
    this.busy = false;
  }

  private get rows(): Row[] {
    return layRows(this.data?.groups ?? [], this.address.open);
  }

  private get current(): Row | undefined {
    return this.rows[cursorOf(this.rows, this.address.at)];
  }

  private change(part: Partial<TriageAddress>, how: "push" | "replace" = "push"): void {
    go({ ...this.address, ...part }, how);
  }

  // ---- what keys and buttons do

  private shortcuts(): Shortcuts {
    const { tab } = this.address;
    const deciding: Shortcuts["list"] = [
      { keys: ["x"], does: "select the row", run: () => this.tick() },
      { keys: ["X"], does: "select from the last selected row to here", run: () => this.tickRange(this.current) },
      { keys: ["a"], does: "acknowledge", run: () => void this.decideAimed("acknowledged") },
      { keys: ["h"], does: "hide as noise", run: () => void this.decideAimed("hidden") },
      { keys: ["t"], does: "link a ticket", run: () => void this.askTicket(this.aimed) },
      { keys: ["n"], does: "write a note", run: () => void this.askNote(this.aimed) },
      { keys: ["s"], does: "set traces apart from the others of their commit", run: () => void this.setApart(this.aimed) },
      { keys: ["m"], does: "merge the selected commits into one regression", run: () => void this.merge(this.aimed) },
      ...(tab === "processed" ? [{ keys: ["r"], does: "put back", run: () => void this.decideAimed("new") }] : []),
    ];
    return {
      title: "Triage",
      list: [
        { keys: ["j", "ArrowDown"], does: "next row", run: () => this.step(1) },
        { keys: ["k", "ArrowUp"], does: "row before", run: () => this.step(-1) },
        ...(tab === "gone" ? [] : deciding),
        { keys: ["u"], does: "undo the last decision", run: () => void undoLast() },
        { keys: ["Enter", "o"], does: "open the commit's traces, or the trace", run: () => this.open(this.current) },
        { keys: ["ArrowRight"], does: "show the traces of the commit", run: () => this.expand(true) },
        { keys: ["ArrowLeft"], does: "fold them away", run: () => this.expand(false) },
        { keys: ["Escape"], does: "clear the selection", run: () => (this.selected = new Set()) },
        { keys: ["p"], does: "switch between unprocessed and processed", run: () => this.show(tab === "unprocessed" ? "processed" : "unprocessed") },
        { keys: ["G"], does: "findings that are gone", run: () => this.show("gone") },
        { keys: ["/"], does: "filter", run: () => this.querySelector<HTMLInputElement>("#filter")?.focus() },
      ],
    };
  }

  private get aimed(): number[] {
    return aimOf(this.rows, this.address.at, this.selected);
  }

  private step(by: number): void {
    const at = move(this.rows, this.address.at, by);
    this.change({ at }, "replace");
    void this.updateComplete.then(() => this.focusRow(at));
  }

  private focusRow(id: string): void {
    const row = [...this.querySelectorAll<HTMLElement>("tr[data-row]")].find((own) => own.dataset.row === id);
    row?.focus({ preventScroll: true });
    row?.scrollIntoView({ block: "nearest" });
  }

  private tick(): void {
    const row = this.current;
    if (!row) return;
    this.anchor = row.id;
    this.selected = toggle(this.selected, [row]);
  }

  private tickRange(row: Row | undefined): void {
    if (!row) return;
    const ids = this.rows.map((own) => own.id);
    const ends = [ids.indexOf(row.id), ids.indexOf(this.anchor || row.id)].sort((a, b) => a - b);
    this.selected = toggle(this.selected, this.rows.slice(ends[0], (ends[1] ?? 0) + 1), true);
  }

  private onTick(row: Row, event: MouseEvent): void {
    if (event.shiftKey) this.tickRange(row);
    else this.selected = toggle(this.selected, [row]);
    this.anchor = row.id;
    this.change({ at: row.id }, "replace");
  }

  private async decideAimed(status: Status): Promise<void> {
    await this.decideAbout(this.aimed, status);
  }

  private async decideAbout(ids: number[], status: Status, more: { note?: string; ticket?: string } = {}): Promise<void> {
    if (ids.length === 0) return;
    const at = nextAfter(this.rows, this.address.at, new Set(ids));
    if (!(await decide({ ids, status, ...more }))) return;
    this.selected = new Set([...this.selected].filter((id) => !ids.includes(id)));
    const leaves = this.address.tab === "processed" ? status === "new" : status !== "new";
    if (leaves && at) this.change({ at }, "replace");
  }

  private async askTicket(ids: number[]): Promise<void> {
    if (ids.length === 0) return;
    const reply = await this.question?.ask({ kind: "ticket", findings: ids.length, status: "ticket" });
    if (reply?.ticket) await this.decideAbout(ids, "ticket", reply.note ? reply : { ticket: reply.ticket });
  }

  private async askNote(ids: number[]): Promise<void> {
    if (ids.length === 0) return;
    const reply = await this.question?.ask({ kind: "note", findings: ids.length, status: "acknowledged" });
    if (!reply) return;
    const wanted = new Set(ids);
    const members = this.data?.groups.flatMap((group) => group.members) ?? [];
    const first = members.find((member) => wanted.has(member.id));
    await this.decideAbout(ids, first?.status ?? "new", { note: reply.note });
  }

  private get question(): DecidePart | null {
    return this.querySelector<DecidePart>("kp-decide");
  }

  private open(row: Row | undefined): void {
    if (!row) return;
    if (row.kind === "member") go(traceAddress(row));
    else this.fold(row, !row.opened);
  }

  private expand(opened: boolean): void {
    const row = this.current;
    if (!row) return;
    if (row.kind === "group") this.fold(row, opened);
    else if (!opened) {
      const { group } = row;
      this.change({ open: this.address.open.filter((id) => id !== groupRow(group)), at: groupRow(group) }, "replace");
      void this.updateComplete.then(() => this.focusRow(groupRow(group)));
    }
  }

  private fold(row: GroupRow, opened: boolean): void {
    const others = this.address.open.filter((id) => id !== row.id);
    this.change({ open: opened ? [...others, row.id] : others, at: row.id }, "replace");
  }

  private async setApart(ids: number[]): Promise<void> {
    if (ids.length === 0) return;
    const { parts } = groupsOf(this.data?.groups ?? [], ids);
    const members = ids.filter((id) => parts.some((group) => group.ids.includes(id)));
    if (members.length === 0) {
      toast({ text: "Open a commit and select some of its traces; those are set apart from the others." });
      return;
    }
    if (await regroup("split", { ids: members, regressions: [] }, `Set ${count(members.length, "trace")} apart`)) this.selected = new Set();
  }

  private async merge(ids: number[]): Promise<void> {
    if (ids.length === 0) return;
    const { whole, parts } = groupsOf(this.data?.groups ?? [], ids);
    const groups = [...whole, ...parts];
    if (groups.length < 2) {
      toast({ text: "Select two commits or more; they become one regression." });
      return;
    }
    const regressions = groups.map((group) => group.id);
    if (await regroup("merge", { ids: [], regressions }, `Merged ${count(groups.length, "commit")} into one regression`)) this.selected = new Set();
  }

  private show(tab: Tab): void {
    this.change({ tab, page: 1, open: [], at: "" });
  }

  private sortBy(sort: string, first: string): void {
    const now = this.address.sort;
    const next = now === `${first}${sort}` ? (first ? sort : `-${sort}`) : `${first}${sort}`;
    this.change({ sort: next, page: 1, at: "" });
  }

  private onFilter(event: InputEvent): void {
    const filter = (event.target as HTMLInputElement).value;
    window.clearTimeout(this.filterTimer);
    this.filterTimer = window.setTimeout(() => this.change({ filter, page: 1, at: "" }, "replace"), FILTER_DELAY);
  }

  private onFilterKey(event: KeyboardEvent): void {
    const input = event.target as HTMLInputElement;
    if (event.key === "Escape" || event.key === "Enter") input.blur();
    if (event.key === "Escape" && input.value) {
      input.value = "";
      this.change({ filter: "", page: 1, at: "" }, "replace");
    }
  }

  // ---- what is shown

  override render() {
    return html`
      <h1 class="sr-only">Triage</h1>
      ${this.renderTools()}
      ${this.error ? failed(this.error, () => void this.load()) : this.data ? this.renderBody(this.data) : waiting("Reading the findings")}
      ${this.selected.size > 0 ? this.renderSelection() : nothing}
      <kp-decide></kp-decide>
    `;
  }

  private renderTools() {
    const { tab: now, filter, direction, repository } = this.address;
    const tab = (own: Tab, label: string, number: number | undefined) => html`<a
      class="tab"
      href=${writeAddress({ ...this.address, tab: own, page: 1, open: [], at: "" })}
      aria-current=${own === now ? "page" : "false"}
      >${label}${number === undefined ? nothing : html`<span class="badge">${number.toLocaleString("en")}</span>`}</a
    >`;
    return html`<div class="tools">
      <nav class="tabs" aria-label="Findings">
        ${tab("unprocessed", "Unprocessed", this.data?.unprocessed)} ${tab("processed", "Processed", this.data?.processed)}
        ${this.data?.gone || now === "gone" ? tab("gone", "Gone", this.data?.gone) : nothing}
      </nav>
      <span class="busy ${this.busy && this.data ? "on" : ""}" aria-hidden="true"></span>
      <span class="spring"></span>
      ${this.repositories.length > 1
        ? html`<label class="select"><span class="sr-only">Repository</span>
            <select @change=${(event: Event) => this.change({ repository: (event.target as HTMLSelectElement).value, page: 1, at: "" })}>
              <option value="" ?selected=${repository === ""}>All repositories</option>
              ${this.repositories.map((own) => html`<option value=${own.name} ?selected=${own.name === repository}>${own.name}</option>`)}
            </select></label>`
        : nothing}
      <label class="select"><span class="sr-only">Direction</span>
        <select @change=${(event: Event) => this.change({ direction: (event.target as HTMLSelectElement).value, page: 1, at: "" })}>
          <option value="" ?selected=${direction === ""}>Worse and better</option>
          <option value="regression" ?selected=${direction === "regression"}>Worse only</option>
          <option value="improvement" ?selected=${direction === "improvement"}>Better only</option>
        </select></label>
      <label class="search"><span class="sr-only">Filter by words of the commit or the trace, or by name=value</span>
        <input
          id="filter"
          type="search"
          placeholder="Filter by commit, author, trace"
          .value=${filter}
          autocomplete="off"
          spellcheck="false"
          @input=${(event: InputEvent) => this.onFilter(event)}
          @keydown=${(event: KeyboardEvent) => this.onFilterKey(event)}
        /><kbd aria-hidden="true">/</kbd></label>
    </div>`;
  }

  private renderBody(data: Regressions) {
    if (data.groups.length === 0) return this.renderEmpty(data);
    const rows = this.rows;
    const cursor = cursorOf(rows, this.address.at);
    return html`
      <table class="findings">
        <caption class="sr-only">${CAPTIONS[this.address.tab]} findings, grouped by commit</caption>
        <thead>
          <tr>
            <th class="c-tick" scope="col">
              ${this.address.tab === "gone"
                ? html`<span class="sr-only">Selection</span>`
                : html`<input
                    type="checkbox"
                    aria-label="Select all findings on this page"
                    .checked=${rows.length > 0 && rows.every((row) => tickedOf(row, this.selected) === "all")}
                    .indeterminate=${this.selected.size > 0 && rows.some((row) => tickedOf(row, this.selected) !== "all")}
                    @click=${() => (this.selected = toggle(this.selected, rows))}
                  />`}
            </th>
            ${COLUMNS.map((column) => this.renderHead(column))}
            <th class="c-spark" scope="col">Values</th>
            <th class="c-act" scope="col"><span class="sr-only">Decide</span></th>
          </tr>
        </thead>
        <tbody>
          ${rows.map((row, index) =>
            row.kind === "group" ? this.renderGroup(row, index === cursor) : this.renderMember(row, index === cursor),
          )}
        </tbody>
      </table>
      ${data.pages > 1 ? this.renderPages(data) : nothing}
      <p class="foot">
        ${key("j")} ${key("k")} move · ${FOOT[this.address.tab]}
        ${key("Enter")} open · ${key("?")} all keys
      </p>
    `;
  }

  private renderHead(column: (typeof COLUMNS)[number]) {
    const { sort } = this.address;
    const on = sort.replace("-", "") === column.sort;
    const falling = sort.startsWith("-");
    return html`<th class="c-${column.sort}" scope="col" aria-sort=${on ? (falling ? "descending" : "ascending") : "none"}>
      <button class="sort" @click=${() => this.sortBy(column.sort, column.first)}>
        ${column.label}<span class="sort-mark" aria-hidden="true">${on ? (falling ? "↓" : "↑") : ""}</span>
      </button>
      ${column.sort === "subject" ? html`<button class="sort faint" @click=${() => this.sortBy("author", "")}>
        Author<span class="sort-mark" aria-hidden="true">${sort === "author" ? "↑" : sort === "-author" ? "↓" : ""}</span>
      </button>` : nothing}
    </th>`;
  }

  private renderTick(row: Row, label: string) {
    if (this.address.tab === "gone") return html`<td class="c-tick"></td>`;
    const ticked = tickedOf(row, this.selected);
    return html`<td class="c-tick">
      <input
        type="checkbox"
        aria-label=${label}
        .checked=${ticked === "all"}
        .indeterminate=${ticked === "some"}
        @click=${(event: MouseEvent) => this.onTick(row, event)}
      />
    </td>`;
  }

  private renderActions(ids: number[], about: string) {
    const button = (label: string, status: Status, letter: string) => html`<button
      class="button small"
      title="${label} ${about} (${letter})"
      @click=${() => void this.decideAbout(ids, status)}
    >${label}</button>`;
    if (this.address.tab === "gone") return html`<td class="c-act"></td>`;
    return html`<td class="c-act"><div class="actions">
      ${this.address.tab === "processed"
        ? button("Put back", "new", "r")
        : html`${button("Acknowledge", "acknowledged", "a")}${button("Hide", "hidden", "h")}`}
    </div></td>`;
  }

  private renderGroup(row: GroupRow, current: boolean) {
    const { group } = row;
    const lead = group.members.find((member) => member.id === group.lead) ?? group.members[0];
    if (!lead) return nothing;
    const { commit } = group;
    return html`<tr
      class="group"
      data-row=${row.id}
      data-hash=${commit.hash}
      tabindex=${current ? 0 : -1}
      aria-current=${current ? "true" : "false"}
      @click=${(event: MouseEvent) => this.onRow(event, row)}
    >
      ${this.renderTick(row, `Select ${count(group.ids.length, "finding")} at ${commit.short} ${commit.subject}`)}
      <td class="c-hazard">${change(lead)}<div class="second">${hazard(group.hazard)}</div></td>
      <td class="c-subject">
        <div class="subject-line">
          <button class="twist" aria-expanded=${row.opened} aria-label="Traces of ${commit.short}" @click=${() => this.fold(row, !row.opened)}>
            <span aria-hidden="true">›</span>
          </button>
          <span class="subject" title=${commit.subject}>${commit.subject}</span>
        </div>
        <div class="second indent">
          ${hash(commit)}<span>${commit.author}</span><span class="when-narrow">${date(commit.time)}</span>
          ${this.repositories.length > 1 ? html`<span class="clip">${group.repository}</span>` : nothing}
          ${group.place.suspects > 1
            ? html`<span class="range" title="Not every commit was measured: the change lies somewhere in these.">one of ${group.place.suspects} commits</span>`
            : nothing}
          ${this.address.tab === "unprocessed" ? nothing : this.renderStates(group)}
        </div>
      </td>
      <td class="c-date">${date(commit.time)}</td>
      <td class="c-traces figure">${group.traces.toLocaleString("en")}${this.renderMix(group)}</td>
      <td class="c-spark">${sparkline(lead)}</td>
      ${this.renderActions(group.ids, `all of ${commit.short}`)}
    </tr>`;
  }

  private renderMix(group: Group): TemplateResult | typeof nothing {
    const found = Object.entries(group.directions).filter(([, number]) => number > 0);
    if (found.length < 2) return nothing;
    return html`<div class="second">${found.map(([name, number]) => `${number} ${directionWord[name as keyof typeof directionWord]}`).join(", ")}</div>`;
  }

  private renderStates(group: Group) {
    return Object.entries(group.statuses)
      .filter(([, number]) => number > 0)
      .map(([name, number]) => html`<span title="${number} ${statusWord[name as Status]}">${state(name as Status)}${group.ids.length > 1 ? ` ${number}` : ""}</span>`);
  }

  private renderMember(row: MemberRow, current: boolean) {
    const { member, group } = row;
    const last = group.members.at(-1)?.id === member.id;
    return html`<tr
        class="member"
        data-row=${row.id}
        tabindex=${current ? 0 : -1}
        aria-current=${current ? "true" : "false"}
        @click=${(event: MouseEvent) => this.onRow(event, row)}
      >
        ${this.renderTick(row, `Select ${traceText(member.trace.params)}`)}
        <td class="c-hazard">${change(member)}<div class="second">${hazard(member.hazard)}</div></td>
        <td class="c-subject" colspan="3">
          <a class="trace-link indent" href=${writeAddress(traceAddress(row))}>${traceLabel(member.trace)}</a>
          <div class="second indent">
            <span class="figure">${fromTo(member.before.mean, member.after.mean, member.trace.unit)}</span>
            ${member.commit.hash === group.commit.hash ? nothing : html`<span class="at">at ${hash(member.commit)}</span>`}
            ${member.condition === "present" ? nothing : html`<span class="tag">${member.condition}</span>`}
            ${member.status === "new" ? nothing : html`<span>${state(member.status)}</span>`}
            ${member.ticket || member.matched_ticket ? html`<span>${ticketLink(member.ticket || member.matched_ticket)}</span>` : nothing}
            ${member.note ? html`<span class="note" title=${member.note}>${member.note}</span>` : nothing}
          </div>
        </td>
        <td class="c-spark">${sparkline(member)}</td>
        ${this.renderActions([member.id], "this trace")}
      </tr>
      ${last && group.members.length < group.ids.length
        ? html`<tr class="more"><td></td><td colspan="6">
            <button class="link" @click=${() => this.showAll()}>Show all ${count(group.ids.length, "finding")} of this commit</button>
          </td></tr>`
        : nothing}`;
  }

  private showAll(): void {
    this.members = 10_000;
    void this.load();
  }

  private onRow(event: MouseEvent, row: Row): void {
    if ((event.target as Element).closest("a, button, input")) return;
    if (window.getSelection()?.type === "Range") return;
    if (row.kind === "group") this.fold(row, !row.opened);
    else this.change({ at: row.id }, "replace");
  }

  private renderPages(data: Regressions) {
    const link = (page: number, label: string, on: boolean) =>
      on
        ? html`<a class="button small" href=${writeAddress({ ...this.address, page, at: "" })}>${label}</a>`
        : html`<span class="button small" aria-disabled="true">${label}</span>`;
    return html`<nav class="pages" aria-label="Pages">
      ${link(data.page - 1, "Back", data.page > 1)}
      <span>page ${data.page} of ${data.pages}, ${count(data.groups_total, "commit")}</span>
      ${link(data.page + 1, "Next", data.page < data.pages)}
    </nav>`;
  }

  private renderSelection() {
    const ids = [...this.selected];
    const { whole, parts } = groupsOf(this.data?.groups ?? [], ids);
    const button = (label: string, letter: string, run: () => void, kind = "") => html`<button class="button ${kind}" @click=${run}>
      ${label} <kbd>${letter}</kbd>
    </button>`;
    return html`<div class="selection" role="region" aria-label="Selection">
      <strong aria-live="polite">${count(ids.length, "finding")} selected</strong>
      ${this.address.tab === "processed"
        ? button("Put back", "r", () => void this.decideAbout(ids, "new"), "primary")
        : button("Acknowledge", "a", () => void this.decideAbout(ids, "acknowledged"), "primary")}
      ${this.address.tab === "processed" ? nothing : button("Hide", "h", () => void this.decideAbout(ids, "hidden"))}
      ${button("Ticket", "t", () => void this.askTicket(ids))} ${button("Note", "n", () => void this.askNote(ids))}
      ${parts.length > 0 ? button("Set apart", "s", () => void this.setApart(ids)) : nothing}
      ${whole.length + parts.length > 1 ? button("Merge", "m", () => void this.merge(ids)) : nothing}
      ${button("Clear", "Esc", () => (this.selected = new Set()), "quiet")}
    </div>`;
  }

  private renderEmpty(data: Regressions) {
    const { filter, direction, tab, repository } = this.address;
    if (filter || direction || repository) {
      return html`<div class="notice">
        <h2>No finding matches the filter</h2>
        <p>Try fewer words, or look at everything.</p>
        <button class="button" @click=${() => this.change({ filter: "", direction: "", repository: "", page: 1 })}>Clear the filter</button>
      </div>`;
    }
    if (tab === "gone") {
      return html`<div class="notice">
        <h2>Nothing is gone</h2>
        <p>Findings that later data no longer show are kept here, with what was decided about them.</p>
        <a class="button" href="/triage">Go to the unprocessed findings</a>
      </div>`;
    }
    if (tab === "processed") {
      return html`<div class="notice">
        <h2>Nothing has been processed yet</h2>
        <p>What you acknowledge, hide or link to a ticket appears here, and can be put back.</p>
        <a class="button" href="/triage">Go to the unprocessed findings</a>
      </div>`;
    }
    if (data.processed > 0) {
      return html`<div class="notice">
        <h2>All done</h2>
        <p>Every finding has been processed. New ones appear here after the next run.</p>
        <a class="button" href="/triage?tab=processed">See the ${count(data.processed, "processed finding")}</a>
      </div>`;
    }
    const traces = this.repositories.reduce((sum, own) => sum + own.traces, 0);
    return traces === 0
      ? html`<div class="notice">
          <h2>No results yet</h2>
          <p>Import the results of a benchmark, then look for changes:</p>
          <pre class="commands">knick import results.json\nknick run</pre>
        </div>`
      : html`<div class="notice">
          <h2>No changes found</h2>
          <p>There are ${count(traces, "trace")}. Run the alerts to look for changes, or look at the values yourself:</p>
          <pre class="commands">knick run</pre>
          <a class="button" href="/explore">Explore the traces</a>
        </div>`;
  }
}

/** What of an address decides which findings the server is asked for. */
function asked(address: TriageAddress): string {
  return writeAddress({ ...address, open: [], at: "" });
}

function traceAddress(row: MemberRow): TraceAddress {
  return {
    view: "trace",
    id: row.member.trace.id,
    line: row.member.place.line,
    first: undefined,
    last: undefined,
    scale: "auto",
    commit: row.member.place.position ?? undefined,
  };
}

function ticketLink(ticket: string) {
  return /^https?:\/\//.test(ticket) ? html`<a href=${ticket} target="_blank" rel="noreferrer">${ticket}</a>` : ticket;
}

customElements.define("kp-triage", TriageView);
