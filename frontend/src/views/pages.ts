/** The element of each page. Its data are its route and the repositories of the instance. */

import { html, type TemplateResult } from "lit";
import type { Repository } from "../api/client";
import type { RouteOf, View } from "../routes/routes";
import "./explore/view";
import "./trace/view";
import "./triage/view";

type RenderPage<V extends View> = (route: RouteOf<V>, repositories: readonly Repository[]) => TemplateResult;

export const PAGES: { [V in View]: RenderPage<V> } = {
  triage: (route, repositories) => html`<kp-triage .route=${route} .repositories=${repositories}></kp-triage>`,
  trace: (route, repositories) => html`<kp-trace .route=${route} .repositories=${repositories}></kp-trace>`,
  explore: (route, repositories) => html`<kp-explore .route=${route} .repositories=${repositories}></kp-explore>`,
  unknown: ({ path }) =>
    html`<div class="notice">
      <h2>There is no page at this address</h2>
      <p class="faint">${path}</p>
      <a class="button" href="/triage">Go to triage</a>
    </div>`,
};
