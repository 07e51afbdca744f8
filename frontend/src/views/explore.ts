import { html, nothing, svg, type PropertyValues } from "lit";
import {
  abandoned,
  api,
  shown,
  type ApiError,
  type Commit,
  type Facets,
  type Formula,
  type Repository,
  type Trace,
  type Traces,
} from "../api/client";
import type { Series } from "../api/series";
import type { ChartLine, ChartPart, ChartRange, Hovered } from "../parts/chart";
import "../parts/chart";
import { Part } from "../parts/element";
import "../parts/formula";
import type { FormulaPart } from "../parts/formula";
import { date, failed, traceLabel, waiting } from "../parts/pieces";
import { toast } from "../parts/toast";
import { go, writeAddress, type ExploreAddress, type Scale } from "../state/address";
import { CommitCache } from "../state/commits";
import { addShortcuts, type Shortcuts } from "../state/keys";
import { ValueSource } from "../state/values";
import { pan, zoom } from "../state/zoom";
import { valueText } from "../text/numbers";
import { toggleValue, wanted } from "../text/query";
import { betterWord, commonBeginning, count, traceText } from "../text/words";

const LISTED = 100;
const PLOTTED = 16;
const SPARKS = 60;
const VALUES_SHOWN = 8;
const DELAY = 250;
const NO_TIMES = new Float64Array();

