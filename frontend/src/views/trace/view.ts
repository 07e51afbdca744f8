/** A trace: its values over commits, its changes, and why there are no others. */

import { html, nothing, type PropertyValues } from "lit";
import {
  abandoned,
  api,
  shown,
  type ApiError,
  type Changes,
  type Commit,
  type Environment,
  type Explanation,
  type Member,
  type Repository,
  type Run,
  type WithoutValue,
} from "../../api/client";
import type { Series } from "../../api/series";
import "../../parts/chart/element";
import type { ChartPart } from "../../parts/chart/element";
import type { ChartCandidate, ChartLine, ChartMark, ChartRange } from "../../parts/chart/model";
import { Part } from "../../parts/element";
import { failed, longName, waiting } from "../../parts/pieces";
import { explore, go, writeAddress, type TraceAddress } from "../../state/address";
import { CommitCache } from "../../state/commits";
import { addShortcuts } from "../../state/keys";
import { ValueSource } from "../../state/values";
import { grouped } from "../../text/format";
import { traceName, traceText } from "../../text/names";
import { unitText, valueText } from "../../text/numbers";
import { betterWord, count } from "../../text/words";
import { renderChanges } from "./changes";
import { renderCommit } from "./commit";
import { changeAt, failuresOf, markOf, type Desk, type Failure, type Suspect } from "./desk";
import { renderPlot } from "./plot";
import { shortcutsOf } from "./shortcuts";
import { renderWhy } from "./why";

const SUSPECTS_SHOWN = 12;

class TraceView extends Part implements Desk {
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
    withoutValue: { state: true },
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
  declare suspects: readonly Suspect[];
  declare runs: readonly Run[];
  declare environments: readonly Environment[];
  declare withoutValue: readonly WithoutValue[];
  declare explanation: Explanation | undefined;
  declare whyError: ApiError | undefined;

  commits: CommitCache | undefined;
  lines: readonly ChartLine[] = [];
  marks: readonly ChartMark[] = [];
  members: readonly Member[] = [];
  candidates: readonly ChartCandidate[] = [];
  failures: readonly Failure[] = [];
  private request: AbortController | undefined;
  private readonly source = new ValueSource();
  private removeShortcuts: (() => void) | undefined;
  private readonly refresh = (): void => void this.loadChanges();
  readonly refreshTip = (): void => this.querySelector<ChartPart>("kp-chart")?.refreshTip();

  constructor() {
    super();
    this.times = new Float64Array();
    this.suspects = [];
    this.runs = [];
    this.environments = [];
    this.withoutValue = [];
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.removeShortcuts = addShortcuts(() => shortcutsOf(this));
    window.addEventListener("kp-decided", this.refresh);
  }

  override disconnectedCallback(): void {
    this.removeShortcuts?.();
    window.removeEventListener("kp-decided", this.refresh);
    this.request?.abort();
    super.disconnectedCallback();
  }

  override willUpdate(changed: PropertyValues<this>): void {
    const before = changed.get("address");
    if (changed.has("address")) {
      const other = before?.id !== this.address.id || before.line !== this.address.line;
      if (other) void this.load();
      else if (before.first !== this.address.first || before.last !== this.address.last) void this.loadValues();
      if (!other && before.commit !== this.address.commit) void this.loadCommit();
      if (this.address.why && (other || !before.why)) void this.loadWhy();
    }
    if (changed.has("series") || changed.has("changes")) {
      const trace = this.changes?.trace;
      this.lines =
        trace && this.series
          ? [{ id: trace.id, label: traceText(trace.params), unit: trace.unit, positions: this.series.positions, values: this.series.values }]
          : [];
    }
    if (changed.has("series") || changed.has("withoutValue")) this.failures = failuresOf(this.withoutValue, this.series?.positions ?? []);
    if (changed.has("changes") || before?.gone !== this.address.gone) {
      this.members = [...(this.changes?.changes ?? []), ...(this.address.gone ? (this.changes?.gone ?? []) : [])];
      this.marks = this.members.flatMap((member) => markOf(member) ?? []);
    }
    if (changed.has("explanation") || before?.why !== this.address.why) {
      this.candidates = this.address.why ? (this.explanation?.candidates ?? []) : [];
    }
  }

