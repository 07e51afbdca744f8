/** The route of the overview: since when, which repository, and which sums. */

import { formatUrl, parseWhole, type RouteFormat } from "./url";

export interface OverviewRoute {
  view: "overview";
  /** Only this repository; all of them for "". */
  repository: string;
  /** What happened in the last days; since the person last looked if undefined. */
  days: number | undefined;
  /** The traces that are summed; all of them for "". */
  query: string;
  /** The param that parts them; the usual one for "". */
  by: string;
  /** How many of the newest commits the sums are about; the standard number if undefined. */
  commits: number | undefined;
}

export const overviewRoute: OverviewRoute = {
  view: "overview",
  repository: "",
  days: undefined,
  query: "",
  by: "",
  commits: undefined,
};

/** Triage was the page at `/` once: links with its parameters still lead there. */
const TRIAGE_PARAMETERS = ["tab", "direction", "status", "alerts", "least", "sort", "page", "size", "open", "at"];

export const overviewFormat: RouteFormat<OverviewRoute> = {
  title: "Overview",
  parse({ pathname, searchParams }) {
    if (pathname !== "/" || TRIAGE_PARAMETERS.some((name) => searchParams.has(name))) return undefined;
    return {
      view: "overview",
      repository: searchParams.get("repository") ?? "",
      days: parseWhole(searchParams.get("days")),
      query: searchParams.get("query") ?? searchParams.get("q") ?? "", // links of before have `q`
      by: searchParams.get("by") ?? "",
      commits: parseWhole(searchParams.get("commits")),
    };
  },
  format: ({ repository, days, query, by, commits }) =>
    formatUrl("/", [
      ["repository", repository],
      ["days", days],
      ["query", query],
      ["by", by],
      ["commits", commits],
    ]),
};
