/** The heading of the triage page; of a list that is filtered by an alert, whose findings these are. */

import { html } from "lit";
import { alertsRoute } from "../../routes/alerts";
import { routeUrl } from "../../routes/routes";
import type { TriageRoute } from "../../routes/triage";
import { parseTriageFilter } from "../../text/triage-filter";

export function renderHead({ filter }: TriageRoute) {
  const { alert } = parseTriageFilter(filter);
  if (!alert) return html`<h1 class="sr-only">Triage</h1>`;
  return html`<div class="page-head">
    <h1>Changes of <bdi>${alert}</bdi></h1>
    <p class="faint">
      <a href=${routeUrl({ ...alertsRoute, name: alert })}>What the alert watches, and when it ran</a>
    </p>
  </div>`;
}
