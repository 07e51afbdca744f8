/** The triage page: the findings to decide about, and the decisions. */

import { html, nothing, type PropertyValues } from "lit";
import { customElement, property, query, state } from "lit/decorators.js";
import { api, type Caller, type ChangeList, type Repository, type Status } from "../../api/client";
import { onReconnect } from "../../api/connection";
import "../../components/decision-dialog";
import type { DecisionDialog, DecisionQuestion } from "../../components/decision-dialog";
import "../../components/notices";
import { PUBLISHED } from "../../api/published-data";
import { PageElement } from "../../page-element";
import { showToast } from "../../state/toasts";
import { navigate, type HistoryMode } from "../../routes/navigation";
import { keepHere, keptHere } from "../../routes/place";
import { triageRoute, type Tab, type TriageRoute } from "../../routes/triage";
import { applyColumns, isPanelShown, showColumn, watchPanelRoom } from "../../state/triage/columns";
import { LogWatch } from "../../state/triage/log-watch";
import { loadFreshness, newestRun, pollWhileVisible, type Freshness } from "../../state/freshness";
import { memoizeLast } from "../../state/memoize";
import { Resource } from "../../state/resource";
import { isAllowed, isAllowedSomewhere } from "../../state/access";
import { registerShortcuts } from "../../state/shortcuts";
import type { DecisionResult } from "../../state/triage/decisions";
import { focusRow, RowWindow } from "../../state/triage/row-window";
import {
  cursorIndex,
  decisionTargets,
  layOutRows,
  nearestRemainingRow,
  rowsBetween,
  stepRow,
  toggleRows,
  memberOf,
  type ChangeRow,
  type Row,
} from "../../state/triage/rows";
import {
  formatSelection,
  NOTHING,
  parseSelection,
  selectionWithin,
  type Selection,
} from "../../state/triage/selection";
import { listFilter, TriageList, type FindingsRequest } from "../../state/triage/triage-list";
import { registerVisibleList } from "../../state/triage/visible-list";
import { errorNotice, loadingNotice } from "../../templates/notice";
import { findingRoute } from "./context";
import { Deciding, type DecidingPage } from "./deciding";
import { renderEmptyState } from "./empty-state";
import { renderHead } from "./head";
import { renderPager } from "./pager";
import { renderSelectionBar } from "./selection-bar";
import { triageShortcuts, type KeyboardActions } from "./shortcuts";
import "./panel";
import type { PanelElement } from "./panel";
import { renderTable } from "./table";
import { isSearchable } from "./table-rows";
import { renderToolbar, renderTroubles } from "./toolbar";

const FILTER_DELAY_MS = 250;
const NONE: ChangeList["changes"] = [];

/**
 * The ids of the rows as they were last shown.
 *
 * They outlive the element: a user who comes back from a trace page, where the finding was decided about, continues
 * with the next row.
 */
let lastShownRows: readonly string[] = [];

@customElement("kp-triage")
export class TriageView extends PageElement implements KeyboardActions, DecidingPage {
  @property({ attribute: false }) route: TriageRoute = triageRoute;
  @property({ attribute: false }) repositories: readonly Repository[] = [];
  @property({ attribute: false }) caller!: Caller;
  @state() selection: Selection = NOTHING;
  @query("kp-decision-dialog") readonly dialog!: DecisionDialog | null;
  @query("kp-change-panel") private readonly panel!: PanelElement | null;

  readonly list = new TriageList(this, () => this.route);
  readonly rowWindow = new RowWindow(this);
  private readonly trackersResource = new Resource(this, {
    args: () => (isAllowedSomewhere(this.caller, "decide") ? (["trackers"] as const) : undefined),
    load: (_, signal) => api.trackers(signal),
  });
  private readonly freshnessResource = new Resource<readonly [], Freshness>(this, {
    args: () => [],
    load: (_, signal) => loadFreshness(signal),
    // The error above the list says why there is none.
    keepAfterError: () => false,
    onAnswer: (now, before) => this.reloadAfterRun(now, before),
  });
  /** Another person decided: show it without a reload of the page. */
  private readonly log = new LogWatch(this, () => this.list.reload());
  /** The list that the selection and the keyboard follow. */
  private followedList: ChangeList | undefined;
  /** The row that was selected last, from which shift extends the selection. */
  private anchor = "";
  private filterTimer = 0;
  private readonly unsubscribe: (() => void)[] = [];

  private readonly onDecided = (event: Event): void => {
    const { detail } = event as CustomEvent<DecisionResult | null>;
    // A bisection that ended says no more than that.
    if (detail) this.list.apply(detail);
    else this.list.reload();
    this.log.skip();
  };
  private readonly onVisible = (): void => {
    if (document.visibilityState === "visible") this.reload();
  };

