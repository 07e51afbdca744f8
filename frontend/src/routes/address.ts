/** Where the pages are: at the root of a server, or in published files, where the fragment has the route (`#/triage`). */

import { PUBLISHED } from "../api/published-data";

/** Whether another website shows the page in a frame: without a header, and without what changes anything. */
export const EMBEDDED = typeof location !== "undefined" && new URLSearchParams(location.search).has("embed");

/** The URL that is shown, and that is written into the address of the browser next. */
let pending: string | undefined;
let timer = 0;

/**
 * Browsers refuse more than 200 changes of the address in 30 s. A burst of changes is written at once, so that a reload keeps
 * each of them; while a key is held, one change is written per interval.
 */
const BURST = 40;
const INTERVAL_MS = 220;
/** The number of changes that could be written at once at the time `countedAt`. */
let budget = BURST;
let countedAt = 0;

/** Let a URL take the place of the one that is shown. */
export function replaceUrl(url: string): void {
  pending = url;
  const now = performance.now();
  budget = Math.min(BURST, budget + (now - countedAt) / INTERVAL_MS);
  countedAt = now;
  if (budget >= 1) writeUrl();
  else if (timer === 0) timer = window.setTimeout(writeUrl, (1 - budget) * INTERVAL_MS);
}

/** Write the URL that is shown into the address of the browser now. */
export function writeUrl(): void {
  if (pending !== undefined) {
    history.replaceState(history.state, "", addressOf(pending));
    budget -= 1;
  }
  forgetUrl();
}

/** The browser itself has gone to another URL. */
export function forgetUrl(): void {
  window.clearTimeout(timer);
  timer = 0;
  pending = undefined;
}

/** The URL of the page that is shown, as a server has it. */
export function currentUrl(): URL {
  if (pending !== undefined) return new URL(pending, location.origin);
  if (PUBLISHED !== undefined) return fragmentUrl(location.hash);
  const url = new URL(location.href);
  if (EMBEDDED) url.searchParams.delete("embed");
  return url;
}

/** The address in the browser of a URL that a server has. */
export function addressOf(url: string): string {
  if (PUBLISHED !== undefined) return `#${url}`;
  return EMBEDDED ? `${url}${url.includes("?") ? "&" : "?"}embed` : url;
}

/** The URL that a link to a page stands for; undefined for links that lead elsewhere. */
export function linkedUrl(link: HTMLAnchorElement): URL | undefined {
  const href = link.getAttribute("href") ?? "";
  if (PUBLISHED !== undefined && href.startsWith("#/")) return fragmentUrl(href);
  const url = new URL(link.href);
  return url.origin !== location.origin || url.pathname.startsWith("/api/") ? undefined : url;
}

/** In published pages, let each link have its real address before a person opens it in a new tab or copies it. */
export function followPublishedLinks(): void {
  if (PUBLISHED === undefined) return;
  const write = ({ target }: Event): void => {
    const link = target instanceof Element ? target.closest('a[href^="/"]') : null;
    link?.setAttribute("href", `#${link.getAttribute("href") ?? "/"}`);
  };
  document.addEventListener("pointerover", write);
  document.addEventListener("focusin", write);
}

function fragmentUrl(fragment: string): URL {
  return new URL(fragment.startsWith("#/") ? fragment.slice(1) : "/", location.origin);
}
