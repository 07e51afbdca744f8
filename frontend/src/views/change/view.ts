/** The page of a change: what it is, its plot, who may have caused it, its traces, and what was decided and announced. */

import { html, nothing } from "lit";
import { customElement, property, query, state } from "lit/decorators.js";
import { keyed } from "lit/directives/keyed.js";
import {
  api,
  type ApiError,
  type Caller,
  type Change,
  type ChangePage,
  type Finding,
  type ListFilter,
  type ProfileCause,
  type Status,
} from "../../api/client";
import type { Hovered } from "../../charts/chart-data";
import "../../charts/chart";
import "../../components/bisection-panel";
import "../../components/decision-dialog";
import type { DecisionDialog, DecisionQuestion, DecisionReply } from "../../components/decision-dialog";
import { PageElement } from "../../page-element";
import { changeRoute, type ChangeRoute } from "../../routes/change";
import { navigate } from "../../routes/navigation";
import { keepHere, keptHere } from "../../routes/place";
import { routeUrl } from "../../routes/routes";
import { traceRoute } from "../../routes/trace";
import { triageRoute } from "../../routes/triage";
import { isAllowed, isAllowedSomewhere } from "../../state/access";
import { memoizeLast } from "../../state/memoize";
import { CommitCache } from "../../state/plot/commit-cache";
import { ValueCache } from "../../state/plot/value-cache";
import { firstError, Resource } from "../../state/resource";
import { registerShortcuts } from "../../state/shortcuts";
import { showToast } from "../../state/toasts";
import {
  recordDecision,
  reportUnrecorded,
  STATUS_KEYS,
  undoLast,
  type DecisionInput,
} from "../../state/triage/decisions";
import { selectChange } from "../../state/triage/selection";
import { registerVisibleList } from "../../state/triage/visible-list";
import { changeTable } from "../../templates/change-table";
import { errorNotice, loadingNotice } from "../../templates/notice";
import { longName } from "../../templates/trace-name";
import { comparisonText } from "../../text/findings";
import { countText, grouped } from "../../text/numbers";
import { commonParams, traceText } from "../../text/trace-names";
import { valueText } from "../../text/units";
import { findingsOf, linesOf, marksOf } from "../trace/plot-data";
import { loadSuspects, renderSuspects } from "../trace/suspects";
import { renderHead, renderHistory, renderMembers } from "./parts";

/** Members that are shown first, and with each press of *More*. */
const PAGE = 50;
/** Changes among which `j` and `k` step. */
const MOST_STEPS = 500;
const NO_TIMES = new Float64Array();

/** What Back, Forward and Reload bring back. */
interface Kept {
  chosen: string;
  most: number;
}

@customElement("kp-change")
export class ChangeView extends PageElement {
  @property({ attribute: false }) route: ChangeRoute = changeRoute("");
  @property({ attribute: false }) caller!: Caller;
  @query("kp-decision-dialog") private readonly dialog!: DecisionDialog | null;
  /** How many members are shown. */
  @state() private most = PAGE;
  /** The id of the member whose trace is plotted; "" for the lead. */
  @state() private chosen = "";

