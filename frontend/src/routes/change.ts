/** The route of the page of a change. */

import { formatUrl, type RouteFormat } from "./url";

export interface ChangeRoute {
  view: "change";
  /** As `R12`. */
  id: string;
  /** What is shown of its flame graph, as that writes it; "" for the whole. */
  flame: string;
}

export function changeRoute(id: string, flame = ""): ChangeRoute {
  return { view: "change", id, flame };
}

export const changeFormat: RouteFormat<ChangeRoute> = {
  title: "Change",
  parse({ pathname, searchParams }) {
    const number = /^\/change\/R?0*(\d{1,15})\/?$/.exec(pathname)?.[1];
    return number === undefined ? undefined : changeRoute(`R${number}`, searchParams.get("flame") ?? "");
  },
  format: ({ id, flame }) => formatUrl(`/change/${id}`, [["flame", flame]]),
};
