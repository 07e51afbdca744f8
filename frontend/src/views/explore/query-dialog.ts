/** The dialog that builds a query: its text, how many traces it finds, and the values of all params. */

import { html, nothing } from "lit";
import { grouped } from "../../text/numbers";
import type { ExploreContext } from "./context";
import { renderFacets } from "./facets";
import { renderPlotQuery, renderQueryError, renderQueryField } from "./toolbar";

export function renderQueryDialog(context: ExploreContext, onClose: () => void) {
  const close = (event: Event): void => (event.target as HTMLElement).closest("dialog")?.close();
  const { facets, traces } = context.data;
  return html`<dialog class="dialog query-dialog" aria-labelledby="query-dialog-title" @close=${onClose}>
    <h2 id="query-dialog-title">Query</h2>
    <div class="tools">
      ${renderQueryField(context, "query-built")} ${renderQueryError(context, "query-built-error")}
    </div>
    <p class="second">
      A tick selects a value, ≠ leaves it out. The number behind a value counts the traces that have it, among those
      that the rest of the query finds.
    </p>
    <div class="query-facets" aria-label="Params">${renderFacets(context, { whole: true })}</div>
    <div class="dialog-actions">
      <span class="figure" role="status">${traces ? matchText(traces.total, facets?.total) : ""}</span>
      <span class="spring"></span>
      <button class="button quiet" ?disabled=${!context.route.query} @click=${() => context.updateRoute({ query: "" })}>
        Clear the query
      </button>
      ${traces && traces.total > 0 ? html`<span @click=${close}>${renderPlotQuery(context, traces.total)}</span>` : nothing}
      <button class="button primary" @click=${close}>Done</button>
    </div>
  </dialog>`;
}

/** "12 traces match"; while the list and the facets are of different queries, that it is being counted. */
function matchText(total: number, counted: number | undefined): string {
  if (counted !== undefined && counted !== total) return "counting …";
  return total === 1 ? "1 trace matches" : `${total === 0 ? "No" : grouped(total)} traces match`;
}
