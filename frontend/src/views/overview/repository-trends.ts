/** How a repository goes: the geometric mean of its traces, and a grid with that of each of its suites. */

import { html, nothing, type TemplateResult } from "lit";
import { customElement, property, state } from "lit/decorators.js";
import { api, type Repository, type Trend, type Trends } from "../../api/client";
import { timeAxis, trendStrip } from "../../charts/trend-strip";
import { PUBLISHED } from "../../api/published-data";
import { PageElement } from "../../page-element";
import { exploreRoute } from "../../routes/explore";
import { navigate } from "../../routes/navigation";
import { overviewRoute, type OverviewRoute } from "../../routes/overview";
import { routeUrl } from "../../routes/routes";
import { Resource } from "../../state/resource";
import { errorNotice, loadingNotice } from "../../templates/notice";
import { selectField } from "../../templates/select-field";
import { longName } from "../../templates/trace-name";
import { countText, grouped } from "../../text/numbers";
import { quote } from "../../text/query";
import { commonPrefixLength } from "../../text/trace-names";
import { intervalText, tracesText, trendDirection, trendText } from "../../text/trends";

const COMMITS = 250;
const RANGES = [50, 100, 250, 500, 1000];
/** Suites that are shown at first, where several repositories share the page, and where one has it. */
const MOST_LANES = 8;
const MOST_SINGLE = 20;

@customElement("kp-repository-trends")
export class RepositoryTrends extends PageElement {
  @property({ attribute: false }) repository!: Repository;
  @property({ attribute: false }) route: OverviewRoute = overviewRoute;
  /** Whether it is the only repository on the page: then the query and the parts can be chosen. */
  @property({ type: Boolean }) single = false;
  @state() private isExpanded = false;

  private readonly trends = new Resource<readonly [string, string, string, number], Trends>(this, {
    args: () => [
      this.repository.name,
      this.single ? this.route.query : "",
      this.single ? this.route.by : "",
      this.route.commits ?? COMMITS,
    ],
    load: ([repository, query, by, commits], signal) => api.trends({ repository, query, by, commits }, signal),
    keepWhileLoading: ([before], [now]) => before === now,
  });

  override render() {
    const { value, error } = this.trends;
    const { name } = this.repository;
    return html`<section class="part" aria-label=${name}>
      <h2><bdi>${name}</bdi></h2>
      ${this.single && PUBLISHED === undefined ? this.renderTools(value) : nothing}
      ${error ? errorNotice(error, () => this.trends.reload()) : nothing}
      ${value ? this.renderTrends(value) : error ? nothing : loadingNotice("Summing up")}
    </section>`;
  }

  private renderTools(value: Trends | undefined) {
    const choices = value?.choices ?? [];
    const commits = this.route.commits ?? COMMITS;
    return html`<form class="tools inner" role="search" @submit=${(event: SubmitEvent) => this.onQuery(event)}>
      <label class="search"
        ><span class="sr-only">Query</span
        ><input type="search" name="query" placeholder="All traces; or a query: os=linux" .value=${this.route.query}
      /></label>
      ${
        choices.length > 0
          ? selectField(
              "Parts",
              value?.by ?? "",
              choices.map((name) => [name, `By ${name}`] as const),
              (by) => navigate({ ...this.route, by }),
            )
          : nothing
      }
      ${selectField(
        "Commits",
        String(commits),
        [...new Set([...RANGES, commits])]
          .sort((a, b) => a - b)
          .map((number) => [String(number), `Last ${number} commits`] as const),
        (chosen) => navigate({ ...this.route, commits: Number(chosen) === COMMITS ? undefined : Number(chosen) }),
      )}
    </form>`;
  }

  private onQuery(event: SubmitEvent): void {
    event.preventDefault();
    const query = new FormData(event.target as HTMLFormElement).get("query");
    navigate({ ...this.route, query: typeof query === "string" ? query.trim() : "", by: "" });
  }

  private renderTrends(trends: Trends) {
    const { total, parts, directed, repository } = trends;
    const shown = this.isExpanded ? parts : parts.slice(0, this.single ? MOST_SINGLE : MOST_LANES);
    if (total.traces === 0) return html`<p class="faint inner">No trace matches the query.</p>`;
    const shared = commonPrefixLength(parts.map(({ value }) => value));
    return html`<p class="inner overview-sum" title=${SUM_TITLE}>
        <strong class="change ${trendDirection(total)}">${trendText(total)}</strong>
        over the last ${countText(trends.last - trends.first + 1, "commit")}
        <span class="faint"
          >geometric mean of
          ${tracesText(total)}${
            total.change === null ? nothing : html`; 95 % interval ${intervalText(total)}`
          }${directed ? nothing : html`; it is not known whether higher is worse`}</span
        >
      </p>
      <ol class="lanes" aria-label="Timeline of ${repository}">
        ${this.renderLane(trends, total, html`<strong>${parts.length > 0 ? "All" : "All traces"}</strong>`, "all")}
        ${shown.map((part) => this.renderLane(trends, part, this.partName(trends, part, shared)))}
        <li class="lane dates"><span></span>${timeAxis(trends.times)}<span></span></li>
      </ol>
      ${
        parts.length > shown.length
          ? html`<p class="inner">
              <button class="button small" @click=${() => (this.isExpanded = true)}>
                Show all ${grouped(parts.length)} of ${trends.by}
              </button>
              <span class="faint">the worst ${shown.length} are shown</span>
            </p>`
          : nothing
      }`;
  }

  private partName({ by }: Trends, part: Trend, shared: number) {
    const query = part.value ? `${quote(by)}=${quote(part.value)}` : `!${quote(by)}`;
    const route = {
      ...exploreRoute,
      repository: this.repository.name,
      query: [this.single ? this.route.query : "", query].filter(Boolean).join(" "),
    };
    return html`<a href=${routeUrl(route)}
      ><bdi>${part.value ? longName(part.value, shared) : html`without ${by}`}</bdi></a
    >`;
  }

  private renderLane({ times }: Trends, part: Trend, name: TemplateResult, kind = "") {
    const findings = part.marks.reduce((sum, mark) => sum + mark.findings, 0);
    const undone = part.marks.reduce((sum, mark) => sum + (mark.undone ? mark.findings : 0), 0);
    return html`<li class="lane ${kind}">
      <div class="lane-name">${name}</div>
      ${trendStrip(part, times)}
      <div class="lane-text" title=${intervalText(part)}>
        <span class="change ${trendDirection(part)}">${trendText(part)}</span>
        <span class="faint"
          >${tracesText(part)}${findings > 0 ? html`, ${countText(findings, "finding")}` : nothing}${
            undone > 0 ? html`, ${grouped(undone)} undone` : nothing
          }</span
        >
      </div>
    </li>`;
  }
}

const SUM_TITLE =
  "Each trace counts by its ratio to its level at the beginning of the range; beside others, traces for which higher is " +
  "better count by the inverse. The interval covers the scatter from commit to commit and, where not all traces were read, the choice.";

declare global {
  interface HTMLElementTagNameMap {
    "kp-repository-trends": RepositoryTrends;
  }
}