  override connectedCallback(): void {
    super.connectedCallback();
    this.selection = parseSelection(keptHere());
    applyColumns();
    window.addEventListener("kp-decided", this.onDecided);
    document.addEventListener("visibilitychange", this.onVisible);
    this.unsubscribe.push(
      registerShortcuts(() => triageShortcuts(this)),
      registerVisibleList(() => ({ filter: this.list.filter ?? listFilter(this.route), order: this.list.order })),
      pollWhileVisible(() => this.freshnessResource.reload()),
      onReconnect(() => this.onVisible()),
      watchPanelRoom(() => this.requestUpdate()),
    );
  }

  override disconnectedCallback(): void {
    window.removeEventListener("kp-decided", this.onDecided);
    document.removeEventListener("visibilitychange", this.onVisible);
    for (const stop of this.unsubscribe.splice(0)) stop();
    super.disconnectedCallback();
  }

  override willUpdate(changed: PropertyValues<this>): void {
    const before = changed.get("route");
    if (before && (before.tab !== this.route.tab || before.repository !== this.route.repository)) {
      this.selection = parseSelection(keptHere());
    }
    if (this.list.data !== this.followedList) this.followList(this.list.data);
    this.list.loadExpanded((change) => this.route.open.includes(change.id));
  }

  override updated(changed: PropertyValues<this>): void {
    if (changed.has("selection") || changed.has("route")) keepHere(formatSelection(this.selection));
    if (this.data) lastShownRows = this.rows.map((row) => row.id);
  }

  private reload(): void {
    this.list.reload();
    this.log.skip();
    this.freshnessResource.reload();
  }

  /** Load the findings again after a new run of the alerts. */
  private reloadAfterRun(now: Freshness, before: Freshness | undefined): void {
    if (before && newestRun(before.alerts) !== newestRun(now.alerts)) this.list.reload();
  }

  /** Follow a list that changed: deselect the changes that left, and keep the keyboard on a row that is there. */
  private followList(data: ChangeList | undefined): void {
    this.followedList = data;
    if (!data) return;
    this.selection = selectionWithin(this.selection, data.changes);
    const at = nearestRemainingRow(this.rows, this.route.at, lastShownRows);
    if (at !== this.route.at) this.updateRoute({ at }, "replace");
  }

  // ---- State that the parts of the page read

  get data(): ChangeList | undefined {
    return this.list.data;
  }

  get decides(): boolean {
    return isAllowedSomewhere(this.caller, "decide");
  }

  mayDecide(repository: string): boolean {
    return isAllowed(this.caller, "decide", repository);
  }

  get loading(): boolean {
    return this.list.loading;
  }

  /** The names of the trackers that tickets can be made in. */
  get trackers(): readonly string[] {
    return this.trackersResource.value?.map(({ name }) => name) ?? [];
  }

  get freshness(): Freshness | undefined {
    return this.freshnessResource.value;
  }

  get findingsRequests(): ReadonlyMap<string, FindingsRequest> {
    return this.list.findingsRequests;
  }

  private readonly layOut = memoizeLast(layOutRows);

  /** The rows that are shown. */
  get rows(): readonly Row[] {
    return this.layOut(this.data?.changes ?? NONE, this.route.open);
  }

  get currentRow(): Row | undefined {
    return this.rows[cursorIndex(this.rows, this.route.at)];
  }

  get targets(): Selection {
    const { currentRow, selection } = this;
    const repository = currentRow?.change.repository ?? "";
    if (currentRow && selection.size === 0 && !this.mayDecide(repository)) {
      showToast({ text: `You may read the changes of ${repository}, but not decide about them.` });
      return NOTHING;
    }
    return decisionTargets(this.rows, this.route.at, selection);
  }

  // ---- Movement

  updateRoute(part: Partial<TriageRoute>, mode: HistoryMode = "push"): void {
    navigate({ ...this.route, ...part }, mode);
  }

  step(by: number, from = stepRow): void {
    this.moveTo(from(this.rows, this.route.at, by));
  }

  private moveTo(at: string, part: Partial<TriageRoute> = {}): void {
    this.updateRoute({ ...part, at }, "replace");
    void this.updateComplete.then(() => focusRow(at));
  }

  readonly focusRow = focusRow;

  turnPage(by: number): void {
    const page = Math.min(Math.max(this.route.page + by, 1), this.data?.pages ?? 1);
    if (page === this.route.page) return;
    this.updateRoute({ page, at: "" });
    window.scrollTo(0, 0);
  }

  showTab(tab: Tab): void {
    this.updateRoute({ tab, status: "", page: 1, open: [], at: "" });
  }

  openRow(row: Row | undefined): void {
    if (row?.kind === "finding") navigate(findingRoute(row.finding));
    else if (row) this.expandRow(row, !row.expanded);
  }

