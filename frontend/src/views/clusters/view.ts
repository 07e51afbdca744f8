/** Clusters of chosen traces: groups of one shape, the step of each, and what its traces have in common. */

import { html, nothing } from "lit";
import { customElement, property, state } from "lit/decorators.js";
import { api, type Caller, type Clustering, type ListFilter, type Progress, type Repository } from "../../api/client";
import { traceSparkline } from "../../charts/sparkline";
import { PageElement } from "../../page-element";
import { clustersRoute, type ClustersRoute } from "../../routes/clusters";
import { exploreRoute } from "../../routes/explore";
import { navigate } from "../../routes/navigation";
import { routeUrl } from "../../routes/routes";
import { triageRoute } from "../../routes/triage";
import { isAllowed } from "../../state/access";
import { Resource } from "../../state/resource";
import { registerVisibleList } from "../../state/triage/visible-list";
import { commitHash, date } from "../../templates/commit";
import { errorNotice, loadingNotice } from "../../templates/notice";
import { longName } from "../../templates/trace-name";
import { countText, numberText, percentText } from "../../text/numbers";
import "./decision";

type Cluster = Clustering["clusters"][number];

const MOST_PARAMS = 3;
const MOST_VALUES = 3;

@customElement("kp-clusters")
export class ClustersView extends PageElement {
  @property({ attribute: false }) route: ClustersRoute = clustersRoute;
  @property({ attribute: false }) repositories: readonly Repository[] = [];
  @property({ attribute: false }) caller: Caller | undefined;

  /** How far the server is. */
  @state() private progress: Progress | undefined;

  private readonly clustering = new Resource<readonly [ClustersRoute, string], Clustering>(this, {
    args: () => (this.route.k === undefined ? undefined : [this.route, this.repository]),
    argsEqual: ([before], [now]) => routeUrl(before) === routeUrl(now),
    load: ([{ query, first, last, commits, k = 0, interesting, skia }, repository], signal) => {
      const cutoff = interesting === "" ? undefined : Number(interesting);
      this.progress = undefined;
      const told = (progress: Progress): void => void (this.progress = progress);
      return api.clustering({ repository, query, first, last, commits, k, interesting: cutoff, skia }, told, signal);
    },
  });

  /** Decisions here are about findings of any status. */
  private unregister: (() => void) | undefined;

  override connectedCallback(): void {
    super.connectedCallback();
    this.unregister = registerVisibleList(() => ({ filter: { all: true } as ListFilter, order: [] }));
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.unregister?.();
  }

  private get repository(): string {
    const measured = this.repositories.find(({ traces }) => traces > 0);
    return this.route.repository || (measured?.name ?? "");
  }

  override render() {
    const { value, error } = this.clustering;
    return html`<div class="page-head">
        <h1>Clusters</h1>
        <p class="faint">Groups traces by shape and fits a step to the mean of each group.</p>
      </div>
      ${this.renderForm()}
      ${
        error
          ? errorNotice(error, () => this.clustering.reload())
          : this.route.k === undefined
            ? html`<div class="notice">
                <p>Press <em>Cluster</em> for the steps that many traces share, each with its commit.</p>
              </div>`
            : value
              ? this.renderFound(value)
              : html`${loadingNotice("Clustering")}
                  <p class="part faint progress">${progressText(this.progress)}</p>
                  <p class="part">
                    <button class="button" @click=${() => navigate({ ...this.route, k: undefined })}>Cancel</button>
                  </p>`
      }`;
  }

  private renderForm() {
    const { query, first, last, commits, k, interesting, skia } = this.route;
    const field = (label: string, name: string, value: string | number | undefined, hint: string, pattern = ".*") =>
      html`<label class="field"
        >${label}<input
          name=${name}
          .value=${String(value ?? "")}
          placeholder=${hint}
          pattern=${pattern}
          autocomplete="off"
          spellcheck="false"
      /></label>`;
    return html`<form class="compare-form" @submit=${(event: SubmitEvent) => this.submit(event)}>
      ${
        this.repositories.length > 1
          ? html`<label class="field"
              >Repository<select name="repository">
                ${this.repositories.map(
                  ({ name }) => html`<option value=${name} ?selected=${name === this.repository}>${name}</option>`,
                )}
              </select></label
            >`
          : nothing
      }
      ${field("Query", "query", query, "all traces")}
      ${field("First commit (position)", "first", first, "0", "\\d{1,9}")}
      ${field("Last commit (position)", "last", last, "newest", "\\d{1,9}")}
      ${field("Measured commits", "commits", commits, "250", "\\d{1,4}")}
      ${field("Clusters", "k", k === 0 ? undefined : k, "automatic", "\\d{1,3}")}
      ${field("Minimum step / error", "interesting", interesting, skia ? "50" : "4", "\\d+(\\.\\d+)?")}
      <label><input type="checkbox" name="skia" .checked=${skia} /> Compute as Skia Perf does</label>
      <button class="button primary">Cluster</button>
    </form>`;
  }

