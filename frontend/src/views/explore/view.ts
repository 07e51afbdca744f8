/** The explore page: find traces by a query, plot them together, calculate with them. */

import { Task } from "@lit/task";
import { html, nothing } from "lit";
import { customElement, property, query, state } from "lit/decorators.js";
import { api, ApiError, isAborted, toApiError, type Repository, type Trace } from "../../api/client";
import "../../charts/chart";
import type { Chart } from "../../charts/chart";
import type { ChartRange, Hovered } from "../../charts/chart-data";
import { smoothed } from "../../charts/smoothing";
import "../../components/formula-field";
import type { FormulaField } from "../../components/formula-field";
import { PageElement } from "../../page-element";
import { showToast } from "../../state/toasts";
import { exploreRoute, type ExploreRoute } from "../../routes/explore";
import { navigate, type HistoryMode } from "../../routes/navigation";
import { traceRoute } from "../../routes/trace";
import { memoizeLast } from "../../state/memoize";
import { MAX_FORMULA_LINES, type FormulaFailure, type PlottedLine } from "../../state/plot/plot-loader";
import { registerShortcuts } from "../../state/shortcuts";
import { errorNotice } from "../../templates/notice";
import { countText } from "../../text/numbers";
import { ExploreData, type ExploreHost } from "./data";
import { savePlot, type ExportFormat } from "./export";
import { renderFacets } from "./facets";
import "./formula-dialog";
import type { FormulaDialog, WrittenFormula } from "./formula-dialog";
import { renderPlot } from "./plot";
import { omittedText, toggledTrace } from "./plot-selection";
import { exploreShortcuts, type KeyboardActions } from "./shortcuts";
import { renderQueryDialog } from "./query-dialog";
import { renderToolbar } from "./toolbar";
import { renderTraceList } from "./trace-list";

const QUERY_DELAY_MS = 250;

@customElement("kp-explore")
export class ExploreView extends PageElement implements KeyboardActions, ExploreHost {
  @property({ attribute: false }) route: ExploreRoute = exploreRoute;
  @property({ attribute: false }) repositories: readonly Repository[] = [];
  @state() cursor = 0;
  @state() expandedFacets: ReadonlySet<string> = new Set();
  /** The value of a crowd of lines that was clicked. */
  @state() picked: Hovered | undefined;
  @state() private isQuerying = false;
  @state() private formulaFailure: FormulaFailure | undefined;
  @query("kp-chart") private readonly chart!: Chart | null;
  @query("kp-formula-dialog") private readonly formulaDialog!: FormulaDialog | null;
  @query("kp-formula-field") private readonly formulaField!: FormulaField | null;

  readonly data = new ExploreData(this);
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
  private readonly smoothLines = memoizeLast((lines: readonly PlottedLine[], count: number) =>
    count > 1 ? lines.map((line) => smoothed(line, count)) : lines,
  );
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

  // ---- State that the parts of the page read

  get repository(): Repository | undefined {
    return this.repositories.find(({ name }) => name === this.route.repository) ?? this.repositories[0];
  }

  get range(): ChartRange | undefined {
    const { first, last } = this.route;
    return first === undefined || last === undefined ? undefined : { first, last };
  }

  get drawnLines(): readonly PlottedLine[] {
    return this.smoothLines(this.data.plot.lines, this.route.smooth);
  }

  get isFailing(): boolean {
    return this.data.error !== undefined || this.formulaFailure !== undefined;
  }

  onNewList(): void {
    this.cursor = 0;
  }

  onFormulaFailure(failure: FormulaFailure): void {
    this.formulaFailure = failure;
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
    const apply = (): void => this.updateRoute({ query: text.trim() && text }, "replace");
    this.queryTimer = window.setTimeout(apply, QUERY_DELAY_MS);
  }

  step(by: number): void {
    const last = (this.data.traces?.traces.length ?? 0) - 1;
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
    const [first, ...others] = this.data.plot.lines;
    const meant =
      line === undefined && others.length === 0 ? first : this.data.plot.lines.find(({ id }) => id === line);
    if (meant?.trace) navigate(traceRoute(meant.id, { commit: position }));
  }

