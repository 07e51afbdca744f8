/** The element of each page, loaded when it is first shown. Its data are its route, the repositories, and who asks. */

import { html, type TemplateResult } from "lit";
import type { Caller, Repository } from "../api/client";
import type { RouteOf, View } from "../routes/routes";

export interface PageData {
  repositories: readonly Repository[];
  caller: Caller;
}

interface Page<V extends View> {
  /** Load the module that defines the element. */
  load: () => Promise<unknown>;
  render: (route: RouteOf<V>, data: PageData) => TemplateResult;
}

export const PAGES: { [V in View]: Page<V> } = {
  overview: {
    load: () => import("./overview/view"),
    render: (route, { repositories }) =>
      html`<kp-overview .route=${route} .repositories=${repositories}></kp-overview>`,
  },
  triage: {
    load: () => import("./triage/view"),
    render: (route, { repositories, caller }) =>
      html`<kp-triage .route=${route} .repositories=${repositories} .caller=${caller}></kp-triage>`,
  },
  trace: {
    load: () => import("./trace/view"),
    render: (route, { repositories, caller }) =>
      html`<kp-trace .route=${route} .repositories=${repositories} .caller=${caller}></kp-trace>`,
  },
  change: {
    load: () => import("./change/view"),
    render: (route, { caller }) => html`<kp-change .route=${route} .caller=${caller}></kp-change>`,
  },
  commit: {
    load: () => import("./commit/view"),
    render: (route) => html`<kp-commit .route=${route}></kp-commit>`,
  },
  benchmark: {
    load: () => import("./benchmark/view"),
    render: (route) => html`<kp-benchmark .route=${route}></kp-benchmark>`,
  },
  explore: {
    load: () => import("./explore/view"),
    render: (route, { repositories }) => html`<kp-explore .route=${route} .repositories=${repositories}></kp-explore>`,
  },
  compare: {
    load: () => import("./compare/view"),
    render: (route, { repositories }) => html`<kp-compare .route=${route} .repositories=${repositories}></kp-compare>`,
  },
  clusters: {
    load: () => import("./clusters/view"),
    render: (route, { repositories, caller }) =>
      html`<kp-clusters .route=${route} .repositories=${repositories} .caller=${caller}></kp-clusters>`,
  },
  alerts: {
    load: () => import("./alerts/view"),
    render: (route, { repositories, caller }) =>
      html`<kp-alerts .route=${route} .repositories=${repositories} .caller=${caller}></kp-alerts>`,
  },
  status: {
    load: () => import("./status/view"),
    render: (route, { repositories, caller }) =>
      html`<kp-status .route=${route} .repositories=${repositories} .caller=${caller}></kp-status>`,
  },
  missing: {
    load: () => import("./missing/view"),
    render: (route, { repositories, caller }) =>
      html`<kp-missing .route=${route} .repositories=${repositories} .caller=${caller}></kp-missing>`,
  },
  quality: {
    load: () => import("./quality/view"),
    render: (route, { caller }) => html`<kp-quality .route=${route} .caller=${caller}></kp-quality>`,
  },
  settings: {
    load: () => import("./settings/view"),
    render: (_, { caller }) => html`<kp-settings .caller=${caller}></kp-settings>`,
  },
  tokens: {
    load: () => import("./tokens/view"),
    render: (route, { repositories, caller }) =>
      html`<kp-tokens .route=${route} .repositories=${repositories} .caller=${caller}></kp-tokens>`,
  },
  audit: {
    load: () => import("./audit/view"),
    render: (route, { caller }) => html`<kp-audit .route=${route} .caller=${caller}></kp-audit>`,
  },
  unknown: {
    load: () => Promise.resolve(),
    render: ({ path }) =>
      html`<div class="notice">
        <h2>There is no page at this address</h2>
        <p class="faint">${path}</p>
        <a class="button" href="/">Go to the overview</a>
      </div>`,
  },
};
