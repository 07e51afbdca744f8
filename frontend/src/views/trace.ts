import { html, nothing, type PropertyValues } from "lit";
import {
  api,
  abandoned,
  shown,
  type ApiError,
  type Changes,
  type Commit,
  type Environment,
  type Explanation,
  type Member,
  type Repository,
  type Run,
  type Status,
} from "../api/client";
import type { Series } from "../api/series";
import type { ChartLine, ChartMark, ChartPart, ChartRange, Hovered } from "../parts/chart";
import "../parts/chart";
import { Part } from "../parts/element";
import { change, date, failed, hash, hazard, state, waiting } from "../parts/pieces";
import { explore, go, writeAddress, type Scale, type TraceAddress } from "../state/address";
import { CommitCache } from "../state/commits";
import { decide, STATUS_KEYS, undoLast } from "../state/decide";
import { addShortcuts, type Shortcuts } from "../state/keys";
import { ValueSource } from "../state/values";
import { pan, zoom } from "../state/zoom";
import { fromTo, moment, number, unitText, valueText } from "../text/numbers";
import { betterWord, changeInWords, count, percent, statusWord, times, traceName, traceText } from "../text/words";

const SCALES: readonly [Scale, string][] = [
  ["auto", "fit"],
  ["zero", "from zero"],
  ["log", "logarithmic"],
  ["ratio", "% of first level"],
];
const SUSPECTS_SHOWN = 12;

class TraceView extends Part {
  static override properties = {
    address: { attribute: false },
    repositories: { attribute: false },
    changes: { state: true },
    series: { state: true },
    times: { state: true },
    error: { state: true },
    commit: { state: true },
    suspects: { state: true },
    runs: { state: true },
    environments: { state: true },
    explanation: { state: true },
    whyError: { state: true },
  };
  declare address: TraceAddress;
  declare repositories: readonly Repository[];
  declare changes: Changes | undefined;
  declare series: Series | undefined;
  declare times: Float64Array;
  declare error: ApiError | undefined;
  declare commit: Commit | undefined;
  declare suspects: readonly Commit[];
  declare runs: readonly Run[];
  declare environments: readonly Environment[];
  declare explanation: Explanation | undefined;
  declare whyError: ApiError | undefined;

  private request: AbortController | undefined;
  private readonly source = new ValueSource();
  private commits: CommitCache | undefined;
  private lines: readonly ChartLine[] = [];
  private marks: readonly ChartMark[] = [];
  private removeShortcuts: (() => void) | undefined;
  private readonly refresh = (): void => void this.loadChanges();

  constructor() {
    super();
    this.times = new Float64Array();
    this.suspects = [];
    this.runs = [];
    this.environments = [];
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.removeShortcuts = addShortcuts(() => this.shortcuts());
    window.addEventListener("kp-decided", this.refresh);
  }

  override disconnectedCallback(): void {
    this.removeShortcuts?.();
    window.removeEventListener("kp-decided", this.refresh);
    this.request?.abort();
    super.disconnectedCallback();
  }

  override willUpdate(changed: PropertyValues<this>): void {
    if (changed.has("address")) {
      const before = changed.get("address");
      const other = before?.id !== this.address.id || before.line !== this.address.line;
      if (other) void this.load();
      else if (before.first !== this.address.first || before.last !== this.address.last) void this.loadValues();
      if (!other && before.commit !== this.address.commit) void this.loadCommit();
    }
    if ((changed.has("series") || changed.has("changes")) && this.changes) {
      const { trace } = this.changes;
      const label = traceText(trace.params);
      this.lines = this.series
        ? [{ id: trace.id, label, unit: trace.unit, positions: this.series.positions, values: this.series.values }]
        : [];
      this.marks = this.changes.changes.flatMap((member) => markOf(member) ?? []);
    }
  }

  private async load(): Promise<void> {
    this.error = this.changes = this.series = this.explanation = this.whyError = undefined;
    this.environments = [];
    this.source.forget();
    try {
      this.changes = await api.changes(this.address.id, this.address.line);
      const { repository } = this.changes.trace;
      this.commits = new CommitCache(repository, this.changes.line);
      document.title = `${traceName(this.changes.trace.params).name} · Knickpoint`;
      const { id, line } = this.address;
      const times = Promise.all([api.times(repository, this.changes.line), this.loadValues(), this.loadCommit()]);
      const environments = api.environments(id, line);
      environments.catch(() => undefined); // told below, once what matters more is there
      [this.times] = await times;
      const found = await environments;
      if (this.address.id === id && this.address.line === line) this.environments = found;
    } catch (thrown) {
      this.error = shown(thrown);
    }
  }