  private readonly page = new Resource<readonly [string], ChangePage>(this, {
    args: () => [this.route.id],
    load: ([id], signal) => api.changePage(id, signal),
    onAnswer: ({ change }) => (document.title = `${change.id} ${change.statement?.headline ?? ""} · Knickpoint`),
  });
  private readonly members = new Resource(this, {
    args: () => (this.page.value ? ([this.route.id, this.most, this.page.value.gone] as const) : undefined),
    load: ([id, most], signal) => api.findings(id, undefined, most, this.filter, signal),
    keepWhileLoading: ([before], [now]) => before === now,
  });
  private readonly changesResource = new Resource(this, {
    args: () => (this.shown ? ([this.shown.trace.id, this.shown.suspect_range.line] as const) : undefined),
    load: ([id, line], signal) => api.changePoints(id, line, signal),
  });
  private readonly valueCache = new ValueCache();
  private readonly seriesResource = new Resource(this, {
    args: () => (this.shown ? ([this.shown.trace.id, this.shown.suspect_range.line] as const) : undefined),
    load: async ([id, line], signal) => (await this.valueCache.fetch([id], line, undefined, signal))[0],
  });
  private readonly timesResource = new Resource(this, {
    args: () => (this.shown ? ([this.shown.trace.repository, this.shown.suspect_range.line] as const) : undefined),
    load: ([repository, line], signal) => api.times(repository, line, signal),
  });
  private readonly suspects = new Resource(this, {
    args: () => (this.lead && this.commits ? ([this.lead, this.commits] as const) : undefined),
    load: ([lead, commits], signal) => loadSuspects(lead.trace.id, commits, lead, signal),
  });
  private readonly flame = new Resource(this, {
    args: () => (this.page.value?.cause ? ([this.route.id] as const) : undefined),
    load: async ([id], signal) => {
      const [data] = await Promise.all([api.flameGraph(id, signal), import("../../components/flame-graph")]);
      return data;
    },
  });
  private readonly trackers = new Resource(this, {
    args: () => (isAllowedSomewhere(this.caller, "decide") ? (["trackers"] as const) : undefined),
    load: (_, signal) => api.trackers(signal),
  });
  private readonly resources = [
    this.page,
    this.members,
    this.changesResource,
    this.seriesResource,
    this.timesResource,
    this.suspects,
  ];

  private readonly linesOf = memoizeLast(linesOf);
  private readonly findingsOf = memoizeLast(findingsOf);
  private readonly marksOf = memoizeLast(marksOf);
  private readonly commitsOf = memoizeLast((repository: string, line: string) => new CommitCache(repository, line));
  /** The list that `j` and `k` step through, asked for at the first press. */
  private order: Promise<readonly string[]> | undefined;
  private unregister: readonly (() => void)[] = [];
  private readonly onDecided = (): void => {
    for (const resource of [this.page, this.members, this.changesResource]) resource.reload();
  };

  override connectedCallback(): void {
    super.connectedCallback();
    window.addEventListener("kp-decided", this.onDecided);
    this.unregister = [
      registerShortcuts(() => this.shortcuts),
      registerVisibleList(() => ({ filter: this.filter, order: [this.route.id] })),
    ];
  }

  override disconnectedCallback(): void {
    window.removeEventListener("kp-decided", this.onDecided);
    for (const each of this.unregister) each();
    super.disconnectedCallback();
  }

  override willUpdate(changed: Map<string, unknown>): void {
    const before = changed.get("route") as ChangeRoute | undefined;
    if (!changed.has("route") || before?.id === this.route.id) return;
    const kept = keptHere() as Kept | undefined;
    this.chosen = kept?.chosen ?? "";
    this.most = kept?.most ?? PAGE;
  }

  override updated(changed: Map<string, unknown>): void {
    if (changed.has("chosen") || changed.has("most")) {
      keepHere({ chosen: this.chosen, most: this.most } satisfies Kept);
    }
  }

  // ---- State

  /** The list that has all members: the page shows a change wherever it is listed. */
  private get filter(): ListFilter {
    return { [this.page.value?.gone ? "gone" : "all"]: true, alert_kind: "any" } as unknown as ListFilter;
  }

  private get lead(): Finding | undefined {
    return this.page.value?.change.members[0];
  }

  private get shown(): Finding | undefined {
    return this.members.value?.members.find(({ id }) => id === this.chosen) ?? this.lead;
  }

  private get commits(): CommitCache | undefined {
    const { lead } = this;
    return lead && this.commitsOf(lead.trace.repository, lead.suspect_range.line);
  }

  private get mayDecide(): boolean {
    const { value } = this.page;
    return value !== undefined && !value.gone && isAllowed(this.caller, "decide", value.change.repository);
  }