class ExploreView extends Part {
  static override properties = {
    address: { attribute: false },
    repositories: { attribute: false },
    found: { state: true },
    facets: { state: true },
    sparks: { state: true },
    plotted: { state: true },
    lines: { state: true },
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
  declare sparks: ReadonlyMap<number, Series>;
  declare plotted: readonly Trace[];
  declare lines: readonly ChartLine[];
  declare times: Float64Array;
  declare error: ApiError | undefined;
  declare queryError: ApiError | undefined;
  declare formulaError: { formula: string; error: ApiError } | undefined;
  declare cursor: number;
  declare unfolded: ReadonlySet<string>;

  private search: AbortController | undefined;
  private draw: AbortController | undefined;
  private readonly source = new ValueSource();
  private formulaOf: ReadonlyMap<number, string> = new Map();
  private readonly calculated = new Map<string, Promise<Formula>>();
  private kept: { id: string; traces: number[]; formulas: string[] } | undefined;
  private commits: CommitCache | undefined;
  private timer = 0;
  private removeShortcuts: (() => void) | undefined;

  constructor() {
    super();
    this.sparks = new Map();
    this.plotted = [];
    this.lines = [];
    this.times = NO_TIMES;
    this.cursor = 0;
    this.unfolded = new Set();
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.removeShortcuts = addShortcuts(() => this.shortcuts());
  }

  override disconnectedCallback(): void {
    this.removeShortcuts?.();
    this.search?.abort();
    this.draw?.abort();
    super.disconnectedCallback();
  }

  private get repository(): Repository | undefined {
    return this.repositories.find((own) => own.name === this.address.repository) ?? this.repositories[0];
  }

  override willUpdate(changed: PropertyValues<this>): void {
    if (!changed.has("address")) return;
    const before = changed.get("address");
    const { address } = this;
    if (before?.query !== address.query || before.repository !== address.repository) void this.find();
    const drawn = (own: ExploreAddress | undefined): string => JSON.stringify([own?.traces, own?.formulas, own?.keys, own?.first, own?.last, own?.repository]);
    if (!before || drawn(before) !== drawn(address)) void this.plot();
  }

  private async find(): Promise<void> {
    const { repository } = this;
    if (!repository) return;
    this.search?.abort();
    const request = (this.search = new AbortController());
    const { query } = this.address;
    try {
      const [found, facets] = await Promise.all([
        api.traces(repository.name, query, LISTED, request.signal),
        api.facets(repository.name, query, request.signal),
      ]);
      this.found = found;
      this.facets = facets;
      this.error = this.queryError = undefined;
      this.cursor = 0;
      const ids = found.traces.map((trace) => trace.id);
      if (ids.length === 0) return;
      const series = await api.values(ids, { points: SPARKS }, request.signal);
      this.sparks = new Map(ids.flatMap((id, index) => (series[index] ? [[id, series[index]] as const] : [])));
    } catch (thrown) {
      if (abandoned(thrown)) return;
      const error = shown(thrown);
      if (error.code === 400 || error.code === 422) this.queryError = error;
      else this.error = error;
    }
  }

  private async plot(): Promise<void> {
    this.draw?.abort();
    const request = (this.draw = new AbortController());
    const stale = (): boolean => this.draw !== request;
    try {
      await this.open(request.signal);
      const ids = this.chosen.traces.slice(0, PLOTTED);
      const calculated = await this.calculate(this.chosen.formulas);
      if (stale()) return;
      if (ids.length + calculated.length === 0) {
        this.plotted = [];
        this.lines = [];
        return;
      }
      const known = new Map([...this.plotted, ...(this.found?.traces ?? [])].map((trace) => [trace.id, trace]));
      const traces = await Promise.all(ids.map(async (id) => known.get(id) ?? api.trace(id)));
      const series = ids.length > 0 ? await this.source.fetch(ids, "", this.range, request.signal) : [];
      const repository = traces[0]?.repository ?? this.repository?.name ?? "";
      if (this.commits?.repository !== repository) {
        this.commits = new CommitCache(repository, "");
        this.times = await api.times(repository, "");
      }
      if (stale()) return;
      this.plotted = traces;
      const stored = traces.map((trace, index) => ({
        id: trace.id,
        label: traceText(trace.params),
        unit: trace.unit,
        positions: series[index]?.positions ?? NO_TIMES,
        values: series[index]?.values ?? NO_TIMES,
      }));
      this.lines = [...stored, ...calculated].slice(0, PLOTTED);
      this.error = undefined;
    } catch (thrown) {
      if (!abandoned(thrown)) this.error = shown(thrown);
    }
  }

  /** Read what a short id of the address stands for. */
  private async open(signal: AbortSignal): Promise<void> {
    const { keys } = this.address;
    if (!keys || this.kept?.id === keys) return;
    const found = await api.shortcut(this.repository?.name ?? "", keys, signal);
    this.kept = { id: keys, traces: found.traces.map((trace) => trace.id), formulas: found.formulas };
  }

  /** What is plotted: what the address says, or what its short id stands for. */
  private get chosen(): { traces: readonly number[]; formulas: readonly string[] } {
    const { keys, traces, formulas } = this.address;
    if (!keys) return { traces, formulas };
    return this.kept?.id === keys ? this.kept : { traces: [], formulas: [] };
  }

  private async calculate(formulas: readonly string[]): Promise<ChartLine[]> {
    const repository = this.repository?.name ?? "";
    const answers = await Promise.all(
      formulas.map(async (formula) => {
        const name = `${repository} ${formula}`;
        const asked = this.calculated.get(name) ?? api.formula(repository, formula, PLOTTED);
        this.calculated.set(name, asked);
        try {
          return await asked;
        } catch (thrown) {
          this.calculated.delete(name);
          this.formulaError = { formula, error: shown(thrown) };
          return undefined;
        }
      }),
    );
    const given = answers.flatMap((answer, index) => (answer?.traces ?? []).map((trace) => ({ trace, formula: formulas[index] ?? "" })));
    this.formulaOf = new Map(given.map(({ formula }, index) => [-1 - index, formula]));
    return given.map(({ trace }, index) => ({
      id: -1 - index,
      label: trace.id.replace(/^@/, ""),
      unit: trace.unit,
      positions: Float64Array.from(trace.positions),
      values: Float64Array.from(trace.values),
    }));
  }

  private get range(): ChartRange | undefined {
    const { first, last } = this.address;
    return first === undefined || last === undefined ? undefined : { first, last };
  }

  private get whole(): ChartRange {
    return { first: 0, last: Math.max(this.times.length - 1, 0) };
  }

  private get mixed(): boolean {
    return new Set(this.lines.map((line) => line.unit)).size > 1;
  }

  // ---- what keys and buttons do

  private change(part: Partial<ExploreAddress>, how: "push" | "replace" = "push"): void {
    go({ ...this.address, ...part }, how);
  }

  private look(range: ChartRange | undefined, how: "push" | "replace" = "replace"): void {
    this.change({ first: range?.first, last: range?.last }, how);
  }

  private shortcuts(): Shortcuts {
    const total = this.times.length;
    const range = this.range ?? this.whole;
    return {
      title: "Explore",
      list: [
        { keys: ["/"], does: "query", run: () => this.querySelector<HTMLInputElement>("#query")?.focus() },
        { keys: ["f"], does: "formula", run: () => this.field?.focus() },
        { keys: ["s"], does: "a short address of the plot", run: () => void this.keep() },
        { keys: ["j", "ArrowDown"], does: "next trace", run: () => this.step(1) },
        { keys: ["k", "ArrowUp"], does: "trace before", run: () => this.step(-1) },
        { keys: ["x"], does: "plot the trace, or take it out", run: () => this.toggleCurrent() },
        { keys: ["Enter", "o"], does: "open the trace", run: () => this.openCurrent() },
        { keys: ["Escape"], does: "clear the plot", run: () => this.clear() },
        { keys: ["+", "="], does: "look closer", run: () => this.look(zoom(range, 0.5, total)) },
        { keys: ["-"], does: "look from further away", run: () => this.look(zoom(range, 2, total)) },
        { keys: [">", "."], does: "move right", run: () => this.look(pan(range, 0.25, total)) },
        { keys: ["<", ","], does: "move left", run: () => this.look(pan(range, -0.25, total)) },
        { keys: ["0"], does: "whole line", run: () => this.look(undefined) },
      ],
    };
  }

  private step(by: number): void {
    const most = (this.found?.traces.length ?? 0) - 1;
    this.cursor = Math.max(0, Math.min(this.cursor + by, most));
    void this.updateComplete.then(() => {
      const row = this.querySelectorAll<HTMLElement>("tr[data-trace]")[this.cursor];
      row?.focus({ preventScroll: true });
      row?.scrollIntoView({ block: "nearest" });
    });
  }

  private toggleCurrent(): void {
    const trace = this.found?.traces[this.cursor];
    if (trace) this.toggleTrace(trace.id);
  }

  private openCurrent(): void {
    const trace = this.found?.traces[this.cursor];
    if (trace) go(traceAddress(trace));
  }

  private toggleTrace(id: number): void {
    const { traces, formulas } = this.chosen;
    const next = traces.includes(id) ? traces.filter((own) => own !== id) : [...traces, id].slice(-PLOTTED);
    this.change({ traces: next, formulas, keys: "" }, "replace");
  }

  private dropFormula(formula: string): void {
    const { traces, formulas } = this.chosen;
    this.change({ traces, formulas: formulas.filter((own) => own !== formula), keys: "" }, "replace");
  }

  private async addFormula(formula: string): Promise<void> {
    this.formulaError = undefined;
    const { traces, formulas } = this.chosen;
    try {
      const answer = await api.formula(this.repository?.name ?? "", formula, PLOTTED);
      if (answer.total === 0) toast({ text: "The formula gives no traces: none match its query." });
      if (answer.total > PLOTTED) toast({ text: `The formula gives ${count(answer.total, "trace")}; the first ${PLOTTED} are plotted.` });
    } catch (thrown) {
      this.formulaError = { formula, error: shown(thrown) };
      return;
    }
    this.field?.clear();
    if (!formulas.includes(formula)) this.change({ traces, formulas: [...formulas, formula], keys: "" });
  }

  private get field(): FormulaPart | null {
    return this.querySelector<FormulaPart>("kp-formula");
  }

  private clear(): void {
    this.change({ traces: [], formulas: [], keys: "", first: undefined, last: undefined });
  }

  private async keep(): Promise<void> {
    const { formulas } = this.chosen;
    if (this.plotted.length + formulas.length === 0) return;
    try {
      const { id } = await api.keep(this.plotted.map((trace) => trace.key), [...formulas]);
      this.change({ traces: [], formulas: [], keys: id, query: "" }, "replace");
      toast({ text: "The address of this page is short now, and stands for these traces for good." });
    } catch (thrown) {
      const error = shown(thrown);
      toast({ text: `${error.message} ${error.remedy}`, failure: true });
    }
  }

  private plotFirst(): void {
    const ids = (this.found?.traces ?? []).slice(0, PLOTTED).map((trace) => trace.id);
    this.change({ traces: ids, keys: "" });
  }

  private onQuery(event: InputEvent): void {
    const query = (event.target as HTMLInputElement).value;
    window.clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.change({ query: query.trim() }, "replace"), DELAY);
  }

