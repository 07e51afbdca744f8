/** All pages of the dashboard by their URL. A new page adds its route here and its element in `views/pages.ts`. */

import { alertsFormat, type AlertsRoute } from "./alerts";
import { auditFormat, type AuditRoute } from "./audit";
import { benchmarkFormat, type BenchmarkRoute } from "./benchmark";
import { changeFormat, type ChangeRoute } from "./change";
import { clustersFormat, type ClustersRoute } from "./clusters";
import { commitFormat, type CommitRoute } from "./commit";
import { compareFormat, type CompareRoute } from "./compare";
import { exploreFormat, type ExploreRoute } from "./explore";
import { missingFormat, type MissingRoute } from "./missing";
import { overviewFormat, type OverviewRoute } from "./overview";
import { qualityFormat, type QualityRoute } from "./quality";
import { settingsFormat, type SettingsRoute } from "./settings";
import { statusFormat, type StatusRoute } from "./status";
import { tokensFormat, type TokensRoute } from "./tokens";
import { traceFormat, type TraceRoute } from "./trace";
import { triageFormat, type TriageRoute } from "./triage";
import type { RouteFormat } from "./url";

/** A URL that no page has. */
export interface UnknownRoute {
  view: "unknown";
  path: string;
}

export type Route =
  | OverviewRoute
  | TriageRoute
  | TraceRoute
  | ChangeRoute
  | CommitRoute
  | BenchmarkRoute
  | ExploreRoute
  | CompareRoute
  | ClustersRoute
  | AlertsRoute
  | StatusRoute
  | MissingRoute
  | QualityRoute
  | SettingsRoute
  | TokensRoute
  | AuditRoute
  | UnknownRoute;
export type View = Route["view"];
export type RouteOf<V extends View> = Extract<Route, { view: V }>;

/** The first format that parses a URL wins; `unknown` parses all and comes last. */
const FORMATS: { [V in View]: RouteFormat<RouteOf<V>> } = {
  overview: overviewFormat,
  triage: triageFormat,
  trace: traceFormat,
  change: changeFormat,
  commit: commitFormat,
  benchmark: benchmarkFormat,
  explore: exploreFormat,
  compare: compareFormat,
  clusters: clustersFormat,
  alerts: alertsFormat,
  status: statusFormat,
  missing: missingFormat,
  quality: qualityFormat,
  settings: settingsFormat,
  tokens: tokensFormat,
  audit: auditFormat,
  unknown: {
    title: "Not found",
    parse: ({ pathname }) => ({ view: "unknown", path: pathname }),
    format: ({ path }) => path,
  },
};

/** The page and its state that a URL stands for. */
export function parseRoute(url: URL): Route {
  for (const { parse } of Object.values(FORMATS)) {
    const route = parse(url);
    if (route) return route;
  }
  return { view: "unknown", path: url.pathname };
}

/** The URL of a page in a state: path and parameters, without what is at its default. */
export function routeUrl(route: Route): string {
  const { format } = FORMATS[route.view] as RouteFormat<Route>;
  return format(route);
}

export function pageTitle(view: View): string {
  return FORMATS[view].title;
}