  private async loadChanges(): Promise<void> {
    try {
      this.changes = await api.changes(this.address.id, this.address.line);
    } catch (thrown) {
      this.error = shown(thrown);
    }
  }

  private async loadValues(): Promise<void> {
    this.request?.abort();
    const request = (this.request = new AbortController());
    try {
      const [series] = await this.source.fetch([this.address.id], this.address.line, this.range, request.signal);
      this.series = series;
    } catch (thrown) {
      if (!abandoned(thrown)) this.error = shown(thrown);
    }
  }

  private async loadCommit(): Promise<void> {
    const position = this.address.commit;
    this.runs = [];
    this.suspects = [];
    if (position === undefined || !this.commits) {
      this.commit = undefined;
      return;
    }
    try {
      const commit = await this.commits.at(position);
      this.commit = commit;
      const place = this.pinnedChange?.place;
      if (place && place.suspects > 1 && place.previous !== null && place.position !== null) {
        this.suspects = await this.commits.between(place.previous, place.position, SUSPECTS_SHOWN);
      }
      if (commit) this.runs = await api.runs(this.address.id, commit.hash);
    } catch (thrown) {
      this.error = shown(thrown);
    }
  }

  private async loadWhy(): Promise<void> {
    if (this.explanation) return;
    try {
      this.explanation = await api.explain(this.address.id, this.address.line);
    } catch (thrown) {
      this.whyError = shown(thrown);
    }
  }

  private get range(): ChartRange | undefined {
    const { first, last } = this.address;
    return first === undefined || last === undefined ? undefined : { first, last };
  }

  private get whole(): ChartRange {
    const { changes } = this;
    return { first: changes?.first ?? 0, last: changes?.last ?? Math.max((changes?.commits ?? 1) - 1, 0) };
  }

  private get pinnedChange(): Member | undefined {
    return this.changes?.changes.find((member) => member.place.position === this.address.commit);
  }

  // ---- what keys and buttons do

  private go(part: Partial<TraceAddress>, how: "push" | "replace" = "replace"): void {
    go({ ...this.address, ...part }, how);
  }

  private look(range: ChartRange | undefined, how: "push" | "replace" = "replace"): void {
    this.go({ first: range?.first, last: range?.last }, how);
  }

  private shortcuts(): Shortcuts {
    const total = this.changes?.commits ?? 0;
    const range = this.range ?? this.whole;
    return {
      title: "Trace",
      list: [
        { keys: ["j"], does: "next change", run: () => this.stepChange(1) },
        { keys: ["k"], does: "change before", run: () => this.stepChange(-1) },
        { keys: ["ArrowRight"], does: "next measured commit", run: () => this.stepCommit(1) },
        { keys: ["ArrowLeft"], does: "measured commit before", run: () => this.stepCommit(-1) },
        { keys: ["+", "="], does: "look closer", run: () => this.look(zoom(range, 0.5, total)) },
        { keys: ["-"], does: "look from further away", run: () => this.look(zoom(range, 2, total)) },
        { keys: [">", "."], does: "move right", run: () => this.look(pan(range, 0.25, total)) },
        { keys: ["<", ","], does: "move left", run: () => this.look(pan(range, -0.25, total)) },
        { keys: ["0"], does: "whole line", run: () => this.look(undefined) },
        { keys: ["a"], does: "acknowledge the change", run: () => this.decideKey("a") },
        { keys: ["h"], does: "hide the change as noise", run: () => this.decideKey("h") },
        { keys: ["u"], does: "undo the last decision", run: () => void undoLast() },
        { keys: ["e"], does: "next change of environment", run: () => this.stepEnvironment() },
        { keys: ["w"], does: "why", run: () => this.openWhy() },
        { keys: ["Escape"], does: "unpin the commit", run: () => this.go({ commit: undefined }) },
      ],
    };
  }

  private stepChange(by: number): void {
    const places = (this.changes?.changes ?? []).flatMap((member) => member.place.position ?? []).sort((a, b) => a - b);
    const now = this.address.commit ?? (by > 0 ? -1 : Infinity);
    const next = by > 0 ? places.find((place) => place > now) : places.findLast((place) => place < now);
    if (next !== undefined) this.go({ commit: next });
  }

  private stepEnvironment(): void {
    const places = this.environments.map((own) => own.position);
    const next = places.find((place) => place > (this.address.commit ?? -1)) ?? places[0];
    if (next !== undefined) this.go({ commit: next });
  }