  private onQueryKey(event: KeyboardEvent): void {
    if (event.key === "Escape" || event.key === "Enter") (event.target as HTMLInputElement).blur();
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
      ${this.error ? failed(this.error, () => void this.find()) : nothing} ${this.renderPlot()}
      <div class="explore-columns">
        <aside class="facets" aria-label="Params">${this.renderFacets()}</aside>
        <section aria-label="Traces">${this.renderList()}</section>
      </div>
    `;
  }

  private renderTools() {
    const { query } = this.address;
    return html`<div class="tools">
      ${this.repositories.length > 1
        ? html`<label class="select"><span class="sr-only">Repository</span>
            <select @change=${(event: Event) => this.change({ repository: (event.target as HTMLSelectElement).value, query: "", traces: [], formulas: [], keys: "" })}>
              ${this.repositories.map((own) => html`<option value=${own.name} ?selected=${own === this.repository}>${own.name}</option>`)}
            </select></label>`
        : nothing}
      <label class="search wide"><span class="sr-only">Query</span>
        <input
          id="query"
          type="search"
          placeholder="benchmark=parse|print os!=windows name~^json_  …"
          .value=${query}
          autocomplete="off"
          spellcheck="false"
          aria-invalid=${this.queryError ? "true" : "false"}
          aria-describedby="query-error"
          @input=${(event: InputEvent) => this.onQuery(event)}
          @keydown=${(event: KeyboardEvent) => this.onQueryKey(event)}
        /><kbd aria-hidden="true">/</kbd></label>
      <span class="figure faint" role="status">${this.found ? count(this.found.total, "trace") : ""}</span>
      <span id="query-error" class="field-error" role="alert">${this.queryError ? `${this.queryError.message} ${this.queryError.remedy}` : ""}</span>
    </div>`;
  }

  private renderPlot() {
    const { address } = this;
    const { traces, formulas } = this.chosen;
    if (traces.length + formulas.length === 0 && !address.keys) return nothing;
    if (this.lines.length === 0 && (this.error || this.formulaError)) return nothing;
    const scale: Scale = this.mixed ? "ratio" : address.scale;
    return html`<section class="chart-panel" aria-label="Plot">
      <div class="chart-tools">
        <ul class="legend series">
          ${this.lines.map((line, index) => html`<li>
            <i class="key-series s${(index % 8) + 1}"></i>${line.id < 0
              ? html`<code>${line.label}</code>
                  <button class="icon tiny" aria-label="Take ${this.formulaOf.get(line.id) ?? "the formula"} out of the plot" @click=${() => this.dropFormula(this.formulaOf.get(line.id) ?? "")}>×</button>`
              : html`<a href="/trace/${line.id}">${line.label}</a>
                  <button class="icon tiny" aria-label="Take ${line.label} out of the plot" @click=${() => this.toggleTrace(line.id)}>×</button>`}
          </li>`)}
          ${formulas
            .filter((formula) => ![...this.formulaOf.values()].includes(formula))
            .map((formula) => html`<li>
              <code>${formula}</code><span class="faint">no traces</span>
              <button class="icon tiny" aria-label="Take ${formula} out of the plot" @click=${() => this.dropFormula(formula)}>×</button>
            </li>`)}
        </ul>
        <span class="spring"></span>
        ${this.mixed
          ? html`<span class="faint">different units: % of each first value</span>`
          : html`<label class="select"><span class="sr-only">Scale of the values</span>
              <select @change=${(event: Event) => this.change({ scale: (event.target as HTMLSelectElement).value as Scale }, "replace")}>
                <option value="auto" ?selected=${scale === "auto"}>fit</option>
                <option value="zero" ?selected=${scale === "zero"}>from zero</option>
                <option value="log" ?selected=${scale === "log"}>logarithmic</option>
                <option value="ratio" ?selected=${scale === "ratio"}>% of first value</option>
              </select></label>`}
        <button class="button small" ?disabled=${this.range === undefined} title="Whole line (0)" @click=${() => this.look(undefined)}>Whole line</button>
        <button class="button small" title="A short address of what is plotted (s)" ?disabled=${address.keys !== ""} @click=${() => void this.keep()}>Short address</button>
        <button class="button small quiet" @click=${() => this.clear()}>Clear</button>
      </div>
      ${this.lines.length > 0
        ? html`<kp-chart
            .lines=${this.lines}
            .times=${this.times}
            .total=${this.times.length}
            .range=${this.range}
            .scale=${scale}
            .label=${`Values of ${count(this.lines.length, "trace")} over commits: ${this.lines.map((line) => line.label).join("; ")}`}
            .describe=${(hovered: Hovered) => this.describe(hovered)}
            @kp-range=${(event: CustomEvent<ChartRange | undefined>) => this.look(event.detail, "push")}
            @kp-pick=${(event: CustomEvent<number>) => this.pick(event.detail)}
          ></kp-chart>`
        : html`<div class="chart-place">${waiting("Reading the values")}</div>`}
    </section>`;
  }

  private pick(position: number): void {
    const only = this.plotted.length === 1 && this.lines.length === 1 ? this.plotted[0] : undefined;
    if (only) go({ ...traceAddress(only), commit: position });
  }

  private describe(hovered: Hovered) {
    const commit: Commit | undefined = this.commits?.peek(hovered.position);
    if (!commit) {
      void this.commits?.at(hovered.position).then(
        () => this.querySelector<ChartPart>("kp-chart")?.refreshTip(),
        () => undefined,
      );
    }
    return html`<div class="tip-value">${valueText(hovered.value, hovered.line.unit)}</div>
      <div class="tip-subject">${hovered.line.label}</div>
      ${commit
        ? html`<div>${commit.subject}</div>
            <div class="second"><code class="hash">${commit.short}</code><span>${commit.author}</span>${date(commit.time)}</div>`
        : html`<div class="faint">commit ${hovered.position + 1}</div>`}`;
  }

  private renderFacets() {
    if (!this.facets) return this.queryError ? nothing : waiting("Reading the params");
    return this.facets.facets.map((facet) => {
      const chosen = wanted(this.address.query, facet.name);
      const listed = facet.values.map((own) => own.value);
      const values = [...chosen.filter((own) => !listed.includes(own)).map((value) => ({ value, count: 0 })), ...facet.values];
      const all = this.unfolded.has(facet.name);
      const cut = commonBeginning(values.map((own) => own.value));
      const shownValues = all ? values : values.filter((own, index) => index < VALUES_SHOWN || chosen.includes(own.value));
      return html`<fieldset class="facet">
        <legend>${facet.name}${facet.distinct > 1 ? html` <span class="faint">${facet.distinct}</span>` : nothing}</legend>
        ${shownValues.map((own) => html`<label class="choice">
          <input
            type="checkbox"
            .checked=${chosen.includes(own.value)}
            @change=${() => this.change({ query: toggleValue(this.address.query, facet.name, own.value) })}
          /><span class="choice-text" title=${own.value}>${cut > 0 ? `…${own.value.slice(cut)}` : own.value}</span><span class="figure faint">${own.count.toLocaleString("en")}</span>
        </label>`)}
        ${values.length > shownValues.length
          ? html`<button class="link" @click=${() => (this.unfolded = new Set([...this.unfolded, facet.name]))}>${values.length - shownValues.length} more</button>`
          : nothing}
        ${all && facet.distinct > facet.values.length ? html`<span class="faint">Type to find the others.</span>` : nothing}
      </fieldset>`;
    });
  }

  private renderList() {
    const { found } = this;
    if (!found && this.queryError) {
      return html`<div class="notice">
        <h2>The query cannot be read</h2>
        <p>Correct it above, or look at all traces.</p>
        <button class="button" @click=${() => this.change({ query: "" })}>Clear the query</button>
      </div>`;
    }
    if (!found) return waiting("Reading the traces");
    if (found.total === 0) {
      return html`<div class="notice">
        <h2>No trace matches the query</h2>
        <p>Take a condition out, or look at all of them.</p>
        <button class="button" @click=${() => this.change({ query: "" })}>Clear the query</button>
      </div>`;
    }
    return html`<table class="traces">
        <caption class="sr-only">Matching traces</caption>
        <thead><tr>
          <th class="c-tick" scope="col"><span class="sr-only">In the plot</span></th>
          <th scope="col">Trace</th>
          <th class="c-last" scope="col">Newest value</th>
          <th class="c-spark" scope="col">Values</th>
        </tr></thead>
        <tbody>${found.traces.map((trace, index) => this.renderTrace(trace, index))}</tbody>
      </table>
      <p class="foot">
        ${found.total > found.traces.length ? html`The first ${found.traces.length} of ${count(found.total, "trace")}; narrow the query to see others. ` : nothing}
        <button class="link" @click=${() => this.plotFirst()}>Plot the first ${Math.min(PLOTTED, found.traces.length)}</button>
      </p>`;
  }

  private renderTrace(trace: Trace, index: number) {
    const spark = this.sparks.get(trace.id);
    const newest = spark?.values.at(-1);
    return html`<tr data-trace=${trace.id} tabindex=${index === this.cursor ? 0 : -1} aria-current=${index === this.cursor ? "true" : "false"}>
      <td class="c-tick"><input
        type="checkbox"
        aria-label="Plot ${traceText(trace.params)}"
        .checked=${this.chosen.traces.includes(trace.id)}
        @change=${() => this.toggleTrace(trace.id)}
      /></td>
      <td><a class="trace-link" href=${writeAddress(traceAddress(trace))}>${traceLabel(trace)}</a></td>
      <td class="c-last figure">${newest === undefined ? html`<span class="faint">none</span>` : valueText(newest, trace.unit)}
        ${trace.better === "unknown" ? nothing : html`<div class="second">${betterWord(trace.better)}</div>`}</td>
      <td class="c-spark">${spark ? trail(spark) : nothing}</td>
    </tr>`;
  }
}

function trail(series: Series) {
  const { positions, values } = series;
  const first = positions[0] ?? 0;
  const width = (positions.at(-1) ?? first) - first || 1;
  const low = Math.min(...values);
  const span = Math.max(...values) - low || 1;
  const points = Array.from(values, (value, index) => {
    const x = 3 + (((positions[index] ?? first) - first) / width) * 154;
    return `${x.toFixed(1)} ${(27 - ((value - low) / span) * 24).toFixed(1)}`;
  });
  return html`<svg class="spark" viewBox="0 0 160 30" width="160" height="30" aria-hidden="true">${svg`<path class="trail strong" d="M${points.join("L")}"></path>`}</svg>`;
}

function traceAddress(trace: Trace) {
  return { view: "trace", id: trace.id, line: "", first: undefined, last: undefined, scale: "auto", commit: undefined } as const;
}

customElements.define("kp-explore", ExploreView);
