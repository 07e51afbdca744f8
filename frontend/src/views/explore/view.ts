/** Explore: find traces by a query, plot them together, calculate with them. */

import { html, nothing, type PropertyValues } from "lit";
import {
  api,
  shown,
  type ApiError,
  type Facets,
  type NeverMeasured,
  type Repository,
  type Trace,
  type Traces,
} from "../../api/client";
import { whenBack } from "../../api/connection";
import type { Series } from "../../api/series";
import "../../charts/chart";
import type { ChartPart } from "../../charts/chart";
import type { ChartRange } from "../../charts/chart-data";
import { Part } from "../../components/page-element";
import "../../components/formula-field";
import type { FormulaPart } from "../../components/formula-field";
import { failed } from "../../templates/finding";
import { toast } from "../../components/toast";
import { go, traceAt, type ExploreAddress } from "../../routes/routes";
import { CommitCache } from "../../state/plot/commit-cache";
import { addShortcuts } from "../../state/shortcuts";
import { Latest, type Present } from "../../state/latest";
import { MOST_LINES, PlotSource, type Chosen, type PlottedLine } from "../../state/plot/plot-lines";
import { count } from "../../text/findings";
import type { Desk } from "./context";
import { renderFacets } from "./facets";
import { renderList } from "./trace-list";
import { renderPlot } from "./plot";
import { shortcutsOf, type Keyboard } from "./shortcuts";

const SPARKS = 60;
const SPARKS_AT_ONCE = 100;
const DELAY = 250;

class ExploreView extends Part implements Desk, Keyboard {
  static override properties = {
    address: { attribute: false },
    repositories: { attribute: false },
    found: { state: true },
    facets: { state: true },
    neverMeasured: { state: true },
    sparks: { state: true },
    lines: { state: true },
    omitted: { state: true },
    times: { state: true },
    error: { state: true },
    queryError: { state: true },
    formulaError: { state: true },
    cursor: { state: true },
    unfolded: { state: true },
  };
  declare address: ExploreAddress;
  declare repositories: readonly Repository[];
  declare found: Traces | undefined;
  declare facets: Facets | undefined;
  declare neverMeasured: readonly NeverMeasured[];
  declare sparks: ReadonlyMap<number, Series>;
  declare lines: readonly PlottedLine[];
  /** Lines that were asked for and are not drawn, since there are too many. */
  declare omitted: number;
  declare times: Float64Array;
  declare error: ApiError | undefined;
  declare queryError: ApiError | undefined;
  declare formulaError: { formula: string; error: ApiError } | undefined;
  declare cursor: number;
  declare unfolded: ReadonlySet<string>;

  commits: CommitCache | undefined;
  /** The repository and the query that the list answers. */
  private answered = "";
  private readonly searching = new Latest();
  private readonly drawing = new Latest();
  private readonly calculating = new Latest();
  private readonly source = new PlotSource();
  private timer = 0;
  private readonly endings: (() => void)[] = [];
  private readonly fail = (error: ApiError): void => void (this.error = error);
  readonly refreshTip = (): void => this.chart?.refreshTip();

  constructor() {
    super();
    this.neverMeasured = [];
    this.sparks = new Map();
    this.lines = [];
    this.omitted = 0;
    this.times = new Float64Array();
    this.cursor = 0;
    this.unfolded = new Set();
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.endings.push(
      addShortcuts(() => shortcutsOf(this)),
      whenBack(() => this.error && this.loadAgain()),
    );
  }

  override disconnectedCallback(): void {
    for (const end of this.endings.splice(0)) end();
    for (const asked of [this.searching, this.drawing, this.calculating]) asked.stop();
    super.disconnectedCallback();
  }

  get repository(): Repository | undefined {
    return this.repositories.find((own) => own.name === this.address.repository) ?? this.repositories[0];
  }

  get chosen(): Chosen {
    return this.source.chosen(this.address);
  }

  get range(): ChartRange | undefined {
    const { first, last } = this.address;
    return first === undefined || last === undefined ? undefined : { first, last };
  }

  get failing(): boolean {
    return this.error !== undefined || this.formulaError !== undefined;
  }

  private get chart(): ChartPart | null {
    return this.querySelector<ChartPart>("kp-chart");
  }

  override willUpdate(changed: PropertyValues<this>): void {
    if (!changed.has("address")) return;
    const before = changed.get("address");
    const { address } = this;
    const other = before?.query !== address.query || before.repository !== address.repository;
    if (other || before.listed !== address.listed) void this.find(other);
    const drawn = (own: ExploreAddress | undefined): string =>
      JSON.stringify([own?.traces, own?.formulas, own?.keys, own?.first, own?.last, own?.repository]);
    if (!before || drawn(before) !== drawn(address)) void this.plot();
  }

