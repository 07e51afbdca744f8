/** The explore page: find traces by a query, plot them together, calculate with them. */

import { Task } from "@lit/task";
import { html, nothing } from "lit";
import { customElement, property, query, state } from "lit/decorators.js";
import {
  api,
  toApiError,
  isAborted,
  type ApiError,
  type Facets,
  type NeverMeasured,
  type Repository,
  type TicketMark,
  type Trace,
  type Traces,
} from "../../api/client";
import type { Series } from "../../api/series";
import "../../charts/chart";
import type { Chart } from "../../charts/chart";
import type { ChartRange } from "../../charts/chart-data";
import "../../components/formula-field";
import type { FormulaField } from "../../components/formula-field";
import { PageElement } from "../../page-element";
import { showToast } from "../../state/toasts";
import { exploreRoute, type ExploreRoute } from "../../routes/explore";
import { navigate, type HistoryMode } from "../../routes/navigation";
import { traceRoute } from "../../routes/trace";
import {
  EMPTY_PLOT,
  MAX_LINES,
  PlotLoader,
  type FormulaFailure,
  type Plot,
  type PlotSelection,
} from "../../state/plot/plot-loader";
import { memoizeLast } from "../../state/memoize";
import { firstError, Resource } from "../../state/resource";
import { registerShortcuts } from "../../state/shortcuts";
import { errorNotice } from "../../templates/notice";
import { countText } from "../../text/numbers";
import { renderFacets } from "./facets";
import { renderPlot } from "./plot";
import { exploreShortcuts, type KeyboardActions } from "./shortcuts";
import { renderToolbar } from "./toolbar";
import { renderTraceList } from "./trace-list";

/** Points of a small drawing, and traces of one request for them. */
const SPARKLINE_POINTS = 60;
const SPARKLINES_PER_REQUEST = 100;
const QUERY_DELAY_MS = 250;

/** Whether the server refuses the query itself. */
function isQueryError(error: ApiError): boolean {
  return error.code === 400 || error.code === 422;
}

/** Whether an answer may stay below an error: that of an incomplete query, or an error of the same repository and query. */
function isStillValid(before: readonly unknown[], now: readonly unknown[], error: ApiError): boolean {
  return isQueryError(error) || (before[0] === now[0] && before[1] === now[1]);
}

@customElement("kp-explore")
export class ExploreView extends PageElement implements KeyboardActions {
  @property({ attribute: false }) route: ExploreRoute = exploreRoute;
  @property({ attribute: false }) repositories: readonly Repository[] = [];
  @state() sparklines: ReadonlyMap<number, Series> = new Map();
  @state() cursor = 0;
  @state() expandedFacets: ReadonlySet<string> = new Set();
  @state() private formulaFailure: FormulaFailure | undefined;
  @query("kp-chart") private readonly chart!: Chart | null;
  @query("kp-formula-field") private readonly formulaField!: FormulaField | null;

  private readonly tracesResource = new Resource(this, {
    args: () => this.listArgs(this.route.query, this.route.listed),
    load: ([repository, text, listed], signal) => api.traces(repository, text, listed, signal),
    // The list stays while the user types, and below the error of a query that is not yet complete.
    keepWhileLoading: () => true,
    keepAfterError: isStillValid,
    onAnswer: () => this.onTraces(),
  });
  private readonly facetsResource = new Resource(this, {
    args: () => this.listArgs(this.route.query),
    load: ([repository, text], signal) => api.facets(repository, text, signal),
    keepWhileLoading: () => true,
    keepAfterError: isStillValid,
  });
  private readonly neverMeasuredResource = new Resource(this, {
    args: () => this.listArgs(),
    load: ([repository], signal) => api.neverMeasured(repository, signal),
    keepWhileLoading: () => true,
  });
  private readonly sparklinesResource = new Resource(this, {
    args: () => (this.traces ? ([this.traces.traces] as const) : undefined),
    load: ([traces], signal) => this.loadSparklines(traces, signal),
  });
  private readonly plotLoader = new PlotLoader();
  private readonly plotResource = new Resource(this, {
    args: () => {
      const { traces, formulas, keys, first, last } = this.route;
      return [this.repository?.name ?? "", keys, traces.join(), formulas.join("\n"), first, last] as const;
    },
    load: ([repository, keys], signal) => this.loadPlot(repository, keys, signal),
    keepWhileLoading: () => true,
    keepAfterError: () => true,
    onAnswer: ({ failures }) => {
      if (failures[0]) [this.formulaFailure] = failures;
    },
  });
  private readonly ticketsResource = new Resource(this, {
    args: () => {
      const plotted = this.plot.lines.flatMap((line) => line.trace?.id ?? []);
      return plotted.length > 0 ? ([plotted.join()] as const) : undefined;
    },
    load: ([plotted], signal) => api.tickets(plotted.split(",").map(Number), "", signal),
    keepWhileLoading: () => true,
  });
  private readonly ticketsOf = memoizeLast(
    (tickets: readonly TicketMark[] | undefined): readonly TicketMark[] => tickets ?? [],
  );
  private readonly resources = [
    this.tracesResource,
    this.facetsResource,
    this.neverMeasuredResource,
    this.sparklinesResource,
    this.plotResource,
    this.ticketsResource,
  ];
  /** The formula that the user entered last. */
  private enteredFormula = "";
  /** Calculates it once before it is added to the plot, so that an error keeps it in its field. */
  private readonly formulaTask = new Task(this, {
    autoRun: false,
    args: () => [this.enteredFormula] as const,
    task: ([formula], { signal }) => api.formula(this.repository?.name ?? "", formula, MAX_LINES, signal),
    onComplete: ({ total }) => this.plotFormula(this.enteredFormula, total),
    onError: (thrown) => this.onFormulaError(thrown),
  });
  /** The repository and query of the list that the cursor is in. */
  private listOfCursor = "";
  private queryTimer = 0;
  private unregisterShortcuts: (() => void) | undefined;

