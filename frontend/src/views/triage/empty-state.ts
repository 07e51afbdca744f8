/** What is shown where there is no finding to show, and what to do next. */

import { html } from "lit";
import type { Regressions } from "../../api/client";
import { freshnessText } from "../../state/freshness";
import { count } from "../../text/findings";
import type { Desk } from "./context";

/** There is nothing to do, but a long past to look at. */
function renderHistory(data: Regressions, remark: string) {
  const [are, them] = data.history === 1 ? ["is", "it"] : ["are", "them"];
  const found = `${count(data.history, "commit")} with changes ${are} history: the first run found ${them}`;
  return html`<div class="notice">
    <h2>${data.processed > 0 ? "All done" : "Nothing to triage"}</h2>
    <p>${found}, and history needs no triage. What changes from now on appears here. ${remark}</p>
    <a class="button" href="/triage?tab=history">See the history</a>
    <p>To make work of what is newer than a date or a commit, or of all of it without <code>--since</code>:</p>
    <pre class="commands">knick history take --since 2026-01-31</pre>
  </div>`;
}

export function renderEmpty(desk: Desk, data: Regressions) {
  const { filter, direction, status, least, tab, repository } = desk.address;
  const remark = desk.freshness ? freshnessText(desk.freshness.alerts) : "";
  if (filter || direction || repository || status || least > 0) {
    return html`<div class="notice">
      <h2>No finding matches the filter</h2>
      <p>Try fewer words, or look at everything.</p>
      <button
        class="button"
        @click=${() => desk.change({ filter: "", direction: "", repository: "", status: "", least: 0, page: 1 })}
      >
        Clear the filter
      </button>
    </div>`;
  }
  if (tab === "gone") {
    return html`<div class="notice">
      <h2>Nothing is gone</h2>
      <p>Findings that later data no longer show are kept here, with what was decided about them.</p>
      <a class="button" href="/triage">Go to the unprocessed findings</a>
    </div>`;
  }
  if (tab === "processed") {
    return html`<div class="notice">
      <h2>Nothing has been processed yet</h2>
      <p>What you acknowledge, hide or link to a ticket appears here, and can be put back.</p>
      <a class="button" href="/triage">Go to the unprocessed findings</a>
    </div>`;
  }
  if (tab === "history") {
    return html`<div class="notice">
      <h2>Nothing is history</h2>
      <p>What the first run over a repository finds is listed here, unless it was taken into work.</p>
      <a class="button" href="/triage">Go to the unprocessed findings</a>
    </div>`;
  }
  if (data.history > 0) return renderHistory(data, remark);
  if (data.processed > 0) {
    return html`<div class="notice">
      <h2>All done</h2>
      <p>Every finding has been processed. New ones appear here after the next run. ${remark}</p>
      <a class="button" href="/triage?tab=processed">See the ${count(data.processed, "processed finding")}</a>
    </div>`;
  }
  const traces = desk.repositories.reduce((sum, own) => sum + own.traces, 0);
  return traces === 0
    ? html`<div class="notice">
        <h2>No results yet</h2>
        <p>Import the results of a benchmark, then look for changes:</p>
        <pre class="commands">
knick import results.json
knick run</pre>
      </div>`
    : html`<div class="notice">
        <h2>No changes found</h2>
        <p>
          There are ${count(traces, "trace")}. ${remark} Run the alerts to look for changes, or look at the values
          yourself:
        </p>
        <pre class="commands">knick run</pre>
        <a class="button" href="/explore">Explore the traces</a>
      </div>`;
}