  private stepCommit(by: number): void {
    const positions = this.series?.positions ?? new Float64Array();
    const now = this.address.commit ?? (by > 0 ? -1 : Infinity);
    const next = by > 0 ? positions.find((place) => place > now) : positions.findLast((place) => place < now);
    if (next !== undefined) this.go({ commit: next });
  }

  private decideKey(key: string): void {
    const member = this.pinnedChange;
    const status = STATUS_KEYS[key];
    if (member && status) void decide({ ids: [member.id], status });
  }

  private openWhy(): void {
    const details = this.querySelector<HTMLDetailsElement>("details.why");
    if (!details) return;
    details.open = !details.open;
    if (details.open) details.scrollIntoView({ block: "nearest" });
  }

  // ---- what is shown

  override render() {
    const { changes } = this;
    if (this.error && !changes) return failed(this.error, () => void this.load());
    if (!changes) return waiting("Reading the trace");
    return html`
      ${this.renderTitle(changes)} ${this.error ? failed(this.error, () => void this.load()) : nothing}
      ${this.renderChart(changes)}
      <div class="trace-below">
        <section aria-labelledby="changes-title" class="panel">
          <h2 id="changes-title">${count(changes.changes.length, "change")}</h2>
          ${this.renderChanges(changes)}
        </section>
        <section aria-labelledby="commit-title" class="panel">${this.renderCommit(changes)}</section>
      </div>
      ${this.renderWhy()}
    `;
  }

  private renderTitle(changes: Changes) {
    const { trace } = changes;
    const { name, rest } = traceName(trace.params);
    const repository = this.repositories.find((own) => own.name === trace.repository);
    const back = writeAddress({ ...explore, repository: trace.repository, traces: [trace.id] });
    return html`<div class="trace-title">
      <div>
        <h1>${name}</h1>
        <p class="second">
          ${rest.map(([key, value]) => html`<span class="param"><span class="param-key">${key}</span>${value}</span>`)}
          <span>${unitText(trace.unit) || "no unit"}${trace.better === "unknown" ? nothing : html`, ${betterWord(trace.better)}`}</span>
          <span>${changes.measured.toLocaleString("en")} of ${count(changes.commits, "commit")} measured</span>
        </p>
      </div>
      ${repository && repository.lines.length > 1
        ? html`<label class="select"><span class="sr-only">Line</span>
            <select @change=${(event: Event) => this.go({ line: (event.target as HTMLSelectElement).value, commit: undefined, first: undefined, last: undefined }, "push")}>
              ${repository.lines.map((line) => html`<option value=${line} ?selected=${line === changes.line}>${line}</option>`)}
            </select></label>`
        : nothing}
      <a class="button small" href=${back}>Compare with others</a>
    </div>`;
  }

  private renderChart(changes: Changes) {
    const total = changes.commits;
    const range = this.range ?? this.whole;
    const button = (label: string, name: string, run: () => void, off = false) =>
      html`<button class="button small square" title=${name} aria-label=${name} ?disabled=${off} @click=${run}>${label}</button>`;
    return html`<section class="chart-panel" aria-label="Values over commits">
      <div class="chart-tools">
        ${this.renderLegend()}
        <span class="spring"></span>
        <span class="faint figure">commits ${(range.first + 1).toLocaleString("en")} to ${(range.last + 1).toLocaleString("en")} of ${total.toLocaleString("en")}</span>
        <label class="select"><span class="sr-only">Scale of the values</span>
          <select @change=${(event: Event) => this.go({ scale: (event.target as HTMLSelectElement).value as Scale })}>
            ${SCALES.map(([scale, label]) => html`<option value=${scale} ?selected=${scale === this.address.scale}>${label}</option>`)}
          </select></label>
        <div class="button-row">
          ${button("‹", "Move left (,)", () => this.look(pan(range, -0.25, total)), range.first === 0)}
          ${button("+", "Look closer (+)", () => this.look(zoom(range, 0.5, total)))}
          ${button("−", "Look from further away (−)", () => this.look(zoom(range, 2, total)), this.range === undefined)}
          ${button("›", "Move right (.)", () => this.look(pan(range, 0.25, total)), range.last >= total - 1)}
          <button class="button small" title="Whole line (0)" ?disabled=${this.range === undefined} @click=${() => this.look(undefined)}>Whole line</button>
        </div>
      </div>
      ${this.series
        ? html`<kp-chart
            .lines=${this.lines}
            .levels=${changes.regions}
            .marks=${this.marks}
            .notes=${this.environments}
            .times=${this.times}
            .total=${total}
            .range=${this.range}
            .scale=${this.address.scale}
            .pinned=${this.address.commit}
            .label=${this.chartText(changes)}
            .describe=${(hovered: Hovered) => this.describe(hovered)}
            @kp-range=${(event: CustomEvent<ChartRange | undefined>) => this.look(event.detail, "push")}
            @kp-pick=${(event: CustomEvent<number>) => this.go({ commit: event.detail })}
          ></kp-chart>`
        : html`<div class="chart-place">${waiting("Reading the values")}</div>`}
    </section>`;
  }

