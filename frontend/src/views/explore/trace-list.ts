/** The traces that match the query, each with its newest value and a small drawing of all values. */

import { html, nothing } from "lit";
import { live } from "lit/directives/live.js";
import type { NeverMeasured, Trace, Traces } from "../../api/client";
import { traceSparkline } from "../../charts/sparkline";
import { MAX_LISTED } from "../../routes/explore";
import { routeUrl } from "../../routes/routes";
import { traceRoute } from "../../routes/trace";
import { saidOnce } from "../../templates/change-table";
import { date, HASH_DIGITS } from "../../templates/commit";
import { loadingNotice } from "../../templates/notice";
import { longName, traceLabel } from "../../templates/trace-name";
import { betterText } from "../../text/findings";
import { countText, grouped } from "../../text/numbers";
import { commonParams, commonPrefixLength, traceName, traceText } from "../../text/trace-names";
import { valueText } from "../../text/units";
import type { ExploreContext } from "./context";

/** Traces that one press of "Show more" adds. */
const MORE = 100;
/** The rows that are in view below a plot: the others wait for it. */
const FIRST_ROWS = 20;

export function renderTraceList(context: ExploreContext) {
  const { traces, queryError, error } = context.data;
  if (traces) return traces.total > 0 ? renderList(context, traces) : renderNoMatch(context);
  if (queryError) return renderInvalidQuery(context);
  return error ? nothing : loadingNotice("Loading the traces");
}

function renderNoMatch(context: ExploreContext) {
  return html`<div class="notice">
    <h2>No trace matches the query</h2>
    <p>Remove a term, or show all traces.</p>
    ${renderClearQuery(context)}
  </div>`;
}

function renderInvalidQuery(context: ExploreContext) {
  return html`<div class="notice">
    <h2>The query is not valid</h2>
    <p>Correct it above, or show all traces.</p>
    ${renderClearQuery(context)}
  </div>`;
}

function renderClearQuery(context: ExploreContext) {
  return html`<button class="button" @click=${() => context.updateRoute({ query: "" })}>Clear the query</button>`;
}

function renderList(context: ExploreContext, { traces, total }: Traces) {
  const prefix = commonPrefixLength(traces.map((trace) => traceName(trace.params).name));
  const shown = context.isWaiting ? traces.slice(0, FIRST_ROWS) : traces;
  const common = commonParams(traces.map(({ params }) => params));
  return html`<div class="said-once">${saidOnce(traces[0]?.params, common)}</div>
    <table class="traces">
      <caption class="sr-only">
        Matching traces
      </caption>
      <thead>
        <tr>
          <th class="c-tick" scope="col"><span class="sr-only">In the plot</span></th>
          <th class="c-name" scope="col">Trace</th>
          <th class="c-last" scope="col">Newest value</th>
          <th class="c-spark" scope="col">Values</th>
        </tr>
      </thead>
      <tbody>
        ${shown.map((trace, index) => renderTrace(context, trace, { current: index === context.cursor, prefix, common }))}
      </tbody>
    </table>
    ${renderFoot(context, traces.length, total)} ${renderNeverMeasured(context.data.neverMeasured)}`;
}

interface Shown {
  current: boolean;
  /** How much of their names all traces share. */
  prefix: number;
  /** The params that all traces share. */
  common: ReadonlySet<string>;
}

function renderTrace(context: ExploreContext, trace: Trace, { current, prefix, common }: Shown) {
  const series = context.data.sparklines.get(trace.id);
  const newest = series?.values.at(-1);
  return html`<tr data-trace=${trace.id} tabindex=${current ? 0 : -1} aria-current=${current ? "true" : "false"}>
    <td class="c-tick">
      <input
        type="checkbox"
        aria-label="Plot ${traceText(trace.params)}"
        .checked=${live(context.graph.plottedIds.has(trace.id))}
        @change=${() => context.edits.toggleTrace(trace.id, context.graph)}
      />
    </td>
    <td class="c-name">
      <a class="trace-link" href=${routeUrl(traceRoute(trace.id))}>${traceLabel(trace, prefix, common)}</a>
    </td>
    <td class="c-last figure">
      ${newest === undefined ? html`<span class="faint">${series ? "none" : "…"}</span>` : valueText(newest, trace.unit)}
      ${trace.better === "unknown" ? nothing : html`<div class="second">${betterText(trace.better)}</div>`}
    </td>
    <td class="c-spark">${series && series.values.length > 1 ? traceSparkline(series) : nothing}</td>
  </tr>`;
}

function renderFoot(context: ExploreContext, listed: number, total: number) {
  const left = total - listed;
  const more = Math.min(left, MORE, MAX_LISTED - listed);
  const showMore = (): void => context.updateRoute({ listed: listed + more }, "replace");
  return html`<p class="foot">
    ${left > 0 ? html`The first ${grouped(listed)} of ${countText(total, "trace")}.` : nothing}
    ${more > 0 ? html`<button class="link" @click=${showMore}>Show ${more} more</button>` : nothing}
    ${left > 0 && more <= 0 ? "Narrow the query to see others." : nothing}
  </p>`;
}

/** Benchmarks that have no trace, since all their runs failed or were skipped. */
function renderNeverMeasured(benchmarks: readonly NeverMeasured[]) {
  if (benchmarks.length === 0) return nothing;
  return html`<details class="never">
    <summary>${countText(benchmarks.length, "benchmark")} never measured</summary>
    <ul>
      ${benchmarks.map(
        ({ params, outcome, commit, time, runs, message }) =>
          html`<li>
            <span class="trace-name">${longName(traceText(params))}</span>
            <span class="tag outcome ${outcome}">${outcome}</span>
            <span class="second"
              ><code class="hash">${commit.slice(0, HASH_DIGITS)}</code>${date(time)}<span
                >${countText(runs, "run")}</span
              ><span>${message}</span></span
            >
          </li>`,
      )}
    </ul>
  </details>`;
}
