/** The page of one trace: its values over commits, its changes, and why the method found these and no others. */

import { html, nothing } from "lit";
import { customElement, property, query } from "lit/decorators.js";
import { keyed } from "lit/directives/keyed.js";
import {
  api,
  type ApiError,
  type Caller,
  type ChangePoints,
  type Commit,
  type Environment,
  type Explanation,
  type Finding,
  type MissedChange,
  type Repository,
  type Run,
  type Statement,
  type TicketMark,
  type QuarantinedValue,
  type RemeasuredValue,
} from "../../api/client";
import type { Series } from "../../api/series";
import "../../charts/chart";
import "../../components/bisection-panel";
import "../../components/decision-dialog";
import type { DecisionDialog } from "../../components/decision-dialog";
import type { Chart } from "../../charts/chart";
import type { ChartCandidate, ChartLine, ChartMark, ChartPatterns, ChartRange } from "../../charts/chart-data";
import { PUBLISHED } from "../../api/published-data";
import { PageElement } from "../../page-element";
import { exploreRoute } from "../../routes/explore";
import { navigate, type HistoryMode } from "../../routes/navigation";
import { routeUrl } from "../../routes/routes";
import { traceRoute, type TraceRoute } from "../../routes/trace";
import { isAllowed } from "../../state/access";
import { FirstPaint } from "../../state/first-paint";
import { memoizeLast } from "../../state/memoize";
import { CommitCache } from "../../state/plot/commit-cache";
import { ValueCache } from "../../state/plot/value-cache";
import { firstError, Resource } from "../../state/resource";
import { registerShortcuts } from "../../state/shortcuts";
import { errorNotice, loadingNotice } from "../../templates/notice";
import { traceName } from "../../text/trace-names";
import { renderChangeList } from "./change-list";
import { renderCommitPanel } from "./commit-panel";
import { changeAt, type FailureMark, type TraceContext } from "./context";
import { renderExplanation } from "./explanation";
import { chartPatterns } from "./patterns";
import { renderPlot } from "./plot";
import { candidatesOf, failuresOf, findingsOf, isSameTrace, linesOf, marksOf } from "./plot-data";
import { plottedSummary, withRegions } from "./plot-data";
import { traceShortcuts } from "./shortcuts";
import { loadSuspects, type SuspectList } from "./suspects";
import { renderTitle } from "./title";

const NO_TIMES = new Float64Array();
/** The same list each time: the chart redraws when it gets another one. */
const NONE: readonly never[] = [];

@customElement("kp-trace")
export class TraceView extends PageElement implements TraceContext {
  @property({ attribute: false }) route: TraceRoute = traceRoute(0);
  @property({ attribute: false }) repositories: readonly Repository[] = [];
  @property({ attribute: false }) caller!: Caller;
  @query("kp-chart") private readonly chart!: Chart | null;
  @query("kp-decision-dialog") readonly dialog!: DecisionDialog | null;

  // ---- Data of the server, in the order in which one needs another

  private readonly changesResource = new Resource(this, {
    args: () => [this.route.id, this.route.line] as const,
    load: ([id, line], signal) => api.changePoints(id, line, signal),
    onAnswer: ({ trace }) => (document.title = `${traceName(trace.params).name} · Knickpoint`),
  });
  private readonly valueCache = new ValueCache();
  private readonly seriesResource = new Resource(this, {
    args: () =>
      [this.route.id, this.route.line, this.plotted?.summary ?? "", this.route.first, this.route.last] as const,
    load: async ([id, line, summary], signal) =>
      (await this.valueCache.fetch([id], line, this.range, signal, undefined, summary))[0],
    // Another range of the same trace: the plot shows what it has of it.
    keepWhileLoading: isSameTrace,
    keepAfterError: isSameTrace,
  });
  private readonly timesResource = new Resource(this, {
    args: () => (this.changes ? ([this.changes.trace.repository, this.changes.line] as const) : undefined),
    load: ([repository, line], signal) => api.times(repository, line, signal),
  });
  private readonly firstPaint = new FirstPaint(
    this,
    () => this.changesResource.finished && this.seriesResource.finished,
  );
  private readonly patternsResource = this.ofTrace(api.patterns);
  private readonly environmentsResource = this.ofTrace(api.environments);
  private readonly withoutValueResource = this.ofTrace(api.withoutValue);
  private readonly quarantinedResource = this.ofTrace(api.quarantined);
  private readonly remeasuredResource = this.ofTrace(api.remeasured);
  private readonly ticketsResource = this.ofTrace((id, line, signal) => api.tickets([id], line, signal));
  private readonly missedResource = this.ofTrace(api.missed);
  private readonly trackersResource = new Resource(this, {
    args: () => (this.firstPaint.done && this.mayDecide ? (["trackers"] as const) : undefined),
    load: (_, signal) => api.trackers(signal),
  });
  private readonly commitResource = new Resource(this, {
    args: () => {
      const { commits } = this;
      const { commit: position } = this.route;
      return commits && position !== undefined ? ([commits, position] as const) : undefined;
    },
    load: ([commits, position]) => commits.at(position),
    keepWhileLoading: ([before], [now]) => before === now,
  });
  private readonly runsResource = new Resource(this, {
    args: () => (this.isCommitLoaded && this.commit ? ([this.route.id, this.commit.hash] as const) : undefined),
    load: ([id, hash], signal) => api.runs(id, hash, signal),
  });
  private readonly suspectsResource = new Resource(this, {
    args: () => {
      const { commits } = this;
      const finding = this.isCommitLoaded ? changeAt(this, this.route.commit) : undefined;
      return commits && finding ? ([this.route.id, commits, finding, this.route.commit] as const) : undefined;
    },
    load: ([id, commits, finding], signal) => loadSuspects(id, commits, finding, signal),
  });
  private readonly explanationResource = new Resource(this, {
    args: () => (this.route.why && PUBLISHED === undefined ? ([this.route.id, this.route.line] as const) : undefined),
    load: ([id, line], signal) => api.explain(id, line, signal),
  });
  /** All but the explanation, whose error is in its panel. */
  private readonly resources = [
    this.changesResource,
    this.seriesResource,
    this.timesResource,
    this.patternsResource,
    this.environmentsResource,
    this.withoutValueResource,
    this.quarantinedResource,
    this.remeasuredResource,
    this.ticketsResource,
    this.missedResource,
    this.commitResource,
    this.runsResource,
    this.suspectsResource,
  ];