  private async load(): Promise<void> {
    this.error = this.changes = this.series = this.explanation = this.whyError = undefined;
    this.environments = [];
    this.withoutValue = [];
    this.source.forget();
    const { id, line } = this.address;
    try {
      const values = this.loadValues();
      const beside = Promise.all([api.environments(id, line), api.withoutValue(id, line)]);
      beside.catch(() => undefined); // told below, once what matters more is there
      const changes = (this.changes = await api.changes(id, line));
      const { repository, params } = changes.trace;
      this.commits = new CommitCache(repository, changes.line);
      document.title = `${traceName(params).name} · Knickpoint`;
      const times = api.times(repository, changes.line).then((found) => (this.times = found));
      await Promise.all([times, this.loadCommit(), values]);
      const [environments, withoutValue] = await beside;
      if (this.address.id !== id || this.address.line !== line) return;
      this.environments = environments;
      this.withoutValue = withoutValue;
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
    const stale = (): boolean => this.address.commit !== position;
    try {
      const commit = await this.commits.at(position);
      if (stale()) return;
      this.commit = commit;
      const [suspects, runs] = await Promise.all([this.findSuspects(position), commit ? api.runs(this.address.id, commit.hash) : []]);
      if (stale()) return;
      this.suspects = suspects;
      this.runs = runs;
    } catch (thrown) {
      this.error = shown(thrown);
    }
  }

  private async findSuspects(position: number): Promise<Suspect[]> {
    const place = changeAt(this, position)?.place;
    if (!this.commits || !place || place.suspects < 2 || place.previous === null) return [];
    const commits = await this.commits.between(place.previous, position, SUSPECTS_SHOWN);
    const runs = await Promise.all(commits.map((commit) => api.runs(this.address.id, commit.hash)));
    return commits.map((commit, index) => ({ commit, failed: runs[index]?.find((run) => run.value === null) }));
  }

  private async loadWhy(): Promise<void> {
    const { id, line } = this.address;
    try {
      const explanation = await api.explain(id, line);
      if (this.address.id === id && this.address.line === line) this.explanation = explanation;
    } catch (thrown) {
      this.whyError = shown(thrown);
    }
  }

  get range(): ChartRange | undefined {
    const { first, last } = this.address;
    return first === undefined || last === undefined ? undefined : { first, last };
  }

  get whole(): ChartRange {
    const { changes } = this;
    return { first: changes?.first ?? 0, last: changes?.last ?? Math.max((changes?.commits ?? 1) - 1, 0) };
  }

  // ---- what keys and buttons do

  go(part: Partial<TraceAddress>, how: "push" | "replace" = "replace"): void {
    go({ ...this.address, ...part }, how);
  }

  look(range: ChartRange | undefined, how: "push" | "replace" = "replace"): void {
    this.go({ first: range?.first, last: range?.last }, how);
  }

  openWhy(open: boolean): void {
    if (open === this.address.why) return;
    this.go({ why: open });
    if (open) void this.updateComplete.then(() => this.querySelector("details.why")?.scrollIntoView({ block: "nearest" }));
  }

  // ---- what is shown

  override render() {
    const { changes } = this;
    if (this.error && !changes) return failed(this.error, () => void this.load());
    if (!changes) return waiting("Reading the trace");
    return html`
      ${this.renderTitle(changes)} ${this.error ? failed(this.error, () => void this.load()) : nothing} ${renderPlot(this, changes)}
      <div class="trace-below">${renderChanges(this, changes)} ${renderCommit(this, changes)}</div>
      ${renderWhy(this)}
    `;
  }

  private renderTitle(changes: Changes) {
    const { trace } = changes;
    const { name, rest } = traceName(trace.params);
    const repository = this.repositories.find((own) => own.name === trace.repository);
    const back = writeAddress({ ...explore, repository: trace.repository, traces: [trace.id] });
    const newest = this.series && !this.range ? this.series.values.at(-1) : undefined;
    return html`<div class="trace-title">
      <div>
        <h1>${longName(name)}</h1>
        <p class="second">
          ${this.repositories.length > 1 ? html`<span>${trace.repository}</span>` : nothing}
          ${rest.map(([key, value]) => html`<span class="param"><span class="param-key">${key}</span>${value}</span>`)}
          <span>${unitText(trace.unit) || "no unit"}${trace.better === "unknown" ? nothing : html`, ${betterWord(trace.better)}`}</span>
          <span>${grouped(changes.measured)} of ${count(changes.commits, "commit")} measured</span>
          ${newest === undefined ? nothing : html`<span>newest value ${valueText(newest, trace.unit)}</span>`}
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
}

customElements.define("kp-trace", TraceView);