  private submit(event: SubmitEvent): void {
    event.preventDefault();
    const data = new FormData(event.target as HTMLFormElement);
    const text = (name: string): string => {
      const value = data.get(name);
      return typeof value === "string" ? value.trim() : "";
    };
    const whole = (name: string): number | undefined => (text(name) === "" ? undefined : Number(text(name)));
    const before = routeUrl(this.route);
    const route: ClustersRoute = {
      ...this.route,
      repository: text("repository") || this.route.repository,
      query: text("query"),
      first: whole("first"),
      last: whole("last"),
      commits: whole("commits") ?? clustersRoute.commits,
      k: whole("k") ?? 0,
      interesting: text("interesting"),
      skia: data.has("skia"),
    };
    navigate(route);
    if (routeUrl(route) === before) this.clustering.reload();
  }

  private renderFound(found: Clustering) {
    const { clusters, selected, left_out: left } = found;
    const interesting = clusters.filter((each) => each.interesting).length;
    return html`<section class="part">
        <h2>${countText(clusters.length, "cluster")}, ${interesting} interesting</h2>
        <p class="faint">
          ${countText(selected, "trace")} over
          ${countText(found.positions.length, "measured commit")}${left > 0 ? html`; ${countText(left, "trace")} with too few values` : nothing}.
        </p>
      </section>
      ${
        clusters.length > 0
          ? html`<div class="wide">
              <table class="records" aria-label="Clusters">
                <thead>
                  <tr>
                    <th scope="col">Traces</th>
                    <th scope="col">Centroid</th>
                    <th scope="col">Step / error</th>
                    <th scope="col">Commit</th>
                    <th scope="col">In common</th>
                    <th scope="col">Decision</th>
                  </tr>
                </thead>
                <tbody>
                  ${clusters.map((each) => this.renderCluster(each, found))}
                </tbody>
              </table>
            </div>`
          : nothing
      }`;
  }

  private renderCluster(cluster: Cluster, { positions, repository }: Clustering) {
    const known = positions.flatMap((position, at) => {
      const value = cluster.centroid[at];
      return value === null || value === undefined ? [] : [[position, value] as const];
    });
    const shape = {
      positions: Float64Array.from(known, ([position]) => position),
      values: Float64Array.from(known, ([, value]) => value),
    };
    const plot = {
      ...exploreRoute,
      repository: this.route.repository,
      traces: cluster.ids,
      first: positions[0],
      last: positions.at(-1),
    };
    const { commit, regression } = cluster;
    return html`<tr>
      <th scope="row" data-label="Traces">
        <a href=${routeUrl(plot)} title="Plot the traces nearest to the centroid"
          >${countText(cluster.traces, "trace")}</a
        >
      </th>
      <td data-label="Centroid">
        ${traceSparkline(shape)}
        <div class="second"><bdi>${cluster.best[0]?.key.slice(1, -1)}</bdi></div>
      </td>
      <td class="figure" data-label="Step / error">
        ${regression === null ? "–" : `${regression > 0 ? "+" : ""}${numberText(regression)}`}
        ${cluster.interesting ? html`<div class="second">interesting</div>` : nothing}
      </td>
      <td data-label="Commit">
        ${
          commit
            ? html`${commitHash(commit, repository)} <bdi>${longName(commit.subject)}</bdi>
                <div class="second">
                  ${date(commit.time)}
                  <a href=${routeUrl({ ...triageRoute, repository, filter: commit.short })}>Changes in triage</a>
                </div>`
            : "no step"
        }
      </td>
      <td data-label="In common">${this.renderParams(cluster)}</td>
      <td data-label="Decision">
        ${
          commit && cluster.interesting
            ? html`<kp-cluster-decision
                .repository=${repository}
                .cluster=${cluster}
                .mayDecide=${this.caller !== undefined && isAllowed(this.caller, "decide", repository)}
              ></kp-cluster-decision>`
            : "–"
        }
      </td>
    </tr>`;
  }

  private renderParams({ params, traces }: Cluster) {
    const uneven = params.filter(({ even }) => !even).slice(0, MOST_PARAMS);
    if (uneven.length === 0) return html`<span class="faint">as all traces</span>`;
    return uneven.map(({ name, values }) => {
      const shown = values.filter(({ members }) => members > 0).slice(0, MOST_VALUES);
      return html`<div>
        <bdi>${name}</bdi>:
        ${shown.map(({ value, members }) => `${value || "without"} ${percentText(members / traces)}`).join(", ")}
      </div>`;
    });
  }
}

const STAGES = { reading: "Reading the values", grouping: "Grouping by k-means", fitting: "Fitting steps" };

/** "Grouping by k-means, start 3 of 8, iteration 12": what the server says that it does. */
function progressText(progress: Progress | undefined): string {
  if (!progress) return "";
  const { stage, start, starts, iteration } = progress;
  return STAGES[stage] + (stage === "grouping" ? `, start ${start} of ${starts}, iteration ${iteration}` : "");
}

declare global {
  interface HTMLElementTagNameMap {
    "kp-clusters": ClustersView;
  }
}
