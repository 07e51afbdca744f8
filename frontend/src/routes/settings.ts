/** The route of the settings page. */

import type { RouteFormat } from "./url";

export interface SettingsRoute {
  view: "settings";
}

export const settingsRoute: SettingsRoute = { view: "settings" };

export const settingsFormat: RouteFormat<SettingsRoute> = {
  title: "Settings",
  parse: ({ pathname }) => (pathname === "/settings" ? settingsRoute : undefined),
  format: () => "/settings",
};