  private renderLegend() {
    const used = [...new Set(this.changes?.changes.map((member) => member.status))];
    return html`<div class="legend" aria-hidden="true">
      <span><i class="key-level"></i>stable level and its spread</span>
      ${used.map((status) => state(status))}
      ${this.marks.some((mark) => mark.suspects > 1) ? html`<span><i class="key-suspect"></i>not measured, change lies in here</span>` : nothing}
      ${this.environments.length > 0 ? html`<span><i class="key-note"></i>environment changed</span>` : nothing}
    </div>`;
  }

  private chartText(changes: Changes): string {
    const parts = changes.changes.map((member) => `${changeInWords(member)} at ${member.commit.short}, ${statusWord[member.status]}`);
    return `Values of ${traceText(changes.trace.params)} over ${count(changes.measured, "measured commit")}. ${
      parts.length > 0 ? `Changes: ${parts.join("; ")}.` : "No changes."
    }${this.environments.length > 0 ? ` ${count(this.environments.length, "change")} of environment.` : ""}`;
  }

  private describe(hovered: Hovered) {
    const { position, value, line } = hovered;
    const commit = this.commits?.peek(position);
    if (!commit) {
      void this.commits?.at(position).then(
        () => this.querySelector<ChartPart>("kp-chart")?.refreshTip(),
        () => undefined,
      );
    }
    const mark = this.changes?.changes.find((member) => member.place.position === position);
    return html`<div class="tip-value">${valueText(value, line.unit)} ${this.renderDelta(position, value)}</div>
      ${commit
        ? html`<div class="tip-subject">${commit.subject}</div>
            <div class="second"><code class="hash">${commit.short}</code><span>${commit.author}</span>${date(commit.time)}</div>`
        : html`<div class="faint">commit ${position + 1}</div>`}
      ${mark
        ? html`<div class="tip-mark">${change(mark)} ${state(mark.status)}
            ${mark.place.suspects > 1 ? html`<span class="faint">in one of ${mark.place.suspects} commits</span>` : nothing}</div>`
        : nothing}
      ${this.environmentsUntil(position).map((own) => html`<div class="tip-note">Environment changed: ${renderFacts(own)}</div>`)}`;
  }

  /** The changes of environment at a plotted commit, and those since the one plotted before it. */
  private environmentsUntil(position: number): Environment[] {
    const before = this.series?.positions.findLast((own) => own < position) ?? -1;
    return this.environments.filter((own) => own.position > before && own.position <= position);
  }

  private renderDelta(position: number, value: number) {
    const regions = this.changes?.regions ?? [];
    const own = regions.findIndex((region) => position >= region.first && position <= region.last);
    const begins = regions[own]?.first === position;
    const level = regions[begins && own > 0 ? own - 1 : own];
    if (!level || level.mean === 0) return nothing;
    const delta = value / level.mean - 1;
    const sign = delta > 0 ? "+" : delta < 0 ? "−" : "";
    const than = begins && own > 0 ? "level before" : "mean of its level";
    return html`<span class="faint figure">${delta >= 3 ? `${times(1 + delta)}× the ${than}` : `${sign}${percent(delta)} to the ${than}`}</span>`;
  }

  private renderChanges(changes: Changes) {
    if (changes.changes.length === 0) {
      return html`<p class="faint">No change was found in this trace. “Why” below tells what was looked at.</p>`;
    }
    const newest = [...changes.changes].sort((a, b) => (b.place.position ?? 0) - (a.place.position ?? 0));
    return html`<table class="changes">
      <thead>
        <tr><th scope="col">Change</th><th scope="col">Commit</th><th scope="col">State</th><th scope="col"><span class="sr-only">Decide</span></th></tr>
      </thead>
      <tbody>
        ${newest.map((member) => this.renderChange(member, changes))}
      </tbody>
    </table>`;
  }

