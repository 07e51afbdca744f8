/** The list of the triage page: read from the server once, then changed by what decisions did to it. */

import type { ReactiveControllerHost } from "lit";
import {
  api,
  isAborted,
  toApiError,
  type ApiError,
  type ChangeDirection,
  type Finding,
  type ListFilter,
  type Change,
  type ChangeList,
  type Status,
} from "../../api/client";
import { routeUrl } from "../../routes/routes";
import type { Tab, TriageRoute } from "../../routes/triage";
import { checkTriageFilter, parseTriageFilter } from "../../text/triage-filter";
import { memoizeLast } from "../memoize";
import { Resource } from "../resource";
import { recordDecision, type DecisionInput, type DecisionResult } from "./decisions";
import { grownChanges, patchFindings, patchList, reuseFinding, reuseUnchanged, withoutFindings } from "./list-patch";
import type { Selection } from "./selection";

/** Findings of each change that come with the list. */
const FIRST_FINDINGS = 1;
/** Findings of one change that come with one further request. */
export const FINDINGS_PER_REQUEST = 200;
/** The most findings that the server sends at once. */
const MOST_FINDINGS = 500;

/** The state of the request for more findings of a change; none where there is no request. */
export type FindingsRequest = "loading" | ApiError;

/** The list that a route names, as the API filters it. */
export function listFilter(route: TriageRoute): ListFilter {
  const fields = parseTriageFilter(route.filter);
  return {
    repository: route.repository,
    processed: route.tab === "processed",
    history: route.tab === "history",
    all: route.tab === "all",
    gone: route.tab === "gone",
    filter: fields.filter,
    direction: (route.direction || null) as ChangeDirection | null,
    status: (route.status || null) as Status | null,
    certainty: (fields.certainty ?? null) as NonNullable<ListFilter["certainty"]> | null,
    kind: (fields.kind ?? null) as NonNullable<ListFilter["kind"]> | null,
    condition: (fields.condition ?? null) as NonNullable<ListFilter["condition"]> | null,
    since: fields.since ?? null,
    until: fields.until ?? null,
    alert: fields.alert ?? "",
    alert_kind: (route.alertKind || null) as NonNullable<ListFilter["alert_kind"]> | null,
    assignee: fields.assignee ?? "",
    ticket: fields.ticket ?? "",
    minimum_hazard: 0,
    minimum_effect: route.minimumPercent / 100,
    minimum_sigma: fields.minimum_sigma ?? 0,
  };
}

/** Whether two routes list the same rows; expanded rows and the keyboard do not change the list. */
function listsTheSame([a]: readonly [TriageRoute], [b]: readonly [TriageRoute]): boolean {
  const key = (route: TriageRoute): string => routeUrl({ ...route, open: [], at: "" });
  return key(a) === key(b);
}

/** Whether a finding with this status is no longer on a tab. */
export function leavesTab(tab: Tab, status: Status | undefined): boolean {
  return status !== undefined && tab !== "all" && (tab === "processed" ? status === "new" : status !== "new");
}

export class TriageList {
  /** The last answer of the server, with what decisions did to it since. */
  private readonly answer: Resource<readonly [TriageRoute], ChangeList>;
  /** The requests for more findings, by id of the change. */
  readonly findingsRequests = new Map<string, FindingsRequest>();
  private findingsAbort = new AbortController();
  /** Changes of which findings came back that are not loaded, and how many. */
  private readonly stale = new Map<string, number>();
  /** Findings whose decision is on its way to the server: no longer on the page, but still in the answer. */
  private leaving: readonly Selection[] = [];
  private readonly withoutLeaving = memoizeLast(
    (known: ChangeList | undefined, leaving: readonly Selection[]): ChangeList | undefined =>
      known && {
        ...known,
        changes: leaving.reduce((left, selection) => withoutFindings(left, selection), known.changes),
      },
  );

  constructor(
    private readonly host: ReactiveControllerHost,
    private readonly route: () => TriageRoute,
  ) {
    this.answer = new Resource(host, {
      args: () => [route()] as const,
      argsEqual: listsTheSame,
      load: ([asked], signal) => this.load(asked, signal),
      // Rows stay while a filter or an order loads, but a key must never decide about rows of another tab.
      keepWhileLoading: ([before], [now]) => before.tab === now.tab && before.repository === now.repository,
    });
    host.addController({ hostDisconnected: () => this.abortFindings() });
  }

  private get known(): ChangeList | undefined {
    return this.answer.value;
  }

  /** The list that is shown: the answer without the findings whose decision is on its way. */
  get data(): ChangeList | undefined {
    return this.withoutLeaving(this.known, this.leaving);
  }

  get error(): ApiError | undefined {
    return this.answer.error;
  }

  get loading(): boolean {
    return this.answer.loading;
  }

  /** The list that the shown rows belong to, and so the findings that a decision about them may reach. */
  get filter(): ListFilter | undefined {
    const answered = this.answer.answeredArgs;
    return answered && listFilter(answered[0]);
  }

  /** Ids of the changes in their order, with those whose decision is on its way. */
  get order(): string[] {
    return this.known?.changes.map((change) => change.id) ?? [];
  }

  /** Whether the list is only empty until decisions are recorded or the list is loaded. */
  get pending(): boolean {
    return this.leaving.length > 0 || (this.loading && (this.data?.total ?? 0) > 0);
  }

  reload(): void {
    this.answer.reload();
  }

