/** The explore page: find traces by a query, plot them together, calculate with them. */

import { Task } from "@lit/task";
import { html, nothing, type PropertyValues } from "lit";
import { customElement, property, query, state } from "lit/decorators.js";
import { api, ApiError, isAborted, toApiError, type Repository, type Trace } from "../../api/client";
import "../../charts/chart";
import type { Chart } from "../../charts/chart";
import type { ChartRange, Hovered } from "../../charts/chart-data";
import "../../components/formula-field";
import type { FormulaField } from "../../components/formula-field";
import { PUBLISHED } from "../../api/published-data";
import { PageElement } from "../../page-element";
import { FirstPaint } from "../../state/first-paint";
import { showToast } from "../../state/toasts";
import { EMPTY_GRAPH, exploreRoute, type ExploreRoute } from "../../routes/explore";
import { navigate, type HistoryMode } from "../../routes/navigation";
import { keepHere, keptHere } from "../../routes/place";
import { traceRoute } from "../../routes/trace";
import { LineLoader, MAX_FORMULA_LINES, type FormulaFailure, type Plot } from "../../state/plot/plot-loader";
import { firstError } from "../../state/resource";
import { registerShortcuts } from "../../state/shortcuts";
import { errorNotice } from "../../templates/notice";
import type { LegendOrder } from "../../text/line-stats";
import { countText } from "../../text/numbers";
import type { ExportFormat } from "./context";
import { ExploreData, type ExploreHost } from "./data";
import { savePlot } from "./export";
import { renderFacets } from "./facets";
import "./formula-dialog";
import type { FormulaDialog, WrittenFormula } from "./formula-dialog";
import { Graph, matchGraphs, type GraphHost } from "./graph";
import { GraphEdits } from "./graph-edits";
import { graphsOf, shortened } from "./graphs";
import { renderPlot } from "./plot";
import { omittedText } from "./plot-selection";
import { exploreShortcuts, type KeyboardActions } from "./shortcuts";
import { renderQueryDialog } from "./query-dialog";
import { renderToolbar } from "./toolbar";
import { renderTraceList } from "./trace-list";
import { showDialog } from "../../state/overlays";

const QUERY_DELAY_MS = 250;

@customElement("kp-explore")
export class ExploreView extends PageElement implements KeyboardActions, ExploreHost, GraphHost {
  @property({ attribute: false }) route: ExploreRoute = exploreRoute;
  @property({ attribute: false }) repositories: readonly Repository[] = [];
  @state() cursor = 0;
  @state() expandedFacets: ReadonlySet<string> = new Set();
  /** By what the legends are sorted; undefined for the order of the plot. */
  @state() legendOrder: LegendOrder | undefined;
  /** Whether the table of a crowd of lines is open. */
  @state() isLegendExpanded = false;
  @state() private isQuerying = false;
  /** What was typed into the field of the query, until the route has it. */
  @state() private typed: string | undefined;
  @state() private formulaFailure: FormulaFailure | undefined;
  @query("kp-formula-dialog") private readonly formulaDialog!: FormulaDialog | null;
  @query("kp-formula-field") private readonly formulaField!: FormulaField | null;

  readonly data = new ExploreData(this);
  private readonly lineLoader = new LineLoader();
  private readonly firstPaint = new FirstPaint(this, () => !this.graphs.some(({ isAwaited }) => isAwaited));
  graphs: readonly Graph[] = [];
  readonly edits = new GraphEdits(this);
  /** The formula that the user entered last. */
  private enteredFormula = "";
  /** Calculates it once before it is added to the plot, so that an error keeps it in its field. */
  private readonly formulaTask = new Task(this, {
    autoRun: false,
    args: () => [this.enteredFormula] as const,
    task: ([formula], { signal }) => api.formula(this.repository?.name ?? "", formula, MAX_FORMULA_LINES, signal),
    onComplete: ({ total }) => this.plotFormula(this.enteredFormula, total),
    onError: (thrown) => this.onFormulaError(thrown),
  });
  private queryTimer = 0;
  private hasListed = false;
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

  override willUpdate(changed: PropertyValues<this>): void {
    if (!changed.has("route")) return;
    this.graphs = matchGraphs(this.graphs, graphsOf(this.route), (chosen) => new Graph(this, this.lineLoader, chosen));
  }

  // ---- State that the parts of the page read