  private loadAgain(): void {
    this.error = undefined;
    void this.find(true);
    void this.plot();
  }

  /** Find the traces of the query; `fresh` where they are others than before, and not only more of them. */
  private async find(fresh: boolean): Promise<void> {
    const { repository } = this;
    if (!repository) return;
    const { query, listed } = this.address;
    const question = `${repository.name} ${query}`;
    await this.searching.run(
      async (signal, present) => {
        const [found, facets] = present(
          await Promise.all([
            api.traces(repository.name, query, listed, signal),
            fresh || !this.facets ? api.facets(repository.name, query, signal) : this.facets,
          ]),
        );
        this.found = found;
        this.facets = facets;
        this.answered = question;
        this.error = this.queryError = undefined;
        if (fresh) this.cursor = 0;
        if (fresh) this.neverMeasured = present(await api.neverMeasured(repository.name, signal));
        await this.drawSparks(found.traces, signal, present);
      },
      (error) => {
        if (error.code === 400 || error.code === 422) this.queryError = error;
        else this.error = error;
        if (this.error && this.answered !== question) this.found = this.facets = undefined; // they answer another question
      },
    );
  }

  private async drawSparks(traces: readonly Trace[], signal: AbortSignal, present: Present): Promise<void> {
    const listed = new Set(traces.map((trace) => trace.id));
    this.sparks = new Map([...this.sparks].filter(([id]) => listed.has(id)));
    const wanted = [...listed].filter((id) => !this.sparks.has(id));
    for (let from = 0; from < wanted.length; from += SPARKS_AT_ONCE) {
      const ids = wanted.slice(from, from + SPARKS_AT_ONCE);
      const series = present(await api.values(ids, { points: SPARKS }, signal));
      this.sparks = new Map([
        ...this.sparks,
        ...ids.flatMap((id, index) => (series[index] ? [[id, series[index]] as const] : [])),
      ]);
    }
  }

  private plot(): Promise<void> {
    const repository = this.repository?.name ?? "";
    return this.drawing.run(async (signal, present) => {
      await this.source.open(repository, this.address.keys, signal);
      present(undefined);
      const { chosen } = this;
      if (chosen.traces.length + chosen.formulas.length === 0) {
        this.lines = [];
        this.omitted = 0;
        return;
      }
      const known = [...this.lines.flatMap((line) => line.trace ?? []), ...(this.found?.traces ?? [])];
      const plotted = present(await this.source.fetch(repository, chosen, known, this.range, signal));
      const own = plotted.lines[0]?.trace?.repository ?? repository;
      if (this.commits?.repository !== own) {
        const times = present(await api.times(own, "", signal));
        this.commits = new CommitCache(own, "");
        this.times = times;
      }
      this.lines = plotted.lines;
      this.omitted = plotted.omitted;
      if (plotted.failures[0]) [this.formulaError] = plotted.failures;
      this.error = undefined;
    }, this.fail);
  }

  // ---- what keys and buttons do

  change(part: Partial<ExploreAddress>, how: "push" | "replace" = "push"): void {
    go({ ...this.address, ...part }, how);
  }

  look(range: ChartRange | undefined, how: "push" | "replace" = "replace"): void {
    this.change({ first: range?.first, last: range?.last }, how);
  }

  step(by: number): void {
    const most = (this.found?.traces.length ?? 0) - 1;
    this.cursor = Math.max(0, Math.min(this.cursor + by, most));
    void this.updateComplete.then(() => {
      const row = this.querySelectorAll<HTMLElement>("tr[data-trace]")[this.cursor];
      row?.focus({ preventScroll: true });
      row?.scrollIntoView({ block: "nearest" });
    });
  }

  openTrace(trace: Trace): void {
    go(traceAt(trace.id));
  }

  toggleTrace(id: number): void {
    const { traces, formulas } = this.chosen;
    const drawn = traces.includes(id);
    if (!drawn && this.lines.length + this.omitted >= MOST_LINES) {
      toast({ text: `At most ${MOST_LINES} lines can be drawn. Take one out of the plot first.` });
      this.requestUpdate(); // the browser has ticked it already
      return;
    }
    const next = drawn ? traces.filter((own) => own !== id) : [...traces, id];
    this.change({ traces: next, formulas, keys: "" }, "replace");
  }

  dropFormula(formula: string): void {
    const { traces, formulas } = this.chosen;
    this.change({ traces, formulas: formulas.filter((own) => own !== formula), keys: "" }, "replace");
  }

