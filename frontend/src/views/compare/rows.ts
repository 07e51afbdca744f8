/** The table of compared traces: the worst first, or a part for each suite that begins with its sum. */

import { html, nothing } from "lit";
import type { Comparison, JudgedBenchmark } from "../../api/client";
import type { CompareRoute } from "../../routes/compare";
import { routeUrl } from "../../routes/routes";
import { traceRoute } from "../../routes/trace";
import { longName } from "../../templates/trace-name";
import { changeWithInterval, comparedLevels, detectableText, verdictCounts } from "../../text/comparison";
import { commonParams, traceText } from "../../text/trace-names";
import { drawSides } from "./sides";

const COLUMNS = ["Verdict", "Trace", "Change", "Before → after", "Values", "Detectable"];

export function comparedTable({ traces, by, suites }: Comparison, route: CompareRoute) {
  const common = commonParams(traces.map(({ params }) => params));
  const hidden = by ? new Set([...common, by]) : common;
  const rowsOf = (rows: readonly JudgedBenchmark[]) => rows.map((row) => traceRow(row, hidden, route));
  return html`<div class="wide">
    <table class="records compared" aria-label="Compared traces">
      <thead>
        <tr>
          ${COLUMNS.map((name) => html`<th scope="col">${name}</th>`)}
        </tr>
      </thead>
      ${
        by
          ? suites.map(
              ({ name, counts }) =>
                html`<tbody>
                  <tr class="suite">
                    <th scope="rowgroup" colspan=${COLUMNS.length}>
                      ${name ? html`<bdi>${name}</bdi>` : `without ${by}`}
                      <span class="second">${verdictCounts(counts)}</span>
                    </th>
                  </tr>
                  ${rowsOf(traces.filter(({ suite }) => suite === name))}
                </tbody>`,
            )
          : html`<tbody>
              ${rowsOf(traces)}
            </tbody>`
      }
    </table>
  </div>`;
}

function traceRow(row: JudgedBenchmark, hidden: ReadonlySet<string>, { headLine, line }: CompareRoute) {
  const name = html`<bdi>${longName(traceText(row.params, hidden) || traceText(row.params))}</bdi>`;
  return html`<tr>
    <td data-label="Verdict">
      <span class="verdict ${row.verdict.replace(" ", "-")}" title=${row.reason}>${row.verdict}</span>
      ${row.conditional ? html`<div class="second">measure again</div>` : nothing}
      ${row.accepted === null ? nothing : html`<div class="second">accepted: <bdi>${row.accepted}</bdi></div>`}
      ${row.decides ? nothing : html`<div class="second">${row.canary ? "canary: no commit should change it" : "beside the main value"}</div>`}
    </td>
    <th scope="row" data-label="Trace">
      ${
        row.trace_id === null
          ? html`${name}
              <div class="second">not in the history</div>`
          : html`<a href=${routeUrl({ ...traceRoute(row.trace_id), line: headLine || line })}>${name}</a>`
      }
    </th>
    <td class="figure" data-label="Change">
      ${changeWithInterval(row) || html`<span class="faint">${row.reason}</span>`}
    </td>
    <td class="figure" data-label="Before → after">${comparedLevels(row)}</td>
    <td data-label="Values">${drawSides(row)}</td>
    <td class="figure faint" data-label="Detectable">${detectableText(row)}</td>
  </tr>`;
}