  get graph(): Graph {
    const graph = this.graphs[this.route.above];
    if (!graph) throw new Error("the page has no graph before its first update");
    return graph;
  }

  get line(): Pick<Plot, "times" | "commits"> {
    return (this.graphs.find(({ plot }) => plot.commits) ?? this.graph).plot;
  }

  get listedTraces(): readonly Trace[] {
    return this.data.traces?.traces ?? [];
  }

  get repository(): Repository | undefined {
    return this.repositories.find(({ name }) => name === this.route.repository) ?? this.repositories[0];
  }

  get query(): string {
    return this.typed ?? this.route.query;
  }

  get range(): ChartRange | undefined {
    const { first, last } = this.route;
    return first === undefined || last === undefined ? undefined : { first, last };
  }

  get error(): ApiError | undefined {
    // Below a query that cannot be read stands what is wrong with it; the graphs do not depend on it.
    return this.data.error ?? firstError(this.graphs);
  }

  get isFailing(): boolean {
    return this.error !== undefined || this.formulaFailure !== undefined;
  }

  /** Whether the first plot of the page is not yet painted, which the list below it and its marks wait for. */
  get isWaiting(): boolean {
    return !this.firstPaint.done || this.graphs.some(({ isAwaited }) => isAwaited);
  }

  /** The first list of an entry of the history has its cursor where the person left it. */
  onNewList(): void {
    const kept = this.hasListed ? 0 : keptHere();
    this.cursor = typeof kept === "number" ? kept : 0;
    this.hasListed = true;
  }

  onFormulaFailure(failure: FormulaFailure): void {
    this.formulaFailure = failure;
  }

  // ---- Actions

  updateRoute(part: Partial<ExploreRoute>, mode: HistoryMode = "push"): void {
    if (part.query !== undefined) {
      // What was typed before does not replace this query.
      window.clearTimeout(this.queryTimer);
      this.typed = undefined;
    }
    navigate({ ...this.route, ...part }, mode);
  }

  zoomTo(range: ChartRange | undefined, mode: HistoryMode = "replace"): void {
    this.updateRoute({ first: range?.first, last: range?.last }, mode);
  }

  queryAfterTyping(text: string): void {
    window.clearTimeout(this.queryTimer);
    const typed = text.trim() && text;
    this.typed = typed;
    const apply = (): void => this.updateRoute({ query: typed }, "replace");
    this.queryTimer = window.setTimeout(apply, QUERY_DELAY_MS);
  }

  sortLegend(order: LegendOrder | undefined): void {
    this.legendOrder = order;
  }

  expandLegend(isOpen: boolean): void {
    this.isLegendExpanded = isOpen;
  }

