/** What the page shows instead of an empty list: why it is empty, and what to do next. */

import { html, type TemplateResult } from "lit";
import type { ChangeList } from "../../api/client";
import { alertsRoute } from "../../routes/alerts";
import { routeUrl } from "../../routes/routes";
import { alertChangesRoute, triageRoute, type Tab } from "../../routes/triage";
import { freshnessText, newestRun, type Freshness } from "../../state/freshness";
import { countText } from "../../text/numbers";
import { parseTriageFilter } from "../../text/triage-filter";
import type { TriageContext } from "./context";

const UNFILTERED = { direction: "", repository: "", status: "", minimumPercent: 0, page: 1 };

export function renderEmptyState(context: TriageContext, data: ChangeList) {
  const { filter, direction, status, minimumPercent, tab, repository } = context.route;
  const lastRun = context.freshness ? freshnessText(context.freshness.alerts) : "";
  const { alert, ...others } = parseTriageFilter(filter);
  const isOnlyAlert = Object.values(others).join("") === "" && !direction && !repository && !status && !minimumPercent;
  if (alert && isOnlyAlert && tab === "all" && context.freshness) return renderNothingOf(alert, context.freshness);
  if (filter || direction || repository || status || minimumPercent > 0) return renderFiltered(context, alert);
  if (tab !== "unprocessed") return EMPTY_TABS[tab];
  if (data.history > 0) return renderOnlyHistory(data, lastRun);
  if (data.processed > 0) return renderAllDone(data, lastRun);
  return renderNothingFound(context, lastRun);
}

function renderFiltered(context: TriageContext, alert = "") {
  const filter = alert && alertChangesRoute(alert).filter;
  return html`<div class="notice">
    <h2>No change matches the filter</h2>
    <p>Use fewer words, or clear the filter.</p>
    <button class="button" @click=${() => context.updateRoute({ ...UNFILTERED, filter })}>Clear the filter</button>
  </div>`;
}

/** An alert found nothing: say whether it ran, and what to do. */
function renderNothingOf(name: string, { alerts }: Freshness) {
  const alert = alerts.find((each) => each.name === name);
  const { failure = "", last_run: ran = null } = alert ?? {};
  const [title, text] = failure
    ? ["This alert cannot run", failure]
    : alert && ran
      ? ["This alert has found nothing", `${freshnessText([alert])} A dry run shows what other settings would find.`]
      : [
          "No run of this alert has ended yet",
          "It runs when results arrive, or with knick run. The first run judges all traces.",
        ];
  return html`<div class="notice">
    <h2>${title}</h2>
    <p>${text}</p>
    <a class="button" href=${routeUrl({ ...alertsRoute, name: alert ? name : "", edit: Boolean(alert) })}
      >${alert ? "Try other settings" : "See the alerts"}</a
    >
  </div>`;
}

function emptyTab(title: string, text: string): TemplateResult {
  return html`<div class="notice">
    <h2>${title}</h2>
    <p>${text}</p>
    <a class="button" href=${routeUrl(triageRoute)}>Go to the unprocessed changes</a>
  </div>`;
}

const EMPTY_TABS: Record<Exclude<Tab, "unprocessed">, TemplateResult> = {
  gone: emptyTab(
    "Nothing is gone",
    "This tab keeps the change points that later data no longer show, with the decisions about them.",
  ),
  all: emptyTab("Nothing was found", "This tab lists what alerts found, whether processed or not."),
  processed: emptyTab(
    "Nothing has been processed yet",
    "This tab shows what you acknowledge, hide or link to a ticket. You can put it back.",
  ),
  history: emptyTab(
    "Nothing is history",
    "This tab lists what the first run over a repository finds, up to the history boundary.",
  ),
};

/** There is nothing to triage, but there are findings of the past. */
function renderOnlyHistory(data: ChangeList, lastRun: string) {
  const [are, them] = data.history === 1 ? ["is", "it"] : ["are", "them"];
  const found = `${countText(data.history, "commit")} with changes ${are} history: the first run found ${them}.`;
  return html`<div class="notice">
    <h2>${data.processed > 0 ? "All done" : "Nothing to triage"}</h2>
    <p>${found} History needs no triage. New changes appear here. ${lastRun}</p>
    <a class="button" href=${routeUrl({ ...triageRoute, tab: "history" })}>See the history</a>
    <p>To triage what is newer than a date or a commit, or all of it without <code>--since</code>:</p>
    <pre class="commands">knick history take --since 2026-01-31</pre>
  </div>`;
}

function renderAllDone(data: ChangeList, lastRun: string) {
  const processed = routeUrl({ ...triageRoute, tab: "processed" });
  return html`<div class="notice">
    <h2>All done</h2>
    <p>Every change has been processed. New ones appear here after the next run. ${lastRun}</p>
    <a class="button" href=${processed}>See the ${countText(data.processed, "processed change")}</a>
  </div>`;
}

function renderNothingFound({ repositories, freshness }: TriageContext, lastRun: string) {
  const traces = repositories.reduce((sum, repository) => sum + repository.traces, 0);
  if (traces === 0) {
    return html`<div class="notice">
      <h2>No results yet</h2>
      <p>Import the results of a benchmark, then run the alerts:</p>
      <pre class="commands">
knick import results.json
knick run</pre>
    </div>`;
  }
  // Without an answer, or without alerts, nothing is known of a run.
  const isSearched = !freshness?.alerts.length || newestRun(freshness.alerts) !== null;
  return html`<div class="notice">
    <h2>${isSearched ? "No changes found" : "Not searched for changes yet"}</h2>
    <p>
      There are ${countText(traces, "trace")}. ${lastRun} ${isSearched ? "Run" : "Wait for its end, or run"} the alerts
      to search for changes, or explore the values:
    </p>
    <pre class="commands">knick run</pre>
    <a class="button" href="/explore">Explore the traces</a>
  </div>`;
}
