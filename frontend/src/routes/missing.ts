/** The route of the page of missing data. */

import { formatUrl, type RouteFormat } from "./url";

export interface MissingRoute {
  view: "missing";
  /** Only this repository; all of them for "". */
  repository: string;
}

export const missingRoute: MissingRoute = { view: "missing", repository: "" };

export const missingFormat: RouteFormat<MissingRoute> = {
  title: "Missing data",
  parse: ({ pathname, searchParams }) =>
    pathname === "/missing" ? { view: "missing", repository: searchParams.get("repository") ?? "" } : undefined,
  format: ({ repository }) => formatUrl("/missing", [["repository", repository]]),
};