  override connectedCallback(): void {
    super.connectedCallback();
    this.unregisterShortcuts = registerShortcuts(() => exploreShortcuts(this));
  }

  override disconnectedCallback(): void {
    this.unregisterShortcuts?.();
    this.formulaTask.abort();
    super.disconnectedCallback();
  }

  // ---- Data

  /** The repository followed by other arguments; nothing without results. */
  private listArgs<Rest extends readonly unknown[]>(...rest: Rest): readonly [string, ...Rest] | undefined {
    return this.repository && [this.repository.name, ...rest];
  }

  /** Another list begins at its first row; a longer one of the same query does not. */
  private onTraces(): void {
    const list = this.tracesResource.answeredArgs?.slice(0, 2).join(" ") ?? "";
    if (list !== this.listOfCursor) this.cursor = 0;
    this.listOfCursor = list;
  }

  /** Load the drawings of the listed traces that have none, and show them as they come. */
  private async loadSparklines(traces: readonly Trace[], signal: AbortSignal): Promise<void> {
    const listed = new Set(traces.map((trace) => trace.id));
    this.sparklines = new Map([...this.sparklines].filter(([id]) => listed.has(id)));
    const missing = [...listed].filter((id) => !this.sparklines.has(id));
    for (let from = 0; from < missing.length; from += SPARKLINES_PER_REQUEST) {
      const ids = missing.slice(from, from + SPARKLINES_PER_REQUEST);
      const series = await api.values(ids, { points: SPARKLINE_POINTS }, signal);
      signal.throwIfAborted();
      const loaded = ids.flatMap((id, index) => (series[index] ? [[id, series[index]] as const] : []));
      this.sparklines = new Map([...this.sparklines, ...loaded]);
    }
  }

  private async loadPlot(repository: string, keys: string, signal: AbortSignal): Promise<Plot> {
    await this.plotLoader.loadShortcut(repository, keys, signal);
    signal.throwIfAborted();
    const { plotSelection: selection, range } = this;
    if (selection.traces.length + selection.formulas.length === 0) return { ...this.plot, lines: [], omitted: 0 };
    const known = [...this.plot.lines.flatMap((line) => line.trace ?? []), ...(this.traces?.traces ?? [])];
    return this.plotLoader.load({ repository, selection, range, known }, signal);
  }

  private reload(): void {
    for (const resource of this.resources) resource.reload();
  }

  // ---- State that the parts of the page read

  get repository(): Repository | undefined {
    return this.repositories.find(({ name }) => name === this.route.repository) ?? this.repositories[0];
  }

  get traces(): Traces | undefined {
    return this.tracesResource.value;
  }

  get facets(): Facets | undefined {
    return this.facetsResource.value;
  }

  get neverMeasured(): readonly NeverMeasured[] {
    return this.neverMeasuredResource.value ?? [];
  }

  get tickets(): readonly TicketMark[] {
    return this.ticketsOf(this.ticketsResource.value);
  }

  get plot(): Plot {
    return this.plotResource.value ?? EMPTY_PLOT;
  }

  get plotSelection(): PlotSelection {
    return this.plotLoader.selectionOf(this.route);
  }

  get range(): ChartRange | undefined {
    const { first, last } = this.route;
    return first === undefined || last === undefined ? undefined : { first, last };
  }

  get queryError(): ApiError | undefined {
    const error = firstError([this.tracesResource, this.facetsResource]);
    return error && isQueryError(error) ? error : undefined;
  }

  get error(): ApiError | undefined {
    const { queryError } = this;
    return queryError ? this.plotResource.error : firstError(this.resources);
  }

  get isFailing(): boolean {
    return this.error !== undefined || this.formulaFailure !== undefined;
  }

  // ---- Actions

  updateRoute(part: Partial<ExploreRoute>, mode: HistoryMode = "push"): void {
    navigate({ ...this.route, ...part }, mode);
  }

  zoomTo(range: ChartRange | undefined, mode: HistoryMode = "replace"): void {
    this.updateRoute({ first: range?.first, last: range?.last }, mode);
  }

  queryAfterTyping(text: string): void {
    window.clearTimeout(this.queryTimer);
    const apply = (): void => this.updateRoute({ query: text.trim() }, "replace");
    this.queryTimer = window.setTimeout(apply, QUERY_DELAY_MS);
  }

