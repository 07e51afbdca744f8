/** The tools above the list: tabs, filters, and what keeps the list from being up to date. */

import { html, nothing } from "lit";
import { routeUrl } from "../../routes/routes";
import type { Tab, TriageRoute } from "../../routes/triage";
import { hiddenColumns, OPTIONAL_COLUMNS } from "../../state/triage/columns";
import { selectField } from "../../templates/select-field";
import { statusWord } from "../../text/findings";
import { grouped } from "../../text/numbers";
import { FILTER_HINT, parseTriageFilter } from "../../text/triage-filter";
import type { TriageContext } from "./context";

const MINIMUM_PERCENTS = [0, 1, 2, 5, 10, 25, 100];
const STATUSES = ["new", "acknowledged", "hidden", "ticket"] as const;

export function renderToolbar(context: TriageContext) {
  return html`<div class="tools">
    ${renderTabs(context)}
    <span class="busy ${context.loading && context.data ? "on" : ""}" aria-hidden="true"></span>
    <span class="spring"></span>
    ${renderFilters(context)}${renderColumns(context)}
  </div>`;
}

function renderColumns(context: TriageContext) {
  const hidden = hiddenColumns();
  return html`<details class="columns">
    <summary class="button">Columns</summary>
    <fieldset>
      <legend class="sr-only">Columns that are shown</legend>
      ${OPTIONAL_COLUMNS.map(
        ([name, label]) =>
          html`<label
            ><input
              type="checkbox"
              .checked=${!hidden.includes(name)}
              @change=${(event: Event) => context.showColumn(name, (event.target as HTMLInputElement).checked)}
            />${label}</label
          >`,
      )}
    </fieldset>
  </details>`;
}

function renderTabs({ route, data }: TriageContext) {
  return html`<nav class="tabs" aria-label="Findings">
    ${renderTab(route, "unprocessed", "Unprocessed", data?.unprocessed)}
    ${renderTab(route, "processed", "Processed", data?.processed)}
    ${data?.history || route.tab === "history" ? renderTab(route, "history", "History", data?.history) : nothing}
    ${renderTab(route, "all", "All", data?.all)}
    ${data?.gone || route.tab === "gone" ? renderTab(route, "gone", "Gone", data?.gone) : nothing}
  </nav>`;
}

function renderTab(route: TriageRoute, tab: Tab, label: string, number: number | undefined) {
  return html`<a
    class="tab"
    href=${routeUrl({ ...route, tab, status: "", page: 1, open: [], at: "" })}
    aria-current=${tab === route.tab ? "page" : "false"}
    >${label}${number === undefined ? nothing : html`<span class="badge">${grouped(number)}</span>`}</a
  >`;
}

function renderFilters(context: TriageContext) {
  const { route, repositories } = context;
  /** A changed filter makes another list: begin on its first page. */
  const filterBy = (part: Partial<TriageRoute>): void => context.updateRoute({ ...part, page: 1, at: "" });
  const names = repositories.map(({ name }) => [name, name] as const);
  const percents = [...new Set([...MINIMUM_PERCENTS, route.minimumPercent])].sort((a, b) => a - b);
  const statuses = STATUSES.slice(route.tab === "all" ? 0 : 1).map((status) => [status, statusWord[status]] as const);
  return html`${
      repositories.length > 1
        ? selectField("Repository", route.repository, [["", "All repositories"], ...names], (repository) =>
            filterBy({ repository }),
          )
        : nothing
    }
    ${selectField(
      "Direction",
      route.direction,
      [
        ["", "Any direction"],
        ["regression", "Regressions"],
        ["improvement", "Improvements"],
        ["mixed", "Mixed"],
        ["unknown", "Unknown direction"],
      ],
      (direction) => filterBy({ direction }),
    )}
    ${selectField(
      "Minimum change",
      String(route.minimumPercent),
      percents.map((percent) => [String(percent), percent === 0 ? "Any size" : `From ${percent} %`]),
      (percent) => filterBy({ minimumPercent: Number(percent) }),
    )}
    ${
      parseTriageFilter(route.filter).alert
        ? nothing
        : selectField(
            "Kind of alert",
            route.alertKind,
            [
              ["", "Work"],
              ["informational", "Informational"],
              ["canary", "Canaries"],
              ["any", "All alerts"],
            ],
            (alertKind) => filterBy({ alertKind }),
          )
    }
    ${
      route.tab === "processed" || route.tab === "all"
        ? selectField("Status", route.status, [["", "Any status"], ...statuses], (status) => filterBy({ status }))
        : nothing
    }
    <label class="search"
      ><span class="sr-only">Filter by words of the commit or the trace, or by name=value</span>
      <input
        id="filter"
        type="search"
        title=${FILTER_HINT}
        placeholder="Filter by commit, author, trace"
        .value=${route.filter}
        autocomplete="off"
        spellcheck="false"
        @input=${(event: InputEvent) => context.filterAfterTyping((event.target as HTMLInputElement).value)}
        @keydown=${(event: KeyboardEvent) => onFilterKey(context, event)}
      /><kbd aria-hidden="true">/</kbd></label
    >`;
}

/** Enter leaves the field; Escape clears it as well. */
function onFilterKey(context: TriageContext, event: KeyboardEvent): void {
  const input = event.target as HTMLInputElement;
  if (event.key === "Escape" || event.key === "Enter") input.blur();
  if (event.key === "Escape" && input.value) {
    input.value = "";
    context.filterAfterTyping("");
  }
}

/** What keeps the list from being up to date, such as an alert that cannot run. */
export function renderTroubles({ freshness }: TriageContext) {
  const troubles = freshness?.troubles ?? [];
  if (troubles.length === 0) return nothing;
  return html`<div role="status" aria-label="Troubles">
    <ul class="troubles">
      ${troubles.map((trouble) => html`<li>${trouble}</li>`)}
    </ul>
  </div>`;
}
