/** Where the pages are: at the root of a server, or in published files, where the fragment has the route (`#/triage`). */

/** The directory of the data of published pages; undefined where a server answers. */
export const PUBLISHED: string | undefined =
  typeof document === "undefined"
    ? undefined
    : document.querySelector<HTMLMetaElement>("meta[name=knickpoint-published]")?.content;

/** Whether another website shows the page in a frame: without a header, and without what changes anything. */
export const EMBEDDED = typeof location !== "undefined" && new URLSearchParams(location.search).has("embed");

/** The URL that is shown, and that the browser is told next. */
let untold: string | undefined;
let timer = 0;

/**
 * Browsers refuse more than 200 changes of the address in half a minute. So many are told at once, so that a reload finds
 * them; of a key that is held longer, as many as the browser takes.
 */
const AT_ONCE = 40;
const REST_MS = 220;
/** How many changes may be told at once, as of a time. */
let left = AT_ONCE;
let counted = 0;

/** Let a URL take the place of the one that is shown. */
export function replaceUrl(url: string): void {
  untold = url;
  const now = performance.now();
  left = Math.min(AT_ONCE, left + (now - counted) / REST_MS);
  counted = now;
  if (left >= 1) tellUrl();
  else if (timer === 0) timer = window.setTimeout(tellUrl, (1 - left) * REST_MS);
}

/** Tell the browser now which URL is shown. */
export function tellUrl(): void {
  if (untold !== undefined) {
    history.replaceState(null, "", addressOf(untold));
    left -= 1;
  }
  forgetUrl();
}

/** The browser itself has gone to another URL. */
export function forgetUrl(): void {
  window.clearTimeout(timer);
  timer = 0;
  untold = undefined;
}

/** The URL of the page that is shown, as a server has it. */
export function currentUrl(): URL {
  if (untold !== undefined) return new URL(untold, location.origin);
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
