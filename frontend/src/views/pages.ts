/** The element of each page. Its data are its route, the repositories of the instance, and who asks. */

import { html, type TemplateResult } from "lit";
import type { Caller, Repository } from "../api/client";
import type { RouteOf, View } from "../routes/routes";
import "./audit/view";
import "./explore/view";
import "./missing/view";
import "./quality/view";
import "./tokens/view";
import "./trace/view";
import "./triage/view";

export interface PageData {
  repositories: readonly Repository[];
  caller: Caller;
}

type RenderPage<V extends View> = (route: RouteOf<V>, data: PageData) => TemplateResult;

export const PAGES: { [V in View]: RenderPage<V> } = {
  triage: (route, { repositories, caller }) =>
    html`<kp-triage .route=${route} .repositories=${repositories} .caller=${caller}></kp-triage>`,
  trace: (route, { repositories, caller }) =>
    html`<kp-trace .route=${route} .repositories=${repositories} .caller=${caller}></kp-trace>`,
  explore: (route, { repositories }) => html`<kp-explore .route=${route} .repositories=${repositories}></kp-explore>`,
  missing: (route, { repositories, caller }) =>
    html`<kp-missing .route=${route} .repositories=${repositories} .caller=${caller}></kp-missing>`,
  quality: (route) => html`<kp-quality .route=${route}></kp-quality>`,
  tokens: (route, { repositories, caller }) =>
    html`<kp-tokens .route=${route} .repositories=${repositories} .caller=${caller}></kp-tokens>`,
  audit: (route, { caller }) => html`<kp-audit .route=${route} .caller=${caller}></kp-audit>`,
  unknown: ({ path }) =>
    html`<div class="notice">
      <h2>There is no page at this address</h2>
      <p class="faint">${path}</p>
      <a class="button" href="/triage">Go to triage</a>
    </div>`,
};
