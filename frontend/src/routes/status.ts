/** The route of the status page. */

import { formatUrl, type RouteFormat } from "./url";

export interface StatusRoute {
  view: "status";
  /** The repository whose coverage is shown; the first one for "". */
  repository: string;
}

export const statusRoute: StatusRoute = { view: "status", repository: "" };

export const statusFormat: RouteFormat<StatusRoute> = {
  title: "Status",
  parse: ({ pathname, searchParams }) =>
    pathname === "/status" ? { view: "status", repository: searchParams.get("repository") ?? "" } : undefined,
  format: ({ repository }) => formatUrl("/status", [["repository", repository]]),
};