  explainRow(row: Row | undefined): void {
    if (!row) return;
    const finding = memberOf(row);
    if (finding) navigate(findingRoute(finding, { why: true }));
  }

  expandRow(row: ChangeRow, expanded: boolean): void {
    const others = this.route.open.filter((id) => id !== row.id);
    this.updateRoute({ open: expanded ? [...others, row.id] : others, at: row.id }, "replace");
  }

  expandCurrent(expanded: boolean): void {
    const row = this.currentRow;
    if (row?.kind === "change") this.expandRow(row, expanded);
    else if (row && expanded) this.loadFindings(row.change.id);
    if (row?.kind !== "finding" || expanded) return;
    const parent = row.change.id;
    this.moveTo(parent, { open: this.route.open.filter((id) => id !== parent) });
  }

  loadFindings(change: string): void {
    void this.list.loadFindings(change);
  }

  sortBy(column: string, first: "-" | ""): void {
    const second = first ? column : `-${column}`;
    const sort = this.route.sort === `${first}${column}` ? second : `${first}${column}`;
    this.updateRoute({ sort, page: 1, at: "" });
  }

  filterAfterTyping(filter: string): void {
    window.clearTimeout(this.filterTimer);
    const apply = (): void => this.updateRoute({ filter, page: 1, at: "" }, "replace");
    this.filterTimer = window.setTimeout(apply, filter ? FILTER_DELAY_MS : 0);
  }

  showColumn(name: string, shown: boolean): void {
    showColumn(name, shown);
    this.requestUpdate();
  }

  togglePanel(): void {
    this.showColumn("panel", !isPanelShown());
  }

  async findCommit(row: Row | undefined): Promise<void> {
    if (!row) return;
    const { change } = row;
    const finding = memberOf(row);
    if (!finding || !isSearchable(change)) {
      showToast({ text: "Nothing to search: the commit is known, or a search for it was asked for already." });
      return;
    }
    if (!this.hasPanel) {
      navigate(findingRoute(finding));
      return;
    }
    this.updateRoute({ at: row.id }, "replace");
    await this.updateComplete;
    await this.panel?.search();
  }

  // ---- Selection

  toggleRows(rows: readonly Row[]): void {
    this.selection = toggleRows(this.selection, rows);
  }

  clearSelection(): void {
    this.selection = NOTHING;
  }

  selectRow(row: Row, extend: boolean): void {
    const rows = this.rows.filter(({ change }) => this.mayDecide(change.repository));
    if (!rows.some(({ id }) => id === row.id)) return;
    const range = extend && rowsBetween(rows, row.id, this.anchor || row.id);
    this.selection = range ? toggleRows(this.selection, range, true) : toggleRows(this.selection, [row]);
    this.anchor = row.id;
    this.updateRoute({ at: row.id }, "replace");
  }

  // ---- Decisions

  private readonly deciding = new Deciding(this);

  decide(findings: Selection, status: Status): Promise<void> {
    return this.deciding.decide(findings, status);
  }

  ask(kind: DecisionQuestion["kind"], findings: Selection): Promise<void> {
    return this.deciding.ask(kind, findings);
  }

  split(findings: Selection): Promise<void> {
    return this.deciding.split(findings);
  }

  merge(findings: Selection): Promise<void> {
    return this.deciding.merge(findings);
  }

  // ---- Rendering

  override render() {
    const { data } = this;
    const { error } = this.list;
    return html`
      ${renderHead(this.route)} ${renderToolbar(this)} ${renderTroubles(this)}
      ${error ? errorNotice(error, () => this.list.reload()) : nothing}
      ${data ? this.renderList(data) : error ? nothing : loadingNotice("Loading the findings")}
      ${this.selection.size > 0 ? renderSelectionBar(this) : nothing}
      ${data && this.repositories.length > 0 ? html`<kp-notices></kp-notices>` : nothing}
      <kp-decision-dialog></kp-decision-dialog>
    `;
  }

  /** Published pages have no pictures of a server. */
  private get hasPanel(): boolean {
    return PUBLISHED === undefined && isPanelShown();
  }

  private renderList(data: ChangeList) {
    const row = this.currentRow;
    if (row)
      return html`<div class="list-and-panel">
        <div class="list">${renderTable(this, data, this.rows)} ${renderPager(this, data)}</div>
        ${
          this.hasPanel
            ? html`<kp-change-panel .row=${row} .mayDecide=${this.mayDecide(row.change.repository)}></kp-change-panel>`
            : nothing
        }
      </div>`;
    if (this.list.pending) return loadingNotice("Loading the findings");
    return this.list.error ? nothing : renderEmptyState(this, data);
  }
}

declare global {
  interface HTMLElementTagNameMap {
    "kp-triage": TriageView;
  }
}
