/** The page of a benchmark: all of its traces, and what differs between them. */

import { html, nothing } from "lit";
import { customElement, property } from "lit/decorators.js";
import { api, type Facets, type Mark, type Trace, type Traces } from "../../api/client";
import type { Series } from "../../api/series";
import { traceSparkline } from "../../charts/sparkline";
import { PageElement } from "../../page-element";
import { benchmarkRoute, type BenchmarkRoute } from "../../routes/benchmark";
import { changeRoute } from "../../routes/change";
import { exploreRoute } from "../../routes/explore";
import { routeUrl } from "../../routes/routes";
import { traceRoute } from "../../routes/trace";
import { triageRoute } from "../../routes/triage";
import { Resource } from "../../state/resource";
import { errorNotice, loadingNotice } from "../../templates/notice";
import { saidOnce } from "../../templates/change-table";
import { pointSize } from "../../templates/finding";
import { longName, param } from "../../templates/trace-name";
import { countText, grouped } from "../../text/numbers";
import { quote } from "../../text/query";
import { commonParams } from "../../text/trace-names";
import { valueText } from "../../text/units";

const LISTED = 50;
const POINTS = 120;
const VALUES_SHOWN = 12;

interface BenchmarkData {
  traces: Traces;
  facets: Facets;
  series: readonly Series[];
  marks: readonly Mark[];
}

@customElement("kp-benchmark")
export class BenchmarkView extends PageElement {
  @property({ attribute: false }) route: BenchmarkRoute = benchmarkRoute;

  private readonly data = new Resource<readonly [string, string], BenchmarkData>(this, {
    args: () => [this.route.repository, this.query],
    load: async ([repository, query], signal) => {
      const [traces, facets] = await Promise.all([
        api.traces(repository, query, LISTED, signal),
        api.facets(repository, query, signal),
      ]);
      const ids = traces.traces.map(({ id }) => id);
      const [series, marks] =
        ids.length > 0
          ? await Promise.all([api.values(ids, { points: POINTS }, signal), api.marks(ids, false, signal)])
          : [[], []];
      return { traces, facets, series, marks };
    },
    onAnswer: () => (document.title = `${this.route.name} · Knickpoint`),
  });

  private get query(): string {
    return `${quote(this.route.param)}=${quote(this.route.name)}`;
  }

  override render() {
    const { value, error } = this.data;
    const { repository, name } = this.route;
    return html`<div class="page-head">
        <h1><bdi>${longName(name)}</bdi></h1>
        <p class="commit-links">
          <a class="button small" href=${routeUrl({ ...exploreRoute, repository, query: this.query })}
            >Plot its traces</a
          >
          <a class="button small" href=${routeUrl({ ...triageRoute, repository, filter: name })}>Its changes</a>
        </p>
      </div>
      ${error ? errorNotice(error, () => this.data.reload()) : nothing}
      ${value ? renderData(value, this.route.param) : error ? nothing : loadingNotice("Loading its traces")}`;
  }
}

function renderData({ traces: { total, traces }, facets, series, marks }: BenchmarkData, chosen: string) {
  if (total === 0) {
    return html`<div class="notice"><h2>There is no trace of this benchmark</h2></div>`;
  }
  const common = commonParams(traces.map(({ params }) => params));
  // Of the param in the query, the facets have the other values too.
  const different = facets.facets.filter(({ name, distinct }) => distinct > 1 && name !== chosen);
  return html`<section class="part">
    <h2>${countText(total, "trace")}</h2>
    ${saidOnce(traces[0]?.params, common)}
    ${
      different.length > 0
        ? html`<p>They differ in:</p>
            <ul>
              ${different.map(
                ({ name, distinct, values }) =>
                  html`<li>
                    <strong><bdi>${name}</bdi></strong
                    >:
                    <bdi
                      >${values
                        .slice(0, VALUES_SHOWN)
                        .map(({ value, count }) => `${value} (${grouped(count)})`)
                        .join(", ")}</bdi
                    >${distinct > VALUES_SHOWN ? `, and ${grouped(distinct - VALUES_SHOWN)} more` : nothing}
                  </li>`,
              )}
            </ul>`
        : nothing
    }
    <table class="records" aria-label="Traces">
      <thead>
        <tr>
          <th scope="col">Trace</th>
          <th scope="col">Values</th>
          <th scope="col" class="number">Newest</th>
          <th scope="col">Newest change</th>
        </tr>
      </thead>
      <tbody>
        ${traces.map((trace, index) =>
          renderTrace(
            trace,
            series[index],
            marks.findLast(({ trace: id, finding }) => id === trace.id && finding)?.finding,
            common,
          ),
        )}
      </tbody>
    </table>
    ${total > traces.length ? html`<p class="faint">The first ${traces.length} of ${grouped(total)}.</p>` : nothing}
  </section>`;
}

function renderTrace(
  trace: Trace,
  series: Series | undefined,
  change: Mark["finding"] | undefined,
  common: ReadonlySet<string>,
) {
  const own = Object.entries(trace.params).filter(([name]) => !common.has(name));
  const newest = series?.values.at(-1);
  return html`<tr>
    <th scope="row" data-label="Trace">
      <a href=${routeUrl(traceRoute(trace.id))}
        >${own.length > 0 ? own.map(([name, value]) => html`${param(name, value)} `) : html`<bdi>${trace.key}</bdi>`}</a
      >
    </th>
    <td data-label="Values">
      ${series && series.values.length > 1 ? traceSparkline(series) : html`<span class="faint">too few values</span>`}
    </td>
    <td class="number figure" data-label="Newest">
      ${newest === undefined ? html`<span class="faint">none</span>` : valueText(newest, trace.unit)}
    </td>
    <td data-label="Newest change">
      ${
        change
          ? html`<span
              >${change.change ? html`<a href=${routeUrl(changeRoute(change.change))}>${pointSize(change)}</a>` : pointSize(change)}
              ${change.condition === "present" ? nothing : html`<span class="tag">${change.condition}</span>`}
              ${change.traces > 1 ? html`<span class="faint">with ${countText(change.traces - 1, "other trace")}</span>` : nothing}</span
            >`
          : html`<span class="faint">none</span>`
      }
    </td>
  </tr>`;
}

declare global {
  interface HTMLElementTagNameMap {
    "kp-benchmark": BenchmarkView;
  }
}
