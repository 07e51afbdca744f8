/** The route of the page of a change. */

import type { RouteFormat } from "./url";

export interface ChangeRoute {
  view: "change";
  /** As `R12`. */
  id: string;
}

export function changeRoute(id: string): ChangeRoute {
  return { view: "change", id };
}

export const changeFormat: RouteFormat<ChangeRoute> = {
  title: "Change",
  parse({ pathname }) {
    const number = /^\/change\/R?0*(\d{1,15})\/?$/.exec(pathname)?.[1];
    return number === undefined ? undefined : changeRoute(`R${number}`);
  },
  format: ({ id }) => `/change/${id}`,
};
