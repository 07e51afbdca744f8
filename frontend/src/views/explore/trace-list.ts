/** The matching traces, each with its newest value and a small drawing. */

import { html, nothing, svg } from "lit";
import { live } from "lit/directives/live.js";
import type { NeverMeasured, Trace } from "../../api/client";
import type { Series } from "../../api/series";
import { date, longName, traceLabel, waiting } from "../../templates/finding";
import { traceAt, writeAddress } from "../../routes/routes";
import { MOST_LINES } from "../../state/plot/plot-lines";
import { grouped } from "../../text/numbers";
import { commonBeginning, traceName, traceText } from "../../text/trace-names";
import { valueText } from "../../text/units";
import { betterWord, count } from "../../text/findings";
import type { Desk } from "./context";

const HASH = 9;
const MORE = 100;
const MOST_LISTED = 1000;

export function renderList(desk: Desk) {
  const { found } = desk;
  if (!found && desk.queryError) {
    return html`<div class="notice">
      <h2>The query cannot be read</h2>
      <p>Correct it above, or look at all traces.</p>
      <button class="button" @click=${() => desk.change({ query: "" })}>Clear the query</button>
    </div>`;
  }
  if (!found) return desk.error ? nothing : waiting("Reading the traces");
  if (found.total === 0) {
    return html`<div class="notice">
      <h2>No trace matches the query</h2>
      <p>Take a condition out, or look at all of them.</p>
      <button class="button" @click=${() => desk.change({ query: "" })}>Clear the query</button>
    </div>`;
  }
  const faded = commonBeginning(found.traces.map((trace) => traceName(trace.params).name));
  const left = found.total - found.traces.length;
  const more = Math.min(left, MORE, MOST_LISTED - found.traces.length);
  return html`<table class="traces">
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
        ${found.traces.map((trace, index) => renderTrace(desk, trace, { index, faded }))}
      </tbody>
    </table>
    <p class="foot">
      ${left > 0 ? html`The first ${grouped(found.traces.length)} of ${count(found.total, "trace")}.` : nothing}
      ${more > 0 ? html`<button class="link" @click=${() => desk.change({ listed: found.traces.length + more }, "replace")}>Show ${more} more</button>` : nothing}
      ${left > 0 && more <= 0 ? "Narrow the query to see others." : nothing}
      <button class="link" @click=${() => desk.plotFirst()}>
        Plot the first ${Math.min(MOST_LINES, found.traces.length)}
      </button>
    </p>
    ${renderNeverMeasured(desk.neverMeasured)}`;
}

/** Benchmarks that have no trace, since they only ever failed or were skipped. */
function renderNeverMeasured(all: readonly NeverMeasured[]) {
  if (all.length === 0) return nothing;
  return html`<details class="never">
    <summary>${count(all.length, "benchmark")} never measured</summary>
    <ul>
      ${all.map(
        (own) =>
          html`<li>
            <span class="trace-name">${longName(traceText(own.params))}</span>
            <span class="tag outcome ${own.outcome}">${own.outcome}</span>
            <span class="second"
              ><code class="hash">${own.commit.slice(0, HASH)}</code>${date(own.time)}<span
                >${count(own.runs, "run")}</span
              ><span>${own.message}</span></span
            >
          </li>`,
      )}
    </ul>
  </details>`;
}

function renderTrace(desk: Desk, trace: Trace, { index, faded }: { index: number; faded: number }) {
  const spark = desk.sparks.get(trace.id);
  const newest = spark?.values.at(-1);
  const current = index === desk.cursor;
  return html`<tr data-trace=${trace.id} tabindex=${current ? 0 : -1} aria-current=${current ? "true" : "false"}>
    <td class="c-tick">
      <input
        type="checkbox"
        aria-label="Plot ${traceText(trace.params)}"
        .checked=${live(desk.chosen.traces.includes(trace.id))}
        @change=${() => desk.toggleTrace(trace.id)}
      />
    </td>
    <td class="c-name">
      <a class="trace-link" href=${writeAddress(traceAt(trace.id))}>${traceLabel(trace, faded)}</a>
    </td>
    <td class="c-last figure">
      ${newest === undefined ? html`<span class="faint">${spark ? "none" : "…"}</span>` : valueText(newest, trace.unit)}
      ${trace.better === "unknown" ? nothing : html`<div class="second">${betterWord(trace.better)}</div>`}
    </td>
    <td class="c-spark">${spark && spark.values.length > 1 ? trail(spark) : nothing}</td>
  </tr>`;
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
  return html`<svg class="spark" viewBox="0 0 160 30" width="160" height="30" aria-hidden="true">
    ${svg`<path class="trail strong" d="M${points.join("L")}"></path>`}
  </svg>`;
}
