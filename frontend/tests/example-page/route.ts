/** The route of the alerts page. */

import { formatUrl, type RouteFormat } from "../../src/routes/url";

export interface AlertsRoute {
  view: "alerts";
  /** Only alerts with this text in their name; all of them for "". */
  name: string;
}

export const alertsFormat: RouteFormat<AlertsRoute> = {
  title: "Alerts",
  parse: ({ pathname, searchParams }) =>
    pathname === "/alerts" ? { view: "alerts", name: searchParams.get("name") ?? "" } : undefined,
  format: ({ name }) => formatUrl("/alerts", [["name", name]]),
};
