/** The route of the alerts page: which alert is shown, and whether it is edited. */

import { formatUrl, type RouteFormat } from "./url";

export interface AlertsRoute {
  view: "alerts";
  /** The alert that is shown; "" for none, or for a new one that is edited. */
  name: string;
  /** Whether the editor is open. */
  edit: boolean;
}

export const alertsRoute: AlertsRoute = { view: "alerts", name: "", edit: false };

export const alertsFormat: RouteFormat<AlertsRoute> = {
  title: "Alerts",
  parse: ({ pathname, searchParams }) =>
    pathname === "/alerts"
      ? { view: "alerts", name: searchParams.get("name") ?? "", edit: searchParams.get("edit") === "1" }
      : undefined,
  format: ({ name, edit }) =>
    formatUrl("/alerts", [
      ["name", name],
      ["edit", edit ? 1 : ""],
    ]),
};
