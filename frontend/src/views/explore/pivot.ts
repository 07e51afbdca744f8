/** The plotted lines as a table: rows by one param, columns by another, a geometric mean and its change in each cell. */

import { html, nothing } from "lit";
import { paramChart } from "../../charts/param-chart";
import { selectField } from "../../templates/select-field";
import { countText, signedPercentText } from "../../text/numbers";
import { paramPlotOf } from "../../text/param-plot";
import { pivotOf, pivotParams, type Pivot, type PivotCell } from "../../text/pivot";
import { valueText } from "../../text/units";
import { baseText } from "./base-field";
import type { ExploreContext } from "./context";
import type { Graph } from "./graph";

/** Tables of more rows or columns are cut, and say so. */
const MOST = 200;
/** Lines of a drawing; colours repeat after eight. */
const MOST_LINES = 24;

export function renderPivot(context: ExploreContext, graph: Graph) {
  const { rows, columns } = context.route;
  const { lines, times } = graph.plot;
  const params = [...new Set([...pivotParams(lines), rows, columns])].filter(Boolean);
  if (params.length === 0) return nothing;
  const options = [["", "–"], ...params.map((name) => [name, name] as const)] as const;
  const last = context.range?.last ?? times.length;
  return html`<details class="pivot" ?open=${rows + columns !== ""}>
    <summary>Table by params</summary>
    <p class="second">
      ${selectField("Rows", rows, options, (name) => context.updateRoute({ rows: name }, "replace"), "Rows")} ×
      ${selectField("Columns", columns, options, (name) => context.updateRoute({ columns: name }, "replace"), "Columns")}
      <span>geometric mean of the newest values, and its change since the ${baseText(context)}</span>
    </p>
    ${rows + columns ? renderPivoted(pivotOf(lines, rows, columns, last), rows, columns) : nothing}
  </details>`;
}

function renderPivoted(pivot: Pivot, row: string, column: string) {
  const plot = row ? paramPlotOf(pivot, pivot.columns.slice(0, MOST_LINES)) : undefined;
  const left = plot ? pivot.columns.length - MOST_LINES : 0;
  return html`${plot ? paramChart(plot, row, column) : nothing}
  ${left > 0 ? html`<p class="faint">${countText(left, "column is", "columns are")} not drawn: the table has them.</p>` : nothing}
  ${renderTable(pivot, row, column)}`;
}

function renderTable(pivot: Pivot, row: string, column: string) {
  const rows = pivot.rows.slice(0, MOST);
  const columns = pivot.columns.slice(0, MOST);
  const left = pivot.rows.length + pivot.columns.length - rows.length - columns.length;
  return html`<div class="pivot-place" tabindex="0" role="region" aria-label="Table by params">
      <table>
        <thead>
          <tr>
            <th scope="col">${row}${row && column ? " \\ " : ""}${column}</th>
            ${columns.map((name) => html`<th scope="col">${name}</th>`)}
          </tr>
        </thead>
        <tbody>
          ${rows.map(
            (name) =>
              html`<tr>
                <th scope="row">${name}</th>
                ${columns.map((across) => html`<td class="figure">${renderCell(pivot.cell(name, across))}</td>`)}
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
    ${left > 0 ? html`<p class="faint">${countText(left, "row or column", "rows and columns")} more: narrow the query.</p>` : nothing}`;
}

function renderCell(cell: PivotCell | undefined) {
  if (!cell) return nothing;
  const { mean, unit, change, lines } = cell;
  return html`<span title=${countText(lines, "line")}>${mean === undefined ? "–" : valueText(mean, unit)}</span>
    <span class="faint">${change === undefined ? "" : signedPercentText(change)}</span>`;
}
