/** Triage: what is to be decided, and the keys that decide it. */

import { html, nothing, type PropertyValues } from "lit";
import { abandoned, api, shown, type ApiError, type Regressions, type Repository, type Status } from "../../api/client";
import type { DecidePart } from "../../parts/decide";
import { Part } from "../../parts/element";
import "../../parts/notices";
import { failed, waiting } from "../../parts/pieces";
import { toast } from "../../parts/toast";
import { go, writeAddress, type Tab, type TriageAddress } from "../../state/address";
import { decide, regroup } from "../../state/decide";
import { newestRun, readFreshness, watchFreshness, type Freshness } from "../../state/freshness";
import { addShortcuts } from "../../state/keys";
import { aimOf, cursorOf, groupRow, groupsOf, heirOf, layRows, move, nextAfter, sameAsBefore, toggle, withoutFindings, type GroupRow, type Row } from "../../state/rows";
import { count, decidedStatus } from "../../text/words";
import { memberAddress, type Desk } from "./desk";
import { renderEmpty } from "./empty";
import { shortcutsOf, type Keyboard } from "./shortcuts";
import { renderTable } from "./table";
import { renderPages, renderSelection, renderTools, renderTroubles } from "./tools";

const FEW_MEMBERS = 20;
const MOST_MEMBERS = 10_000;
const FILTER_DELAY = 250;

/** The rows as they were last shown, so that who comes back from a trace finds the place again. */
let seen: readonly string[] = [];

class TriageView extends Part implements Desk, Keyboard {
  static override properties = {
    address: { attribute: false },
    repositories: { attribute: false },
    data: { state: true },
    error: { state: true },
    busy: { state: true },
    freshness: { state: true },
    selected: { state: true },
  };
  declare address: TriageAddress;
  declare repositories: readonly Repository[];
  declare data: Regressions | undefined;
  declare error: ApiError | undefined;
  declare busy: boolean;
  declare freshness: Freshness | undefined;
  declare selected: ReadonlySet<number>;

  private members = FEW_MEMBERS;
  private request: AbortController | undefined;
  private anchor = "";
  private filterTimer = 0;
  /** Findings whose decision is on its way to the server; they have left the list already. */
  private readonly leaving = new Set<number>();
  private removeShortcuts: (() => void) | undefined;
  private readonly refresh = (): void => void this.load();
  private stopLooking: (() => void) | undefined;
  private readonly onSight = (): void => {
    if (document.visibilityState !== "visible") return;
    void this.load();
    void this.lookAtAlerts();
  };

  constructor() {
    super();
    this.selected = new Set();
    this.busy = false;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.removeShortcuts = addShortcuts(() => shortcutsOf(this));
    window.addEventListener("kp-decided", this.refresh);
    document.addEventListener("visibilitychange", this.onSight);
    this.stopLooking = watchFreshness(() => void this.lookAtAlerts());
    void this.lookAtAlerts();
  }