  private renderChange(member: Member, changes: Changes) {
    const current = member.place.position !== null && member.place.position === this.address.commit;
    const { unit } = changes.trace;
    const button = (label: string, status: Status) => html`<button
      class="button small"
      @click=${() => void decide({ ids: [member.id], status })}
    >${label}</button>`;
    return html`<tr data-finding=${member.id} aria-current=${current ? "true" : "false"}>
      <td>
        ${change(member)}
        <div class="second figure">${fromTo(member.before.mean, member.after.mean, unit)}</div>
        <div class="second">${hazard(member.hazard)}${member.p_value === null ? nothing : html`<span class="figure faint">p ${number(member.p_value, 2)}</span>`}</div>
      </td>
      <td>
        <button class="link subject" title=${member.commit.subject} @click=${() => this.go({ commit: member.place.position ?? undefined })}>${member.commit.subject}</button>
        <div class="second">${hash(member.commit)}<span>${member.commit.author}</span>${date(member.commit.time)}
          ${member.place.suspects > 1 ? html`<span class="range">one of ${member.place.suspects} commits</span>` : nothing}</div>
      </td>
      <td>
        ${state(member.status)}${member.condition === "present" ? nothing : html` <span class="tag">${member.condition}</span>`}
        ${member.ticket ? html`<div class="second">${member.ticket}</div>` : nothing}
        ${member.note ? html`<div class="second note" title=${member.note}>${member.note}</div>` : nothing}
      </td>
      <td><div class="actions always">
        ${member.status === "new"
          ? html`${button("Acknowledge", "acknowledged")}${button("Hide", "hidden")}`
          : button("Put back", "new")}
      </div></td>
    </tr>`;
  }

  private renderCommit(changes: Changes) {
    const { commit } = this;
    const position = this.address.commit;
    if (position === undefined || !commit) {
      return html`<h2 id="commit-title">Commit</h2>
        <p class="faint">Click a value, or press ← and →, to see its commit.</p>`;
    }
    const at = this.series?.positions.indexOf(position) ?? -1;
    const value = at < 0 ? undefined : this.series?.values[at];
    return html`<h2 id="commit-title">Commit</h2>
      ${commit.subject ? html`<p class="commit-subject">${commit.subject}</p>` : nothing}
      <dl class="facts">
        <div><dt>Hash</dt><dd>${hash(commit)}</dd></div>
        <div><dt>Author</dt><dd>${commit.author || html`<span class="faint">not known</span>`}${commit.email ? html` <span class="faint">${commit.email}</span>` : nothing}</dd></div>
        <div><dt>Date</dt><dd>${moment(commit.time)}</dd></div>
        <div><dt>Place</dt><dd class="figure">commit ${(position + 1).toLocaleString("en")} of ${changes.commits.toLocaleString("en")} on ${changes.line || "the line"}</dd></div>
        <div><dt>Value</dt><dd>${value === undefined
          ? html`<span class="faint">not measured</span>`
          : html`<strong class="figure">${valueText(value, changes.trace.unit)}</strong> ${this.renderDelta(position, value)}`}</dd></div>
        ${this.environments
          .filter((own) => own.position === position)
          .map((own) => html`<div><dt>Changed</dt><dd>${renderFacts(own)} <span class="faint">since commit ${(own.previous + 1).toLocaleString("en")}</span></dd></div>`)}
        ${this.runs.map((run) => this.renderRun(run))}
      </dl>
      ${this.renderSuspects()}`;
  }

  private renderRun(run: Run) {
    const samples = run.samples.length;
    const facts = Object.entries(run.environment);
    return html`<div title=${[run.identity, run.source].filter(Boolean).join("\n")}><dt>Run</dt><dd>
      ${run.value === null ? html`<span>${run.outcome}</span>` : html`<span class="figure">${valueText(run.value, this.changes?.trace.unit ?? run.unit)}</span>`}
      ${run.message ? html`<span class="faint">${run.message}</span>` : nothing}
      ${run.time ? html`<span class="faint">${moment(run.time)}</span>` : nothing}
      ${Object.entries(run.links)
        .filter(([, url]) => /^https?:\/\//.test(url))
        .map(([name, url]) => html` <a href=${url} target="_blank" rel="noreferrer">${name}</a>`)}
      ${facts.length > 0 ? html`<div class="second">${facts.map(([name, text]) => html`<span class="param"><span class="param-key">${name}</span>${text}</span>`)}</div>` : nothing}
      ${samples > 1
        ? html`<details class="samples"><summary>median of ${count(samples, "sample")}</summary>
            <ul class="figure">${run.samples.map((sample) => html`<li>${valueText(sample, run.unit)}</li>`)}</ul></details>`
        : nothing}
    </dd></div>`;
  }