  private async addFormula(formula: string): Promise<void> {
    this.formulaError = undefined;
    await this.calculating.run(
      async (signal, present) => {
        const answer = present(await api.formula(this.repository?.name ?? "", formula, MOST_LINES, signal));
        if (answer.total === 0) toast({ text: "The formula gives no traces: none match its query." });
        if (answer.total > MOST_LINES)
          toast({ text: `The formula gives ${count(answer.total, "trace")}; the first ${MOST_LINES} are plotted.` });
        this.field?.clear();
        const { traces, formulas } = this.chosen;
        if (!formulas.includes(formula)) this.change({ traces, formulas: [...formulas, formula], keys: "" });
      },
      (error) => (this.formulaError = { formula, error }),
    );
  }

  get field(): FormulaPart | null {
    return this.querySelector<FormulaPart>("kp-formula");
  }

  clear(): void {
    this.change({ traces: [], formulas: [], keys: "", first: undefined, last: undefined });
  }

  async keep(): Promise<void> {
    const { formulas } = this.chosen;
    const keys = this.lines.flatMap((line) => line.trace?.key ?? []);
    if (keys.length + formulas.length === 0) return;
    try {
      const { id } = await api.keep(keys, [...formulas]);
      this.change({ traces: [], formulas: [], keys: id, query: "" }, "replace");
      toast({ text: "The address of this page is short now, and stands for these traces for good." });
    } catch (thrown) {
      const error = shown(thrown);
      toast({ text: `${error.message} ${error.remedy}`, failure: true });
    }
  }

  plotFirst(): void {
    const ids = (this.found?.traces ?? []).slice(0, MOST_LINES).map((trace) => trace.id);
    this.change({ traces: ids, keys: "" });
  }

  pick(position: number): void {
    const [only, ...others] = this.lines;
    if (only?.trace && others.length === 0) go(traceAt(only.id, { commit: position }));
  }

  hint(id: number | undefined): void {
    this.chart?.focusLine(id);
  }

  unfold(facet: string): void {
    this.unfolded = new Set([...this.unfolded, facet]);
  }

  typeQuery(text: string): void {
    window.clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.change({ query: text.trim() }, "replace"), DELAY);
  }

  // ---- what is shown

  override render() {
    if (!this.repository) {
      return html`<div class="notice">
        <h2>No results yet</h2>
        <p>Import the results of a benchmark to see them here:</p>
        <pre class="commands">knick import results.json</pre>
      </div>`;
    }
    return html`
      <h1 class="sr-only">Explore</h1>
      ${this.renderTools()}
      <kp-formula
        .error=${this.formulaError?.error}
        .formula=${this.formulaError?.formula ?? ""}
        @kp-formula=${(event: CustomEvent<string>) => void this.addFormula(event.detail)}
      ></kp-formula>
      ${this.error ? failed(this.error, () => this.loadAgain()) : nothing} ${renderPlot(this)}
      <div class="explore-columns">
        <aside class="facets" aria-label="Params">${renderFacets(this)}</aside>
        <section aria-label="Traces">${renderList(this)}</section>
      </div>
    `;
  }

  private renderTools() {
    const { query } = this.address;
    const leave = (event: KeyboardEvent): void => {
      if (event.key === "Escape" || event.key === "Enter") (event.target as HTMLInputElement).blur();
    };
    return html`<div class="tools">
      ${
        this.repositories.length > 1
          ? html`<label class="select"
              ><span class="sr-only">Repository</span>
              <select
                @change=${(event: Event) => this.change({ repository: (event.target as HTMLSelectElement).value, query: "", traces: [], formulas: [], keys: "" })}
              >
                ${this.repositories.map((own) => html`<option value=${own.name} ?selected=${own === this.repository}>${own.name}</option>`)}
              </select></label
            >`
          : nothing
      }
      <label class="search wide"
        ><span class="sr-only">Query</span>
        <input
          id="query"
          type="search"
          placeholder="benchmark=parse|print os!=windows name~^json_  …"
          .value=${query}
          autocomplete="off"
          spellcheck="false"
          aria-invalid=${this.queryError ? "true" : "false"}
          aria-describedby="query-error"
          @input=${(event: InputEvent) => this.typeQuery((event.target as HTMLInputElement).value)}
          @keydown=${leave}
        /><kbd aria-hidden="true">/</kbd></label
      >
      <span class="figure faint" role="status">${this.found ? count(this.found.total, "trace") : ""}</span>
      <span id="query-error" class="field-error" role="alert"
        >${this.queryError ? `${this.queryError.message} ${this.queryError.remedy}` : ""}</span
      >
    </div>`;
  }
}

customElements.define("kp-explore", ExploreView);
