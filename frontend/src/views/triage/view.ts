/** Triage: what is to be decided, and the keys that decide it. */

import { html, nothing, type PropertyValues } from "lit";
import type { ApiError, Regressions, Repository, Status } from "../../api/client";
import { whenBack } from "../../api/connection";
import type { DecidePart } from "../../components/decision-dialog";
import { Part } from "../../components/page-element";
import "../../components/notices";
import { failed, waiting } from "../../templates/finding";
import { toast } from "../../components/toast";
import { go, type Tab, type TriageAddress } from "../../routes/routes";
import { decide, regroup, type Outcome } from "../../state/triage/decisions";
import { newestRun, readFreshness, watchFreshness, type Freshness } from "../../state/freshness";
import { addShortcuts } from "../../state/shortcuts";
import { Latest } from "../../state/latest";
import { asked, FindingList, filterOf, leavesList } from "../../state/triage/triage-list";
import {
  aimOf,
  cursorOf,
  groupRow,
  heirOf,
  layRows,
  move,
  nextAfter,
  toggle,
  type GroupRow,
  type Row,
} from "../../state/triage/rows";
import { countOf, groupsOf, NOTHING, within, withoutSelection, type Selection } from "../../state/triage/selection";
import { showList } from "../../state/triage/undo-stack";
import { count } from "../../text/findings";
import { memberAddress, type Desk } from "./context";
import { renderEmpty } from "./empty-state";
import { shortcutsOf, type Keyboard } from "./shortcuts";
import { renderTable } from "./table";
import { renderPages, renderSelection, renderTools, renderTroubles } from "./toolbar";

const FILTER_DELAY = 250;

/** The rows as they were last shown, so that who comes back from a trace finds the place again. */
let seen: readonly string[] = [];

class TriageView extends Part implements Desk, Keyboard {
  static override properties = {
    address: { attribute: false },
    repositories: { attribute: false },
    freshness: { state: true },
    selected: { state: true },
  };
  declare address: TriageAddress;
  declare repositories: readonly Repository[];
  declare freshness: Freshness | undefined;
  declare selected: Selection;

  private readonly list = new FindingList(() => this.onList());
  private readonly looking = new Latest();
  private anchor = "";
  private filterTimer = 0;
  private readonly endings: (() => void)[] = [];
  private readonly onDecided = (event: Event): void => this.list.take((event as CustomEvent<Outcome>).detail);
  private readonly onSight = (): void => {
    if (document.visibilityState !== "visible") return;
    this.load();
    void this.lookAtAlerts();
  };

  constructor() {
    super();
    this.selected = NOTHING;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    window.addEventListener("kp-decided", this.onDecided);
    document.addEventListener("visibilitychange", this.onSight);
    this.endings.push(
      addShortcuts(() => shortcutsOf(this)),
      showList(() => ({ filter: this.list.filter ?? filterOf(this.address), order: this.list.order })),
      watchFreshness(() => void this.lookAtAlerts()),
      whenBack(() => this.onSight()),
    );
    void this.lookAtAlerts();
  }

  override disconnectedCallback(): void {
    window.removeEventListener("kp-decided", this.onDecided);
    document.removeEventListener("visibilitychange", this.onSight);
    for (const end of this.endings.splice(0)) end();
    this.list.stop();
    this.looking.stop();
    super.disconnectedCallback();
  }

  get data(): Regressions | undefined {
    return this.list.data;
  }

  get busy(): boolean {
    return this.list.busy;
  }

  override willUpdate(changed: PropertyValues<this>): void {
    if (!changed.has("address")) return;
    const before = changed.get("address");
    if (!before || asked(before) !== asked(this.address)) {
      const another =
        before !== undefined && (before.tab !== this.address.tab || before.repository !== this.address.repository);
      if (another) this.selected = NOTHING;
      void this.list.load(this.address, another);
    }
    this.fillOpened();
  }

  override updated(): void {
    if (this.data) seen = this.rows.map((row) => row.id);
  }

  private load(): void {
    void this.list.load(this.address);
  }

  /** See when the alerts ran; after a new run, read the findings again. */
  private lookAtAlerts(): Promise<void> {
    const before = this.freshness;
    return this.looking.run(
      async (signal, present) => {
        this.freshness = present(await readFreshness(signal));
        if (before && newestRun(before.alerts) !== newestRun(this.freshness.alerts)) this.load();
      },
      () => (this.freshness = undefined), // the error above the list says why the server does not answer
    );
  }

