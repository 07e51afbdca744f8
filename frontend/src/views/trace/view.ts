/** A trace: its values over commits, its changes, and why there are no others. */

import { html, nothing, type PropertyValues } from "lit";
import {
  api,
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
import { whenBack } from "../../api/connection";
import type { Series } from "../../api/series";
import "../../charts/chart";
import type { ChartPart } from "../../charts/chart";
import type { ChartCandidate, ChartLine, ChartMark, ChartRange } from "../../charts/chart-data";
import { Part } from "../../components/page-element";
import { failed, longName, waiting } from "../../templates/finding";
import { explore, go, writeAddress, type TraceAddress } from "../../routes/routes";
import { CommitCache } from "../../state/plot/commit-cache";
import { addShortcuts } from "../../state/shortcuts";
import { Latest } from "../../state/latest";
import { ValueSource } from "../../state/plot/value-cache";
import { grouped } from "../../text/numbers";
import { traceName, traceText } from "../../text/trace-names";
import { unitText, valueText } from "../../text/units";
import { betterWord, count } from "../../text/findings";
import { renderChanges } from "./change-list";
import { renderCommit } from "./commit-panel";
import { changeAt, failuresOf, markOf, type Desk, type Failure, type Suspect } from "./context";
import { renderPlot } from "./plot";
import { shortcutsOf } from "./shortcuts";
import { renderWhy } from "./explanation";

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
  /** One for each question that is asked by itself, so that an old answer never overwrites a new one. */
  private readonly asking = {
    trace: new Latest(),
    changes: new Latest(),
    values: new Latest(),
    commit: new Latest(),
    why: new Latest(),
  };
  private readonly source = new ValueSource();
  private readonly endings: (() => void)[] = [];
  private readonly refresh = (): void => void this.loadChanges();
  private readonly fail = (error: ApiError): void => void (this.error = error);
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
    this.endings.push(
      addShortcuts(() => shortcutsOf(this)),
      whenBack(() => (this.error ?? this.whyError) && this.loadAgain()),
    );
    window.addEventListener("kp-decided", this.refresh);
  }

  override disconnectedCallback(): void {
    for (const end of this.endings.splice(0)) end();
    window.removeEventListener("kp-decided", this.refresh);
    for (const asked of Object.values(this.asking)) asked.stop();
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
          ? [
              {
                id: trace.id,
                label: traceText(trace.params),
                unit: trace.unit,
                positions: this.series.positions,
                values: this.series.values,
              },
            ]
          : [];
    }
    if (changed.has("series") || changed.has("withoutValue"))
      this.failures = failuresOf(this.withoutValue, this.series?.positions ?? []);
    if (changed.has("changes") || before?.gone !== this.address.gone) {
      this.members = [...(this.changes?.changes ?? []), ...(this.address.gone ? (this.changes?.gone ?? []) : [])];
      this.marks = this.members.flatMap((member) => markOf(member) ?? []);
    }
    if (changed.has("explanation") || before?.why !== this.address.why) {
      this.candidates = this.address.why ? (this.explanation?.candidates ?? []) : [];
    }
  }

  private loadAgain(): void {
    void this.load();
    if (this.address.why) void this.loadWhy();
  }

  private async load(): Promise<void> {
    this.error = this.changes = this.series = this.explanation = this.whyError = undefined;
    this.environments = [];
    this.withoutValue = [];
    this.commit = this.commits = undefined;
    for (const asked of Object.values(this.asking)) asked.stop();
    this.source.forget();
    const { id, line } = this.address;
    void this.loadValues();
    await this.asking.trace.run(async (signal, present) => {
      const beside = Promise.all([api.environments(id, line, signal), api.withoutValue(id, line, signal)]);
      beside.catch(() => undefined); // shown below, once what matters more is there
      const changes = (this.changes = present(await api.changes(id, line, signal)));
      const { repository, params } = changes.trace;
      this.commits = new CommitCache(repository, changes.line);
      document.title = `${traceName(params).name} · Knickpoint`;
      void this.loadCommit();
      this.times = present(await api.times(repository, changes.line, signal));
      const [environments, withoutValue] = present(await beside);
      this.environments = environments;
      this.withoutValue = withoutValue;
    }, this.fail);
  }

  private loadChanges(): Promise<void> {
    const { id, line } = this.address;
    return this.asking.changes.run(async (signal, present) => {
      this.changes = present(await api.changes(id, line, signal));
    }, this.fail);
  }

  private loadValues(): Promise<void> {
    const { id, line } = this.address;
    return this.asking.values.run(async (signal, present) => {
      const [series] = present(await this.source.fetch([id], line, this.range, signal));
      this.series = series;
    }, this.fail);
  }

  private async loadCommit(): Promise<void> {
    const { id, commit: position } = this.address;
    const { commits } = this;
    this.runs = [];
    this.suspects = [];
    if (position === undefined || !commits) {
      this.asking.commit.stop();
      this.commit = undefined;
      return;
    }
    await this.asking.commit.run(async (signal, present) => {
      const commit = (this.commit = present(await commits.at(position)));
      const runs = commit ? api.runs(id, commit.hash, signal) : Promise.resolve([]);
      [this.suspects, this.runs] = present(await Promise.all([this.findSuspects(commits, position, signal), runs]));
    }, this.fail);
  }

  private async findSuspects(commits: CommitCache, position: number, signal: AbortSignal): Promise<Suspect[]> {
    const { id } = this.address;
    const place = changeAt(this, position)?.place;
    if (!place || place.suspects < 2 || place.previous === null) return [];
    const among = await commits.between(place.previous, position, SUSPECTS_SHOWN);
    const runs = await Promise.all(among.map((commit) => api.runs(id, commit.hash, signal)));
    return among.map((commit, index) => ({ commit, failed: runs[index]?.find((run) => run.value === null) }));
  }

  loadWhy(): Promise<void> {
    const { id, line } = this.address;
    this.whyError = undefined;
    return this.asking.why.run(
      async (signal, present) => {
        this.explanation = present(await api.explain(id, line, signal));
      },
      (error) => (this.whyError = error),
    );
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
    if (open)
      void this.updateComplete.then(() => this.querySelector("details.why")?.scrollIntoView({ block: "nearest" }));
  }

  // ---- what is shown

  override render() {
    const { changes } = this;
    if (this.error && !changes) return failed(this.error, () => this.loadAgain());
    if (!changes) return waiting("Reading the trace");
    return html`
      ${this.renderTitle(changes)} ${this.error ? failed(this.error, () => this.loadAgain()) : nothing}
      ${renderPlot(this, changes)}
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
          <span
            >${unitText(trace.unit) || "no unit"}${trace.better === "unknown" ? nothing : html`, ${betterWord(trace.better)}`}</span
          >
          <span>${grouped(changes.measured)} of ${count(changes.commits, "commit")} measured</span>
          ${newest === undefined ? nothing : html`<span>newest value ${valueText(newest, trace.unit)}</span>`}
        </p>
      </div>
      ${
        repository && repository.lines.length > 1
          ? html`<label class="select"
              ><span class="sr-only">Line</span>
              <select
                @change=${(event: Event) => this.go({ line: (event.target as HTMLSelectElement).value, commit: undefined, first: undefined, last: undefined }, "push")}
              >
                ${repository.lines.map((line) => html`<option value=${line} ?selected=${line === changes.line}>${line}</option>`)}
              </select></label
            >`
          : nothing
      }
      <a class="button small" href=${back}>Compare with others</a>
    </div>`;
  }
}

customElements.define("kp-trace", TraceView);
