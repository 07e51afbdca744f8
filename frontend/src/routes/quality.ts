/** The route of alert quality: the days that it covers. */

import { formatUrl, parseWhole, type RouteFormat } from "./url";

export interface QualityRoute {
  view: "quality";
  /** Only findings of the last days; undefined for all. */
  days: number | undefined;
}

export const qualityRoute: QualityRoute = { view: "quality", days: undefined };

export const qualityFormat: RouteFormat<QualityRoute> = {
  title: "Alert quality",
  parse: ({ pathname, searchParams }) =>
    pathname === "/quality" ? { view: "quality", days: parseWhole(searchParams.get("days")) } : undefined,
  format: ({ days }) => formatUrl("/quality", [["days", days]]),
};