  step(by: number): void {
    const last = (this.traces?.traces.length ?? 0) - 1;
    this.cursor = Math.max(0, Math.min(this.cursor + by, last));
    void this.updateComplete.then(() => {
      const row = this.querySelectorAll<HTMLElement>("tr[data-trace]")[this.cursor];
      row?.focus({ preventScroll: true });
      row?.scrollIntoView({ block: "nearest" });
    });
  }

  openTrace(trace: Trace): void {
    navigate(traceRoute(trace.id));
  }

  /** Open the trace of a line, or of the only one, at a commit; a line that a formula made has no page. */
  openCommit(position: number, line?: number): void {
    const [first, ...others] = this.plot.lines;
    const meant = line === undefined && others.length === 0 ? first : this.plot.lines.find(({ id }) => id === line);
    if (meant?.trace) navigate(traceRoute(meant.id, { commit: position }));
  }

  toggleTrace(id: number): void {
    const { traces, formulas } = this.plotSelection;
    const isPlotted = traces.includes(id);
    if (!isPlotted && this.plot.lines.length + this.plot.omitted >= MAX_LINES) {
      showToast({ text: `At most ${MAX_LINES} lines can be drawn. Remove one from the plot first.` });
      this.requestUpdate(); // resets the checkbox, which the browser has checked
      return;
    }
    const next = isPlotted ? traces.filter((trace) => trace !== id) : [...traces, id];
    this.updateRoute({ traces: next, formulas, keys: "" }, "replace");
  }

  plotFirst(): void {
    const ids = (this.traces?.traces ?? []).slice(0, MAX_LINES).map((trace) => trace.id);
    this.updateRoute({ traces: ids, keys: "" });
  }

  clearPlot(): void {
    this.updateRoute({ traces: [], formulas: [], keys: "", first: undefined, last: undefined });
  }

  private enterFormula(formula: string): void {
    this.formulaFailure = undefined;
    this.enteredFormula = formula;
    void this.formulaTask.run();
  }

  private onFormulaError(thrown: unknown): void {
    if (!isAborted(thrown)) this.formulaFailure = { formula: this.enteredFormula, error: toApiError(thrown) };
  }

  private plotFormula(formula: string, total: number): void {
    if (total === 0) showToast({ text: "The formula gives no traces: none match its query." });
    if (total > MAX_LINES) {
      const traces = countText(total, "trace");
      showToast({ text: `The formula gives ${traces}; the first ${MAX_LINES} are plotted.` });
    }
    this.formulaField?.clear();
    const { traces, formulas } = this.plotSelection;
    if (!formulas.includes(formula)) this.updateRoute({ traces, formulas: [...formulas, formula], keys: "" });
  }

  removeFormula(formula: string): void {
    const { traces, formulas } = this.plotSelection;
    this.updateRoute({ traces, formulas: formulas.filter((other) => other !== formula), keys: "" }, "replace");
  }

  focusFormula(): void {
    this.formulaField?.focus();
  }

  /** Save the plotted traces and formulas as a shortcut, and use its id in the URL. */
  async createShortAddress(): Promise<void> {
    const { formulas } = this.plotSelection;
    const keys = this.plot.lines.flatMap((line) => line.trace?.key ?? []);
    if (keys.length + formulas.length === 0) return;
    try {
      const { id } = await api.createShortcut(keys, [...formulas]);
      this.updateRoute({ traces: [], formulas: [], keys: id, query: "" }, "replace");
      showToast({ text: "The address of this page is short now. It stands for these traces and formulas for good." });
    } catch (thrown) {
      const error = toApiError(thrown);
      showToast({ text: `${error.message} ${error.remedy}`, failure: true });
    }
  }

  expandFacet(facet: string): void {
    this.expandedFacets = new Set([...this.expandedFacets, facet]);
  }

  highlightLine(id: number | undefined): void {
    this.chart?.highlightLine(id);
  }

  refreshTooltip(): void {
    this.chart?.refreshTooltip();
  }

  // ---- Rendering

  override render() {
    if (!this.repository) {
      return html`<div class="notice">
        <h2>No results yet</h2>
        <p>Import the results of a benchmark to see them here:</p>
        <pre class="commands">knick import results.json</pre>
      </div>`;
    }
    const { error, formulaFailure } = this;
    return html`
      <h1 class="sr-only">Explore</h1>
      ${renderToolbar(this)}
      <kp-formula-field
        .error=${formulaFailure?.error}
        .formula=${formulaFailure?.formula ?? ""}
        @kp-formula=${(event: CustomEvent<string>) => this.enterFormula(event.detail)}
      ></kp-formula-field>
      ${error ? errorNotice(error, () => this.reload()) : nothing} ${renderPlot(this)}
      <div class="explore-columns">
        <aside class="facets" aria-label="Params">${renderFacets(this)}</aside>
        <section aria-label="Traces">${renderTraceList(this)}</section>
      </div>
    `;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    "kp-explore": ExploreView;
  }
}
