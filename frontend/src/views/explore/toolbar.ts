/** The tools above the plot: the repository and the query. */

import { html, nothing } from "lit";
import { selectField } from "../../templates/select-field";
import { PUBLISHED } from "../../api/published-data";
import { clustersRoute } from "../../routes/clusters";
import { EMPTY_GRAPH } from "../../routes/explore";
import { routeUrl } from "../../routes/routes";
import { formatUrl } from "../../routes/url";
import { MAX_TRACES } from "../../state/plot/plot-loader";
import { columnError } from "../../templates/column-error";
import { countText, grouped } from "../../text/numbers";
import { completions } from "../../text/query";
import type { ExploreContext } from "./context";
import { isEmptyGraph } from "./graphs";

export function renderToolbar(context: ExploreContext) {
  const { traces } = context.data;
  return html`<div class="tools">
    ${renderRepositoryField(context)} ${renderQueryField(context, "query")}
    <button
      class="button small"
      aria-haspopup="dialog"
      title="Choose values, leave some out, match regular expressions (q)"
      @click=${() => context.openQueryDialog()}
    >
      Build a query
    </button>
    <span class="figure faint" role="status">${traces ? countText(traces.total, "trace") : ""}</span>
    ${traces && traces.total > 1 ? html`${renderPlotQuery(context, traces.total)}${renderNewGraph(context)}` : nothing}
    ${traces && traces.total > 0 && traces.total <= MAX_TRACES && PUBLISHED === undefined ? renderDownload(context) : nothing}
    ${traces && traces.total > 1 && PUBLISHED === undefined ? renderClustersLink(context) : nothing}
    ${renderQueryError(context, "query-error")}
  </div>`;
}

/** Where the query cannot be read. */
export function renderQueryError({ data: { queryError }, route }: ExploreContext, id: string) {
  return html`<div id=${id} class="formula-error" role="alert" ?hidden=${!queryError}>
    ${queryError ? columnError(route.query, queryError) : nothing}
  </div>`;
}

export function renderPlotQuery(context: ExploreContext, total: number) {
  const text = total > MAX_TRACES ? `Plot ${grouped(MAX_TRACES)} of them` : "Plot all";
  return html`<button
    class="button small"
    title="Plot what the query finds (p)"
    ?disabled=${context.route.plotted === context.query}
    @click=${() => context.plotQuery()}
  >
    ${text}
  </button>`;
}

/** Beside what is plotted; on an empty page "Plot all" does the same. */
function renderNewGraph(context: ExploreContext) {
  if (context.graphs.every(({ chosen }) => isEmptyGraph(chosen))) return nothing;
  return html`<button
    class="button small"
    title="Plot what the query finds in a graph of its own (P)"
    @click=${() => context.edits.addQuery()}
  >
    In a new graph
  </button>`;
}

function renderClustersLink({ route: { repository, query, first, last } }: ExploreContext) {
  const url = routeUrl({ ...clustersRoute, repository, query, first, last });
  return html`<a class="button small quiet" href=${url} title="Group the listed traces by their shape">Clusters</a>`;
}

/** All values of the traces, in full precision, with a column for each param; the server refuses more traces. */
function renderDownload({ repository, route }: ExploreContext) {
  const url = formatUrl("/api/v1/points", [
    ["repository", repository?.name],
    ["query", route.query],
    ["format", "csv"],
  ]);
  return html`<a class="button small quiet" href=${url} download="values.csv" title="All values of the listed traces"
    >CSV</a
  >`;
}

function renderRepositoryField(context: ExploreContext) {
  const { repositories, repository } = context;
  if (repositories.length < 2) return nothing;
  const options = repositories.map(({ name }) => [name, name] as const);
  // Traces, formulas and shortcuts belong to one repository.
  return selectField("Repository", repository?.name ?? "", options, (name) =>
    context.updateRoute({ repository: name, query: "", ...EMPTY_GRAPH, others: [], above: 0 }),
  );
}

/** The field for the query; the element that says what is wrong has its id with `-error` behind it. */
export function renderQueryField(context: ExploreContext, id: string) {
  const onKeydown = (event: KeyboardEvent): void => {
    if (event.key === "Escape" || event.key === "Enter") (event.target as HTMLInputElement).blur();
    if (event.key === "Escape") event.preventDefault(); // it would close the dialog, or empty the field
  };
  return html`<label class="search wide"
    ><span class="sr-only">Query</span>
    <input
      id=${id}
      type="search"
      list="${id}-completions"
      placeholder="json -windows benchmark=parse|print name~^test_  …"
      .value=${context.route.query}
      autocomplete="off"
      spellcheck="false"
      aria-invalid=${context.data.queryError ? "true" : "false"}
      aria-describedby="${id}-error"
      @input=${(event: InputEvent) => context.queryAfterTyping((event.target as HTMLInputElement).value)}
      @keydown=${onKeydown}
    /><kbd aria-hidden="true">/</kbd>
    <datalist id="${id}-completions">
      ${completions(context.route.query, context.data.facets?.facets ?? []).map((text) => html`<option value=${text}></option>`)}
    </datalist></label
  >`;
}
