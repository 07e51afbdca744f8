/** Change the route of the page without loading it again. */

import { PUBLISHED } from "../api/published-data";
import { addressOf, currentUrl, EMBEDDED, linkedUrl, replaceUrl, writeUrl } from "./address";
import { beginPlace, stateOfPlace } from "./place";
import { parseRoute, routeUrl, type Route } from "./routes";

/** Whether the back button stops at the route before (`push`) or skips it (`replace`). */
export type HistoryMode = "push" | "replace";

/** Show a route, and send `kp-route` to the window if it differs from the one that is shown. */
export function navigate(route: Route, mode: HistoryMode = "push"): void {
  const url = routeUrl(route);
  const shown = currentUrl();
  if (url === shown.pathname + shown.search) return;
  if (mode === "replace") replaceUrl(url);
  else {
    writeUrl();
    beginPlace();
    history.pushState(stateOfPlace(), "", addressOf(url));
    if (parseRoute(shown).view !== route.view) window.scrollTo(0, 0);
  }
  window.dispatchEvent(new Event("kp-route"));
}

/** Handle a plain click on a link to a page of the dashboard; the browser handles all other clicks. */
export function followLink(event: MouseEvent): void {
  if (event.defaultPrevented || event.button !== 0) return;
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const link = (event.target as Element | null)?.closest("a[href]");
  if (!(link instanceof HTMLAnchorElement) || link.target || link.hasAttribute("download")) return;
  if (PUBLISHED !== undefined && link.hash === "#content") {
    event.preventDefault();
    document.getElementById("content")?.focus();
    return;
  }
  const url = linkedUrl(link);
  if (!url) return;
  event.preventDefault();
  if (EMBEDDED) {
    window.open(link.href, "_blank", "noopener");
    return;
  }
  navigate(parseRoute(url));
  window.scrollTo(0, 0);
}