  toggleTrace(id: number): void {
    const change = toggledTrace(this.data.plotSelection, this.data.plot, id);
    if ("route" in change) this.updateRoute(change.route, "replace");
    else {
      showToast({ text: change.refusal });
      this.requestUpdate(); // resets the checkbox, which the browser has checked
    }
  }

  plotQuery(): void {
    this.updateRoute({ traces: [], plotted: this.route.query, keys: "" });
  }

  clearPlot(): void {
    this.picked = undefined;
    this.updateRoute({ traces: [], formulas: [], plotted: undefined, keys: "", first: undefined, last: undefined });
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
    const { formulas, ...selection } = this.data.plotSelection;
    if (!formulas.includes(formula)) this.updateRoute({ ...selection, formulas: [...formulas, formula], keys: "" });
  }

  removeFormula(formula: string): void {
    const { formulas, ...selection } = this.data.plotSelection;
    const others = formulas.filter((other) => other !== formula);
    this.updateRoute({ ...selection, formulas: others, keys: "" }, "replace");
  }

  openFormulaMenu(): void {
    const facets = this.data.facets?.facets ?? [];
    this.formulaDialog?.open(
      this.route.query,
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

  /** Save the plotted traces and formulas as a shortcut, and use its id in the URL. */
  async createShortAddress(): Promise<void> {
    const { formulas, plotted } = this.data.plotSelection;
    const keys = this.data.plot.lines.flatMap((line) => line.trace?.key ?? []);
    if (keys.length + formulas.length === 0) return;
    if (plotted !== undefined && keys.length < this.data.plot.selected) {
      showToast({ text: `${omittedText(this.data.plot)} Narrow it before you give it a short address.` });
      return;
    }
    await this.attempt(async () => {
      const { id } = await api.createShortcut(keys, [...formulas]);
      this.updateRoute({ traces: [], formulas: [], plotted: undefined, keys: id, query: "" }, "replace");
      showToast({ text: "The address of this page is short now. It stands for these traces and formulas for good." });
    });
  }

  async savePlot(format: ExportFormat): Promise<void> {
    const { chart } = this;
    if (chart) await this.attempt(() => savePlot(format, chart, this.data.plot, this.route));
  }

  async findBase(revision: string): Promise<void> {
    await this.attempt(async () => {
      const base = revision ? (await api.commit(this.repository?.name ?? "", revision)).position : undefined;
      if (base === null) throw new ApiError("The commit is not on the plotted line.");
      this.updateRoute({ scale: "ratio", base }, "replace");
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
    void this.updateComplete.then(() => this.querySelector<HTMLDialogElement>(".query-dialog")?.showModal());
  }

  expandFacet(facet: string): void {
    this.expandedFacets = new Set([...this.expandedFacets, facet]);
  }

  pick(hovered: Hovered | undefined): void {
    this.picked = hovered;
  }

  highlightLine(id: number | undefined): void {
    this.chart?.highlightLine(id);
  }

  refreshPicked(): void {
    this.requestUpdate();
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
    const { formulaFailure } = this;
    const { error } = this.data;
    return html`
      <h1 class="sr-only">Explore</h1>
      ${renderToolbar(this)}
      <kp-formula-field
        .error=${formulaFailure?.error}
        .formula=${formulaFailure?.formula ?? ""}
        @kp-formula=${(event: CustomEvent<string>) => this.enterFormula(event.detail)}
        @kp-menu=${() => this.openFormulaMenu()}
      ></kp-formula-field>
      <kp-formula-dialog
        @kp-written=${({ detail }: CustomEvent<WrittenFormula>) => this.useFormula(detail)}
      ></kp-formula-dialog>
      ${error ? errorNotice(error, () => this.data.reload()) : nothing} ${renderPlot(this)}
      ${this.isQuerying ? renderQueryDialog(this, () => (this.isQuerying = false)) : nothing}
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