  step(by: number): void {
    const last = (this.data.traces?.traces.length ?? 0) - 1;
    this.cursor = Math.max(0, Math.min(this.cursor + by, last));
    keepHere(this.cursor);
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
  openCommit({ plot: { lines } }: Graph, position: number, line?: number): void {
    const [first, ...others] = lines;
    const meant = line === undefined && others.length === 0 ? first : lines.find(({ id }) => id === line);
    if (meant?.trace) navigate(traceRoute(meant.id, { commit: position }));
  }

  plotQuery(): void {
    const { query } = this;
    this.updateRoute({ query, traces: [], plotted: query, keys: "", hidden: [] });
  }

  clearPlot(): void {
    if (this.graphs.length > 1) {
      this.edits.remove(this.graph);
      return;
    }
    this.graph.picked = undefined;
    this.updateRoute({ ...EMPTY_GRAPH, first: undefined, last: undefined });
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
    if (total > MAX_FORMULA_LINES) {
      const traces = countText(total, "trace");
      showToast({ text: `The formula gives ${traces}; the first ${MAX_FORMULA_LINES} are plotted.` });
    }
    this.formulaField?.clear();
    const { formulas, ...selection } = this.graph.selection;
    if (!formulas.includes(formula)) this.updateRoute({ ...selection, formulas: [...formulas, formula], keys: "" });
  }

  openFormulaMenu(): void {
    const facets = this.data.facets?.facets ?? [];
    this.formulaDialog?.open(
      this.query,
      facets.map(({ name }) => name),
    );
  }

  /** Plot a formula of the menu, or write it into the field, where an error in it is shown as well. */
  private useFormula({ formula, plot }: WrittenFormula): void {
    if (plot) this.enterFormula(formula);
    else this.formulaField?.write(formula);
  }

  focusFormula(): void {
    this.formulaField?.focus();
  }

  /** Save the plotted traces and formulas of each graph as a shortcut, and use their ids in the URL. */
  async createShortAddress(): Promise<void> {
    const drawn = this.graphs.filter(({ plot, selection }) => plot.lines.length + selection.formulas.length > 0);
    const cut = drawn.find(
      ({ plot, plottedIds, selection }) => selection.plotted !== undefined && plottedIds.size < plot.selected,
    );
    if (cut) showToast({ text: `${omittedText(cut.plot)} Narrow it before you give it a short address.` });
    if (cut || drawn.length === 0) return;
    await this.attempt(async () => {
      const ids = await Promise.all(
        this.graphs.map(async ({ chosen, plot, selection }) => {
          const keys = plot.lines.flatMap((line) => line.trace?.key ?? []);
          if (chosen.keys || keys.length + selection.formulas.length === 0) return chosen.keys;
          return (await api.createShortcut(keys, [...selection.formulas])).id;
        }),
      );
      this.updateRoute({ ...shortened(this.route, ids), query: "" }, "replace");
      showToast({ text: "The address of this page is short now, and always leads to these traces and formulas." });
    });
  }

  async savePlot(format: ExportFormat, graph: Graph): Promise<void> {
    const [chart] = this.chartsOf(graph);
    if (chart) await this.attempt(() => savePlot(format, chart, graph.plot, this.route));
  }

  async findBase(revision: string): Promise<void> {
    await this.attempt(async () => {
      const base = revision ? (await api.commit(this.repository?.name ?? "", revision)).position : undefined;
      if (base === null) throw new ApiError("The commit is not on the plotted line.");
      this.updateRoute({ base }, "replace");
    });
  }

  private async attempt(action: () => Promise<void>): Promise<void> {
    try {
      await action();
    } catch (thrown) {
      const error = toApiError(thrown);
      showToast({ text: `${error.message} ${error.remedy}`, failure: true });
    }
  }

  openQueryDialog(): void {
    this.isQuerying = true;
    void this.updateComplete.then(() => showDialog(this.querySelector<HTMLDialogElement>(".query-dialog")));
  }

  expandFacet(facet: string): void {
    this.expandedFacets = new Set([...this.expandedFacets, facet]);
  }

  pick(graph: Graph, hovered: Hovered | undefined): void {
    graph.picked = hovered;
    this.requestUpdate();
  }

  private chartsOf(graph: Graph): Iterable<Chart> {
    return this.querySelectorAll(`[data-graph="${this.graphs.indexOf(graph)}"] kp-chart`);
  }

  highlightLine(graph: Graph, id: number | undefined): void {
    for (const chart of this.chartsOf(graph)) chart.highlightLine(id);
  }

  private reload(): void {
    for (const part of [this.data, ...this.graphs]) part.reload();
  }

  refreshPicked(): void {
    this.requestUpdate();
  }

  refreshTooltip(): void {
    for (const chart of this.querySelectorAll("kp-chart")) chart.refreshTooltip();
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
    const { error } = this;
    return html`
      <h1 class="sr-only">Explore</h1>
      ${renderToolbar(this)} ${PUBLISHED === undefined ? this.renderFormulas() : nothing}
      ${error ? errorNotice(error, () => this.reload()) : nothing} ${renderPlot(this)}
      ${this.isQuerying ? renderQueryDialog(this, () => (this.isQuerying = false)) : nothing}
      <div class="explore-columns">
        <aside class="facets" aria-label="Params">${renderFacets(this)}</aside>
        <section aria-label="Traces">${renderTraceList(this)}</section>
      </div>
    `;
  }

  private renderFormulas() {
    const { formulaFailure } = this;
    return html`<kp-formula-field
        .error=${formulaFailure?.error}
        .formula=${formulaFailure?.formula ?? ""}
        @kp-formula=${(event: CustomEvent<string>) => this.enterFormula(event.detail)}
        @kp-menu=${() => this.openFormulaMenu()}
      ></kp-formula-field>
      <kp-formula-dialog
        @kp-written=${({ detail }: CustomEvent<WrittenFormula>) => this.useFormula(detail)}
      ></kp-formula-dialog>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    "kp-explore": ExploreView;
  }
}