  override disconnectedCallback(): void {
    this.removeShortcuts?.();
    window.removeEventListener("kp-decided", this.refresh);
    document.removeEventListener("visibilitychange", this.onSight);
    this.stopLooking?.();
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

  override updated(): void {
    if (this.data) seen = this.rows.map((row) => row.id);
  }

  private async load(): Promise<void> {
    this.request?.abort();
    const request = (this.request = new AbortController());
    const { tab, repository, filter, direction, status, least, sort, page, size } = this.address;
    this.busy = true;
    try {
      const data = await api.regressions(
        {
          processed: tab === "processed",
          gone: tab === "gone",
          repository,
          filter,
          direction,
          status,
          minimum_effect: least > 0 ? least / 100 : undefined,
          sort,
          page,
          size,
          members: this.members,
        },
        request.signal,
      );
      this.take(data);
      this.error = undefined;
    } catch (thrown) {
      if (abandoned(thrown)) return;
      this.error = shown(thrown);
    }
    this.busy = false;
  }

  /** See when the alerts ran; after a new run, read the findings again. */
  private async lookAtAlerts(): Promise<void> {
    const before = this.freshness;
    try {
      this.freshness = await readFreshness();
    } catch {
      this.freshness = undefined; // what keeps the server from answering is told above the list
    }
    if (before && this.freshness && newestRun(before.alerts) !== newestRun(this.freshness.alerts)) void this.load();
  }

  /** Show an answer, without what is on its way off the list. */
  private take(data: Regressions): void {
    const groups = sameAsBefore(withoutFindings(data.groups, this.leaving), this.data?.groups ?? []);
    this.data = { ...data, groups };
    const there = new Set(groups.flatMap((group) => group.ids));
    this.selected = new Set([...this.selected].filter((id) => there.has(id)));
    const at = heirOf(this.rows, this.address.at, seen);
    if (at !== this.address.at) this.change({ at }, "replace");
  }

  private get rows(): Row[] {
    return layRows(this.data?.groups ?? [], this.address.open);
  }

  get current(): Row | undefined {
    return this.rows[cursorOf(this.rows, this.address.at)];
  }

  change(part: Partial<TriageAddress>, how: "push" | "replace" = "push"): void {
    go({ ...this.address, ...part }, how);
  }

  // ---- what keys do

  get aimed(): number[] {
    return aimOf(this.rows, this.address.at, this.selected);
  }

  step(by: number): void {
    const at = move(this.rows, this.address.at, by);
    this.change({ at }, "replace");
    void this.updateComplete.then(() => this.focusRow(at));
  }

  private focusRow(id: string): void {
    const row = [...this.querySelectorAll<HTMLElement>("tr[data-row]")].find((own) => own.dataset.row === id);
    row?.focus({ preventScroll: true });
    row?.scrollIntoView({ block: "nearest" });
  }

  turn(by: number): void {
    const page = Math.min(Math.max(this.address.page + by, 1), this.data?.pages ?? 1);
    if (page === this.address.page) return;
    this.change({ page, at: "" });
    window.scrollTo(0, 0);
  }

  open(row: Row | undefined): void {
    if (!row) return;
    if (row.kind === "member") go(memberAddress(row.member));
    else this.fold(row, !row.opened);
  }

  why(row: Row | undefined): void {
    if (!row) return;
    const { group } = row;
    const member = row.kind === "member" ? row.member : (group.members.find((own) => own.id === group.lead) ?? group.members[0]);
    if (member) go(memberAddress(member, { why: true }));
  }

  expand(opened: boolean): void {
    const row = this.current;
    if (!row) return;
    if (row.kind === "group") this.fold(row, opened);
    else if (!opened) {
      const id = groupRow(row.group);
      this.change({ open: this.address.open.filter((own) => own !== id), at: id }, "replace");
      void this.updateComplete.then(() => this.focusRow(id));
    }
  }

  show(tab: Tab): void {
    this.change({ tab, status: "", page: 1, open: [], at: "" });
  }

  // ---- what buttons do as well

  fold(row: GroupRow, opened: boolean): void {
    const others = this.address.open.filter((id) => id !== row.id);
    this.change({ open: opened ? [...others, row.id] : others, at: row.id }, "replace");
  }

  select(rows: readonly Row[]): void {
    this.selected = toggle(this.selected, rows);
  }

  clearSelection(): void {
    this.selected = new Set();
  }

  tickRow(row: Row, ranging: boolean): void {
    const ids = this.rows.map((own) => own.id);
    if (ranging) {
      const ends = [ids.indexOf(row.id), ids.indexOf(this.anchor || row.id)].sort((a, b) => a - b);
      this.selected = toggle(this.selected, this.rows.slice(Math.max(ends[0] ?? 0, 0), (ends[1] ?? 0) + 1), true);
    } else {
      this.selected = toggle(this.selected, [row]);
    }
    this.anchor = row.id;
    this.change({ at: row.id }, "replace");
  }

  async decideAbout(ids: number[], status: Status, more: { note?: string; ticket?: string } = {}): Promise<void> {
    if (ids.length === 0) return;
    const leaves = this.address.tab === "processed" ? status === "new" : status !== "new";
    if (!leaves) {
      await decide({ ids, status, ...more });
      return;
    }
    const left = new Set(ids);
    const at = nextAfter(this.rows, this.address.at, left);
    for (const id of ids) this.leaving.add(id);
    if (this.data) this.take(this.data);
    if (at) this.change({ at }, "replace");
    void this.updateComplete.then(() => this.focusRow(at));
    const done = await decide({ ids, status, ...more }, () => ids.forEach((id) => this.leaving.delete(id)));
    if (!done) void this.load();
  }

  async askTicket(ids: number[]): Promise<void> {
    if (ids.length === 0) return;
    const reply = await this.question?.ask({ kind: "ticket", findings: ids.length, status: "ticket" });
    if (reply?.ticket) await this.decideAbout(ids, "ticket", reply.note ? reply : { ticket: reply.ticket });
  }

  async askNote(ids: number[]): Promise<void> {
    if (ids.length === 0) return;
    const reply = await this.question?.ask({ kind: "note", findings: ids.length, status: "acknowledged" });
    if (!reply) return;
    const wanted = new Set(ids);
    const members = this.data?.groups.flatMap((group) => group.members) ?? [];
    const first = members.find((member) => wanted.has(member.id));
    await this.decideAbout(ids, first ? decidedStatus(first) : "new", { note: reply.note });
  }

  private get question(): DecidePart | null {
    return this.querySelector<DecidePart>("kp-decide");
  }

  async setApart(ids: number[]): Promise<void> {
    if (ids.length === 0) return;
    const { parts } = groupsOf(this.data?.groups ?? [], ids);
    const members = ids.filter((id) => parts.some((group) => group.ids.includes(id)));
    if (members.length === 0) {
      toast({ text: "Open a commit and select some of its traces; those are set apart from the others." });
      return;
    }
    if (await regroup("split", { ids: members, regressions: [] }, `Set ${count(members.length, "trace")} apart`)) this.clearSelection();
  }

  async merge(ids: number[]): Promise<void> {
    if (ids.length === 0) return;
    const { whole, parts } = groupsOf(this.data?.groups ?? [], ids);
    const groups = [...whole, ...parts];
    if (groups.length < 2) {
      toast({ text: "Select two commits or more; they become one regression." });
      return;
    }
    const regressions = groups.map((group) => group.id);
    if (await regroup("merge", { ids: [], regressions }, `Merged ${count(groups.length, "commit")} into one regression`)) this.clearSelection();
  }

  showAll(): void {
    this.members = MOST_MEMBERS;
    void this.load();
  }

  sortBy(sort: string, first: string): void {
    const now = this.address.sort;
    const next = now === `${first}${sort}` ? (first ? sort : `-${sort}`) : `${first}${sort}`;
    this.change({ sort: next, page: 1, at: "" });
  }

  typeFilter(filter: string): void {
    window.clearTimeout(this.filterTimer);
    this.filterTimer = window.setTimeout(() => this.change({ filter, page: 1, at: "" }, "replace"), filter ? FILTER_DELAY : 0);
  }

  // ---- what is shown

  override render() {
    return html`
      <h1 class="sr-only">Triage</h1>
      ${renderTools(this)} ${renderTroubles(this)}
      ${this.error ? failed(this.error, () => void this.load()) : nothing}
      ${this.data ? this.renderBody(this.data) : this.error ? nothing : waiting("Reading the findings")}
      ${this.selected.size > 0 ? renderSelection(this) : nothing}
      ${this.data && this.repositories.length > 0 ? html`<kp-notices></kp-notices>` : nothing}
      <kp-decide></kp-decide>
    `;
  }

  private renderBody(data: Regressions) {
    if (data.groups.length > 0) return html`${renderTable(this, data, this.rows)} ${renderPages(this, data)}`;
    return this.leaving.size > 0 || (this.busy && data.groups_total > 0) ? waiting("Reading the findings") : renderEmpty(this, data);
  }
}

/** What of an address decides which findings the server is asked for. */
function asked(address: TriageAddress): string {
  return writeAddress({ ...address, open: [], at: "" });
}

customElements.define("kp-triage", TriageView);