  private get shortcuts() {
    const decisions = [
      { keys: ["a"], description: "acknowledge the change", run: () => void this.decideByKey("a") },
      { keys: ["h"], description: "hide the change as noise", run: () => void this.decideByKey("h") },
      { keys: ["r"], description: "put the change back", run: () => void this.decideByKey("r") },
      { keys: ["t"], description: "link a ticket", run: () => void this.ask("ticket") },
      { keys: ["n"], description: "write a note", run: () => void this.ask("note") },
      { keys: ["i"], description: "assign", run: () => void this.ask("assignee") },
      { keys: ["u"], description: "undo the last decision", run: () => void undoLast() },
    ];
    return [
      {
        title: "Move",
        shortcuts: [
          { keys: ["j"], description: "next change to triage", run: () => void this.step(1) },
          { keys: ["k"], description: "previous change to triage", run: () => void this.step(-1) },
        ],
      },
      ...(this.mayDecide ? [{ title: "Decide", shortcuts: decisions }] : []),
    ];
  }

  // ---- Actions

  /** Go to the change after or before this one among those to triage, the worst first; from another one, to the first. */
  private async step(by: number): Promise<void> {
    this.order ??= api
      .changes({ sort: "-change", page: 1, size: MOST_STEPS, members: 1 } as Parameters<typeof api.changes>[0])
      .then(({ changes }) => changes.map(({ id }) => id));
    const order = await this.order.catch((): readonly string[] => []);
    const next = order[order.indexOf(this.route.id) + by];
    if (next === undefined)
      showToast({ text: by > 0 ? "This is the last change to triage." : "This is the first one." });
    else navigate(changeRoute(next), "push");
  }

  private decideByKey(key: string): Promise<void> {
    const status = STATUS_KEYS[key];
    return status ? this.decide(status) : Promise.resolve();
  }

  private async decide(status: Status): Promise<void> {
    const failure = await this.record({ status });
    if (failure) reportUnrecorded(failure);
  }

  private async record(input: Omit<DecisionInput, "findings">): Promise<ApiError | undefined> {
    const { value } = this.page;
    return value && recordDecision({ findings: selectChange(value.change), ...input });
  }

  private async ask(kind: DecisionQuestion["kind"]): Promise<void> {
    const { value } = this.page;
    if (!value) return;
    const send = ({ note, ticket, create, assignee }: DecisionReply): Promise<ApiError | undefined> =>
      this.record({
        ...(kind === "ticket" ? { status: "ticket", ...(create ? { create } : { ticket }) } : {}),
        ...(kind === "assignee" ? { assignee } : {}),
        ...(note && { note }),
      });
    const trackers = kind === "ticket" ? (this.trackers.value ?? []).map(({ name }) => name) : [];
    const held = value.change.held ? [value.change.held] : [];
    await this.dialog?.ask({ kind, findings: value.change.traces, held, trackers, assignee: this.caller.name }, send);
  }

  private retry(): void {
    for (const resource of this.resources) resource.retry();
  }

  // ---- Rendering

  override render() {
    const { value: found } = this.page;
    const error = firstError(this.resources);
    if (!found) return error ? renderUnknown(error, () => this.retry()) : loadingNotice("Loading the change");
    const { change, earlier } = found;
    return html`${renderHead(found, this.mayDecide, {
        decide: (status) => void this.decide(status),
        ask: (kind) => void this.ask(kind),
        step: (by) => void this.step(by),
      })}
      ${error ? errorNotice(error, () => this.retry()) : nothing} ${this.renderPlot()}
      <div class="trace-below">${this.renderCause(change)} ${renderHistory(found)}</div>
      ${this.renderProfiles(found)}
      ${
        found.gone
          ? nothing
          : keyed(
              change.id,
              html`<kp-bisection-panel .change=${change.id} .mayDecide=${this.mayDecide}></kp-bisection-panel>`,
            )
      }
      ${renderMembers(change, this.members.value, this.shown?.id, {
        plot: (member) => this.plot(member),
        more: () => (this.most += PAGE),
      })}
      ${
        earlier.length > 0
          ? html`<section class="part" aria-labelledby="earlier-title">
              <h2 id="earlier-title">Earlier changes of these traces</h2>
              ${changeTable(earlier, { status: true, label: "Earlier changes of these traces" })}
            </section>`
          : nothing
      }
      <kp-decision-dialog></kp-decision-dialog>`;
  }