  /** Follow a list that has changed: what is selected, where the keyboard is, which members are missing. */
  private onList(): void {
    this.requestUpdate();
    if (!this.data) return;
    this.selected = within(this.selected, this.data.groups);
    const at = heirOf(this.rows, this.address.at, seen);
    if (at !== this.address.at) this.change({ at }, "replace");
    this.fillOpened();
  }

  private fillOpened(): void {
    const { open } = this.address;
    this.list.fill((group) => open.includes(groupRow(group)));
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

  get aimed(): Selection {
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
    const member =
      row.kind === "member" ? row.member : (group.members.find((own) => own.id === group.lead) ?? group.members[0]);
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
    this.selected = NOTHING;
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

  async decideAbout(
    findings: Selection,
    status: Status | undefined,
    more: { note?: string; ticket?: string } = {},
  ): Promise<void> {
    if (findings.size === 0) return;
    const wish = { findings, ...(status && { status }), ...more };
    if (!leavesList(this.address.tab, status)) {
      await decide(wish);
      return;
    }
    const at = nextAfter(this.rows, this.address.at, findings);
    this.selected = withoutSelection(this.selected, findings);
    const done = this.list.takeOff(wish);
    if (at) this.change({ at }, "replace");
    void this.updateComplete.then(() => this.focusRow(at));
    await done;
  }

  private number(findings: Selection): number {
    return countOf(this.data?.groups ?? [], findings);
  }

  async askTicket(findings: Selection): Promise<void> {
    if (findings.size === 0) return;
    const reply = await this.question?.ask({ kind: "ticket", findings: this.number(findings), status: "ticket" });
    if (reply?.ticket) await this.decideAbout(findings, "ticket", reply.note ? reply : { ticket: reply.ticket });
  }

  async askNote(findings: Selection): Promise<void> {
    if (findings.size === 0) return;
    const reply = await this.question?.ask({ kind: "note", findings: this.number(findings), status: "acknowledged" });
    if (!reply) return;
    await this.decideAbout(findings, undefined, { note: reply.note });
  }

  private get question(): DecidePart | null {
    return this.querySelector<DecidePart>("kp-decide");
  }

  async setApart(findings: Selection): Promise<void> {
    if (findings.size === 0) return;
    const { parts } = groupsOf(this.data?.groups ?? [], findings);
    if (parts.length === 0) {
      toast({ text: "Open a commit and select some of its traces; those are set apart from the others." });
      return;
    }
    const apart = within(findings, parts);
    if (await regroup("split", apart, `Set ${count(this.number(apart), "trace")} apart`)) this.clearSelection();
  }

  async merge(findings: Selection): Promise<void> {
    if (findings.size === 0) return;
    const { whole, parts } = groupsOf(this.data?.groups ?? [], findings);
    const groups = [...whole, ...parts];
    if (groups.length < 2) {
      toast({ text: "Select two commits or more; they become one regression." });
      return;
    }
    const together = toggle(NOTHING, layRows(groups, []), true);
    if (await regroup("merge", together, `Merged ${count(groups.length, "commit")} into one regression`))
      this.clearSelection();
  }

  moreMembers(group: number): void {
    void this.list.more(group);
  }

  get paging(): ReadonlyMap<number, "reading" | ApiError> {
    return this.list.paging;
  }

  sortBy(sort: string, first: string): void {
    const now = this.address.sort;
    const next = now === `${first}${sort}` ? (first ? sort : `-${sort}`) : `${first}${sort}`;
    this.change({ sort: next, page: 1, at: "" });
  }

  typeFilter(filter: string): void {
    window.clearTimeout(this.filterTimer);
    this.filterTimer = window.setTimeout(
      () => this.change({ filter, page: 1, at: "" }, "replace"),
      filter ? FILTER_DELAY : 0,
    );
  }

  // ---- what is shown

  override render() {
    return html`
      <h1 class="sr-only">Triage</h1>
      ${renderTools(this)} ${renderTroubles(this)}
      ${this.list.error ? failed(this.list.error, () => this.load()) : nothing}
      ${this.data ? this.renderBody(this.data) : this.list.error ? nothing : waiting("Reading the findings")}
      ${this.selected.size > 0 ? renderSelection(this) : nothing}
      ${this.data && this.repositories.length > 0 ? html`<kp-notices></kp-notices>` : nothing}
      <kp-decide></kp-decide>
    `;
  }

  private renderBody(data: Regressions) {
    if (data.groups.length > 0) return html`${renderTable(this, data, this.rows)} ${renderPages(this, data)}`;
    if (this.list.pending) return waiting("Reading the findings");
    return this.list.error ? nothing : renderEmpty(this, data);
  }
}

customElements.define("kp-triage", TriageView);