  // ---- Data of the plot; memoized, since the chart redraws when it gets another array

  private readonly commitCache = memoizeLast(
    (repository: string | undefined, line: string | undefined): CommitCache | undefined =>
      repository === undefined || line === undefined ? undefined : new CommitCache(repository, line),
  );
  private readonly withRegions = memoizeLast(withRegions);
  private readonly linesOf = memoizeLast(linesOf);
  private readonly findingsOf = memoizeLast(findingsOf);
  private readonly marksOf = memoizeLast(marksOf);
  private readonly failuresOf = memoizeLast(failuresOf);
  private readonly candidatesOf = memoizeLast(candidatesOf);
  private readonly patternsOf = memoizeLast(chartPatterns);

  private unregisterShortcuts: (() => void) | undefined;
  private readonly onDecided = (): void => {
    this.changesResource.reload();
    this.remeasuredResource.reload();
    this.ticketsResource.reload();
    this.missedResource.reload();
  };
  private readonly onMissed = (): void => this.missedResource.reload();

  /** What the page loads of the trace on its line, once it has painted values and changes. */
  private ofTrace<Answer>(load: (id: number, line: string, signal?: AbortSignal) => Promise<Answer>) {
    return new Resource(this, {
      args: () => (this.firstPaint.done ? ([this.route.id, this.route.line] as const) : undefined),
      load: ([id, line], signal) => load(id, line, signal),
    });
  }

  override connectedCallback(): void {
    super.connectedCallback();
    window.addEventListener("kp-decided", this.onDecided);
    window.addEventListener("kp-missed", this.onMissed);
    this.unregisterShortcuts = registerShortcuts(() => traceShortcuts(this));
  }

  override disconnectedCallback(): void {
    window.removeEventListener("kp-decided", this.onDecided);
    window.removeEventListener("kp-missed", this.onMissed);
    this.unregisterShortcuts?.();
    super.disconnectedCallback();
  }

  // ---- State that the parts of the page read

  get mayDecide(): boolean {
    const { caller, changes } = this;
    return changes !== undefined && isAllowed(caller, "decide", changes.trace.repository);
  }

  get trackers(): readonly string[] {
    return this.trackersResource.value?.map(({ name }) => name) ?? NONE;
  }

  get plotted() {
    return plottedSummary(this.changesResource.value, this.route);
  }

  get changes(): ChangePoints | undefined {
    return this.withRegions(this.changesResource.value, this.plotted);
  }

  get series(): Series | undefined {
    return this.seriesResource.value;
  }

  get times(): Float64Array {
    return this.timesResource.value ?? NO_TIMES;
  }

  get commits(): CommitCache | undefined {
    return this.commitCache(this.changes?.trace.repository, this.changes?.line);
  }

  get lines(): readonly ChartLine[] {
    return this.linesOf(this.changes?.trace, this.series);
  }

  get findings(): readonly Finding[] {
    return this.findingsOf(this.changes, this.route.gone);
  }

  statementOf({ change }: Finding): Statement | undefined {
    return this.changes?.statements[change ?? ""];
  }

