/** The tools above the plot: the repository and the query. */

import { html, nothing } from "lit";
import { selectField } from "../../templates/select-field";
import { countText } from "../../text/numbers";
import type { ExploreContext } from "./context";

export function renderToolbar(context: ExploreContext) {
  const { queryError, traces } = context;
  return html`<div class="tools">
    ${renderRepositoryField(context)} ${renderQueryField(context)}
    <span class="figure faint" role="status">${traces ? countText(traces.total, "trace") : ""}</span>
    <span id="query-error" class="field-error" role="alert"
      >${queryError ? `${queryError.message} ${queryError.remedy}` : ""}</span
    >
  </div>`;
}

function renderRepositoryField(context: ExploreContext) {
  const { repositories, repository } = context;
  if (repositories.length < 2) return nothing;
  const options = repositories.map(({ name }) => [name, name] as const);
  // Traces, formulas and shortcuts belong to one repository.
  return selectField("Repository", repository?.name ?? "", options, (name) =>
    context.updateRoute({ repository: name, query: "", traces: [], formulas: [], keys: "" }),
  );
}

function renderQueryField(context: ExploreContext) {
  const onKeydown = (event: KeyboardEvent): void => {
    if (event.key === "Escape" || event.key === "Enter") (event.target as HTMLInputElement).blur();
  };
  return html`<label class="search wide"
    ><span class="sr-only">Query</span>
    <input
      id="query"
      type="search"
      placeholder="benchmark=parse|print os!=windows name~^json_  …"
      .value=${context.route.query}
      autocomplete="off"
      spellcheck="false"
      aria-invalid=${context.queryError ? "true" : "false"}
      aria-describedby="query-error"
      @input=${(event: InputEvent) => context.queryAfterTyping((event.target as HTMLInputElement).value)}
      @keydown=${onKeydown}
    /><kbd aria-hidden="true">/</kbd></label
  >`;
}