  private renderSuspects() {
    const place = this.pinnedChange?.place;
    if (!place || place.suspects < 2) return nothing;
    const more = place.suspects - this.suspects.length;
    return html`<h3>The change lies in one of ${place.suspects} commits</h3>
      <p class="faint">Those in between were not measured. Measure them to know which.</p>
      <ol class="suspects">
        ${this.suspects.map((commit) => html`<li>${hash(commit)} <span class="subject" title=${commit.subject}>${commit.subject}</span> <span class="faint">${commit.author}</span></li>`)}
      </ol>
      ${more > 0 && this.suspects.length > 0 ? html`<p class="faint">and ${more} older</p>` : nothing}`;
  }

  private renderWhy() {
    return html`<details class="panel why" @toggle=${(event: Event) => {
      if ((event.target as HTMLDetailsElement).open) void this.loadWhy();
    }}>
      <summary><h2>Why</h2><span class="faint">every place that was looked at, and what decided <kbd>w</kbd></span></summary>
      ${this.whyError ? failed(this.whyError) : this.explanation ? this.renderExplanation(this.explanation) : waiting("Asking the method")}
    </details>`;
  }

  private renderExplanation(why: Explanation) {
    const parameters = Object.entries(why.parameters);
    const facts = Object.entries(why.facts);
    return html`<p>Method <strong>${why.method}</strong>${why.alert ? html`, alert <strong>${why.alert}</strong>` : nothing}.
        ${parameters.map(([name, value]) => html`<span class="param"><span class="param-key">${name}</span>${String(value)}</span> `)}</p>
      ${facts.length > 0
        ? html`<p>Of the whole trace: ${facts.map(([name, value]) => html`<span class="param"><span class="param-key">${name}</span>${value === null ? "none" : number(value)}</span> `)}</p>`
        : nothing}
      ${why.reason ? html`<p>It does not look at this trace: ${why.reason}.</p>` : nothing}
      ${why.reason ? nothing : why.candidates.length === 0
        ? html`<p class="faint">No place was a candidate: the values do not differ enough anywhere, or there are too few of them.</p>`
        : html`<table class="candidates">
            <thead><tr><th scope="col">Commit</th><th scope="col">Outcome</th><th scope="col">Checks</th></tr></thead>
            <tbody>
              ${why.candidates.map((candidate) => html`<tr>
                <td>${hash(candidate.commit)}<div class="second">${date(candidate.commit.time)}</div></td>
                <td>${candidate.accepted ? html`<strong>✓ a change</strong>` : html`<span>✗ ${candidate.reason || "rejected"}</span>`}</td>
                <td>${renderChecks(candidate.checks)}</td>
              </tr>`)}
            </tbody>
          </table>`}
      ${why.omitted > 0 ? html`<p class="faint">and ${count(why.omitted, "more place")}, all rejected</p>` : nothing}`;
  }
}

function renderFacts(change: Environment) {
  return change.facts.map(({ name, before, after }) => html`<span class="param"><span class="param-key">${name}</span>${before} → ${after}</span> `);
}

function renderChecks(checks: Explanation["candidates"][number]["checks"]) {
  const one = (check: (typeof checks)[number]) => html`<span class="check ${check.passed ? "" : "not"}">
    ${check.relation ? (check.passed ? "✓ " : "✗ ") : ""}${check.name} ${check.value === null ? "none" : number(check.value)}
    ${check.relation ? html`<span class="faint">must be ${check.relation} ${check.bound === null ? "" : number(check.bound)}</span>` : nothing}
  </span>`;
  const deciding = checks.filter((check) => check.relation !== "");
  const others = checks.filter((check) => check.relation === "");
  return html`${deciding.map(one)}
    ${others.length > 0 ? html`<details><summary>${count(others.length, "more number")}</summary>${others.map(one)}</details>` : nothing}`;
}

function markOf(member: Member): ChartMark | undefined {
  const { position, previous, suspects } = member.place;
  if (position === null) return undefined;
  return {
    id: member.id,
    position,
    previous: previous ?? position - 1,
    suspects,
    status: member.status,
    direction: member.direction,
    text: `${member.size > 0 ? "▲" : "▼"} ${changeInWords(member)}`,
  };
}

customElements.define("kp-trace", TraceView);