  get marks(): readonly ChartMark[] {
    return this.marksOf(
      this.findings,
      this.changes?.statements,
      this.missed,
      this.changes?.summaries ?? NONE,
      this.plotted,
    );
  }

  get patterns(): ChartPatterns {
    return this.patternsOf(this.plotted ? undefined : this.patternsResource.value, this.changes?.trace.unit ?? "");
  }

  get environments(): readonly Environment[] {
    return this.environmentsResource.value ?? NONE;
  }

  get failures(): readonly FailureMark[] {
    return this.failuresOf(this.withoutValueResource.value, this.series);
  }

  get quarantined(): readonly QuarantinedValue[] {
    return (this.plotted ? undefined : this.quarantinedResource.value) ?? NONE;
  }

  get remeasured(): readonly RemeasuredValue[] {
    return (this.plotted ? undefined : this.remeasuredResource.value) ?? NONE;
  }

  get tickets(): readonly TicketMark[] {
    return this.ticketsResource.value ?? NONE;
  }

  get missed(): readonly MissedChange[] {
    return this.missedResource.value ?? NONE;
  }

  get candidates(): readonly ChartCandidate[] {
    return this.candidatesOf(this.route.why ? this.explanation : undefined);
  }

  get commit(): Commit | undefined {
    return this.route.commit === undefined ? undefined : this.commitResource.value;
  }

  /** Whether the commit is the pinned one, and not yet the one that was pinned before. */
  private get isCommitLoaded(): boolean {
    return this.commitResource.answeredArgs?.[1] === this.route.commit;
  }

  get runs(): readonly Run[] {
    const isAnswer = this.isCommitLoaded && this.runsResource.answeredArgs?.[1] === this.commit?.hash;
    return (isAnswer ? this.runsResource.value : undefined) ?? [];
  }

  get suspects(): SuspectList | undefined {
    const isAnswer = this.isCommitLoaded && this.suspectsResource.answeredArgs?.[3] === this.route.commit;
    return isAnswer ? this.suspectsResource.value : undefined;
  }

  get explanation(): Explanation | undefined {
    return this.explanationResource.value;
  }

  get error(): ApiError | undefined {
    return firstError(this.resources);
  }

  get explanationError(): ApiError | undefined {
    return this.explanationResource.error;
  }

  get range(): ChartRange | undefined {
    const { first, last } = this.route;
    return first === undefined || last === undefined ? undefined : { first, last };
  }

  get wholeRange(): ChartRange {
    const { changes } = this;
    const last = changes?.last ?? Math.max((changes?.commits ?? 1) - 1, 0);
    return { first: changes?.first ?? 0, last: Math.max(last, ...this.quarantined.map(({ position }) => position)) };
  }

  // ---- Actions

  updateRoute(part: Partial<TraceRoute>, mode: HistoryMode = "replace"): void {
    navigate({ ...this.route, ...part }, mode);
  }

  zoomTo(range: ChartRange | undefined, mode: HistoryMode = "replace"): void {
    this.updateRoute({ first: range?.first, last: range?.last }, mode);
  }

  openExplanation(open: boolean, commit = this.route.commit): void {
    if (open === this.route.why && commit === this.route.commit) return;
    this.updateRoute({ why: open, commit });
    if (!open) return;
    void this.updateComplete.then(() => this.querySelector("details.why")?.scrollIntoView({ block: "nearest" }));
  }

  reloadExplanation(): void {
    this.explanationResource.reload();
  }

  refreshTooltip(): void {
    this.chart?.refreshTooltip();
  }

  private retry(): void {
    for (const resource of this.resources) resource.retry();
  }

  // ---- Rendering

  /** The search for the cause of the change that begins at the pinned commit. */
  private renderBisection() {
    const finding = changeAt(this, this.route.commit);
    if (!finding || finding.condition === "gone" || finding.change === null) return nothing;
    return keyed(
      finding.change,
      html`<kp-bisection-panel .change=${finding.change} .mayDecide=${this.mayDecide}></kp-bisection-panel>`,
    );
  }

  private renderUnknown(error: ApiError) {
    return html`${errorNotice(error, error.code === 404 ? undefined : () => this.retry())}
      <p class="part"><a class="button" href=${routeUrl(exploreRoute)}>All traces</a></p>`;
  }

  override render() {
    const { changes, error } = this;
    if (!changes) return error ? this.renderUnknown(error) : loadingNotice("Loading the trace");
    return html`
      ${renderTitle(this, changes)} ${error ? errorNotice(error, () => this.retry()) : nothing}
      ${renderPlot(this, changes)}
      <div class="trace-below">${renderChangeList(this, changes)} ${renderCommitPanel(this, changes)}</div>
      ${this.renderBisection()} ${PUBLISHED === undefined ? renderExplanation(this) : nothing}
      <kp-decision-dialog></kp-decision-dialog>
    `;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    "kp-trace": TraceView;
  }
}