  private plot(member: Finding): void {
    this.chosen = member.id;
    void this.updateComplete.then(() => this.querySelector(".chart-panel")?.scrollIntoView({ block: "nearest" }));
  }

  private renderPlot() {
    const { shown } = this;
    const changes = this.changesResource.value;
    const series = this.seriesResource.value;
    if (!shown) return nothing;
    const { position } = shown.suspect_range;
    const url = routeUrl(traceRoute(shown.trace.id, { line: shown.suspect_range.line, commit: position ?? undefined }));
    return html`<section class="chart-panel" aria-label="Values over commits">
      <div class="chart-tools">
        <span
          ><a href=${url}><bdi>${longName(traceText(shown.trace.params, commonParams([])))}</bdi></a>
          <span class="figure">${comparisonText(shown)}</span></span
        >
        <span class="spring"></span>
        <a class="button small" href=${url}>Open the trace</a>
      </div>
      ${
        changes && series
          ? html`<kp-chart
              .lines=${this.linesOf(changes.trace, series)}
              .levels=${changes.regions}
              .marks=${this.marksOf(this.findingsOf(changes, shown.condition === "gone"), changes.statements, [], changes.summaries, undefined)}
              .times=${this.timesResource.value ?? NO_TIMES}
              .total=${changes.commits}
              .pinned=${position ?? undefined}
              .label=${`${traceText(shown.trace.params)}: ${shown.size_text}`}
              .describe=${describe}
              @kp-pick=${(event: CustomEvent<number>) => navigate(traceRoute(shown.trace.id, { commit: event.detail }), "push")}
            ></kp-chart>`
          : html`<div class="chart-place">${loadingNotice("Loading the values")}</div>`
      }
    </section>`;
  }

  /** What profiles say: the functions, the commits that touched them, and the flame graph, which is loaded for it alone. */
  private renderProfiles({ cause, change }: ChangePage) {
    if (!cause) return nothing;
    const { value } = this.flame;
    const error = firstError([this.flame]);
    return html`<section class="part" aria-labelledby="profiles-title">
      <h2 id="profiles-title">Where the cost changed</h2>
      <p>${cause.sentence}</p>
      <p class="faint">${profilesText(cause)}</p>
      ${
        value
          ? html`<kp-flame-graph
              class="inner"
              .shown=${this.route.flame}
              .data=${value}
              @kp-flame=${(event: CustomEvent<string>) => navigate(changeRoute(change.id, event.detail), "replace")}
            ></kp-flame-graph>`
          : error
            ? errorNotice(error, () => this.flame.retry())
            : loadingNotice("Loading the flame graph")
      }
    </section>`;
  }

  private renderCause(change: Change) {
    const { lead } = this;
    const list = this.suspects.value;
    const suspects = renderSuspects(lead, change.statement ?? undefined, list);
    const only = change.statement?.likely?.basis === "only" || change.suspect_range.commits < 2;
    return html`<section class="panel" aria-labelledby="cause-title">
      <h2 id="cause-title">Likely causes</h2>
      ${
        suspects === nothing
          ? html`<p>
              ${
                only
                  ? "It is the only commit between the last measured one at the old level and the first at the new one."
                  : "The suspects are not ranked yet."
              }
            </p>`
          : suspects
      }
    </section>`;
  }
}

/** How many profiles of what were compared, as "5 profiles before and 5 after of parse (cProfile)". */
function profilesText({ benchmarks }: ProfileCause): string {
  return benchmarks
    .map(
      ({ benchmark, before, after, format }) =>
        `${countText(before, "profile")} before and ${after} after of ${benchmark} (${format})`,
    )
    .join("; ");
}

function describe({ position, value, line }: Hovered) {
  return html`<div class="tip-value">${valueText(value, line.unit)}</div>
    <div class="faint">commit ${grouped(position + 1)}</div>`;
}

function renderUnknown(error: ApiError, retry: () => void) {
  return html`${errorNotice(error, error.code === 404 ? undefined : retry)}
    <p class="part"><a class="button" href=${routeUrl(triageRoute)}>All changes to triage</a></p>`;
}

declare global {
  interface HTMLElementTagNameMap {
    "kp-change": ChangeView;
  }
}