  private async load(route: TriageRoute, signal: AbortSignal): Promise<ChangeList> {
    if (!this.known) this.abortFindings();
    checkTriageFilter(route.filter);
    const { sort, page, size } = route;
    const filter = listFilter(route);
    const answer = await api.changes({ ...filter, sort, page, size, members: FIRST_FINDINGS }, signal);
    const known = listsTheSame([route], this.answer.answeredArgs ?? [route]) ? (this.known?.changes ?? []) : [];
    const stale = new Map(this.stale);
    const whole = known.filter(({ id }) => !stale.has(id));
    const changes = reuseUnchanged(answer.changes, whole);
    const before = new Map(known.map((change) => [change.id, change]));
    const filled = changes.map((each) => {
      const old = before.get(each.id);
      const wanted = (old?.members.length ?? 0) + (stale.get(each.id) ?? 0);
      return this.withAsMany(each, old, { filter, wanted }, signal);
    });
    const loaded = { ...answer, changes: await Promise.all(filled) };
    for (const id of stale.keys()) this.stale.delete(id);
    return loaded;
  }

  /**
   * A change that somebody decided about, with as many findings as are wanted: those that were loaded of it before.
   *
   * Without them, its rows would go from under the eyes of whoever reads them, and the keyboard with them.
   */
  private async withAsMany(
    now: Change,
    before: Change | undefined,
    { filter, wanted }: { filter: ListFilter; wanted: number },
    signal: AbortSignal,
  ): Promise<Change> {
    if (!before || before === now || !this.route().open.includes(now.id)) return now;
    const most = Math.min(wanted, now.traces);
    const known = new Map(before.members.map((finding) => [finding.id, finding]));
    const members: Finding[] = [];
    for (let isWhole = false; !isWhole && members.length < most;) {
      const size = Math.min(MOST_FINDINGS, most - members.length);
      const page = await api.findings(now.id, members.at(-1)?.id, size, filter, signal);
      members.push(...page.members.map((finding) => reuseFinding(finding, known.get(finding.id))));
      isWhole = page.after === null;
    }
    return members.length < now.members.length ? now : { ...now, members };
  }

  /** Decide about findings that leave the list by it: at once. They return as they were if the decision fails. */
  async decideAndRemove(input: DecisionInput): Promise<ApiError | undefined> {
    this.leaving = [...this.leaving, input.findings];
    this.host.requestUpdate();
    const returned = (): void => void (this.leaving = this.leaving.filter((each) => each !== input.findings));
    const failure = await recordDecision(input, returned);
    this.host.requestUpdate();
    return failure;
  }

  /** Apply what a decision did, wherever on the page it was made. */
  apply({ answer, filter, order, written }: DecisionResult): void {
    const { known } = this;
    const { tab, size } = this.route();
    if (!known || JSON.stringify(filter) !== JSON.stringify(this.filter)) {
      // Also a list that is on its way: the server may have read it before the decision.
      this.reload();
      return;
    }
    // What was written, on the findings that stay
    let changes: readonly Change[] = known.changes;
    if (written) {
      const { findings, patch } = written;
      changes = patchFindings(changes, findings, patch);
      if (leavesTab(tab, patch.status)) changes = withoutFindings(changes, findings);
    }
    // What the server says of the changes concerned
    const patched = patchList({ ...known, changes: [...changes] }, answer, tab, order);
    this.answer.update({ ...patched, pages: Math.max(1, Math.ceil(patched.total / size)) });
    // Fill up a page that is half empty; a list that is loading may be from before the decision.
    const halfEmpty = 2 * patched.changes.length < Math.min(size, patched.total);
    for (const [id, by] of grownChanges(known.changes, answer.changes)) this.stale.set(id, by);
    if (this.loading || halfEmpty || this.stale.size > 0) this.reload();
  }

  /** Load the findings that follow the loaded ones of a change. */
  async loadFindings(id: string): Promise<void> {
    const { filter } = this;
    const { signal } = this.findingsAbort;
    const lastLoaded = (): string | undefined => this.change(id)?.members.at(-1)?.id;
    const after = lastLoaded();
    const { members = [], traces = 0 } = this.change(id) ?? {};
    if (!filter || members.length >= traces || this.findingsRequests.get(id) === "loading") return;
    this.findingsRequests.set(id, "loading");
    this.host.requestUpdate();
    try {
      const { members } = await api.findings(id, after, FINDINGS_PER_REQUEST, filter, signal);
      if (signal.aborted) return;
      this.findingsRequests.delete(id);
      // The list may have been loaded again meanwhile; then these findings would not follow the last one.
      if (lastLoaded() === after) this.appendFindings(id, members);
      this.host.requestUpdate();
    } catch (thrown) {
      if (signal.aborted || isAborted(thrown)) return;
      this.findingsRequests.set(id, toApiError(thrown));
      this.host.requestUpdate();
    }
  }

  private change(id: string): Change | undefined {
    return this.known?.changes.find((change) => change.id === id);
  }

  private appendFindings(id: string, findings: Change["members"]): void {
    const { known } = this;
    if (!known) return;
    const changes = known.changes.map((change) =>
      change.id === id ? { ...change, members: [...change.members, ...findings] } : change,
    );
    this.answer.update({ ...known, changes });
  }

  private abortFindings(): void {
    this.findingsAbort.abort();
    this.findingsAbort = new AbortController();
    this.findingsRequests.clear();
  }

  /** Load the first findings of the expanded changes. */
  loadExpanded(isExpanded: (change: Change) => boolean): void {
    for (const change of this.known?.changes ?? []) {
      const incomplete = change.members.length < Math.min(change.traces, FINDINGS_PER_REQUEST);
      if (incomplete && isExpanded(change) && !this.findingsRequests.has(change.id)) {
        void this.loadFindings(change.id);
      }
    }
  }
}
