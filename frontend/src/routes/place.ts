/**
 * Where a person is on each page of the history of the window: how far they scrolled, and what they selected.
 *
 * Each entry of the history has an id. The browser restores where the page is before its data are there, so this module
 * does it instead, and again while the page grows.
 */

const STORAGE_KEY = "knickpoint-places";
const MOST_PLACES = 50;
/** How long a page that grows is scrolled anew. */
const GROWS_MS = 5_000;
/** What a person does who goes on by themselves. */
const OWN_MOVES = ["wheel", "touchstart", "pointerdown", "keydown"] as const;

interface Place {
  scroll: number;
  /** What the page keeps of its own, such as the selected rows. */
  kept?: unknown;
}

let places = new Map<string, Place>();
let entry = "";
let stopRestoring: (() => void) | undefined;

/** Follow where the person is, and go back to where they were before a reload. */
export function followPlaces(): void {
  history.scrollRestoration = "manual";
  try {
    places = new Map(JSON.parse(sessionStorage.getItem(STORAGE_KEY) ?? "[]") as [string, Place][]);
  } catch {
    places = new Map();
  }
  window.addEventListener("scroll", () => stopRestoring ?? (place().scroll = scrollY), { passive: true });
  window.addEventListener("pagehide", () => {
    const newest = [...places].slice(-MOST_PLACES);
    sessionStorage.setItem(STORAGE_KEY, JSON.stringify(newest));
  });
  enterPlace();
}

/** The browser has gone to another entry of the history: go to where the person was there. */
export function enterPlace(): void {
  const known = entryOf(history.state);
  if (known === undefined) {
    beginPlace();
    history.replaceState(stateOfPlace(), "");
    return;
  }
  entry = known;
  restore(place().scroll);
}

/** Begin a new entry of the history, which is to have `stateOfPlace`. */
export function beginPlace(): void {
  stopRestoring?.();
  entry = crypto.getRandomValues(new Uint32Array(2)).join("-");
}

export function stateOfPlace(): { entry: string } {
  return { entry };
}

/** What the page kept here, before the person went elsewhere or loaded it again. */
export function keptHere(): unknown {
  return place().kept;
}

export function keepHere(kept: unknown): void {
  place().kept = kept;
}

function place(): Place {
  const known = places.get(entry) ?? { scroll: 0 };
  places.set(entry, known);
  return known;
}

function entryOf(state: unknown): string | undefined {
  const known = (state as { entry?: unknown } | null)?.entry;
  return typeof known === "string" ? known : undefined;
}

/** Scroll to a place, and again while the page grows, until the person moves by themselves. */
function restore(scroll: number): void {
  stopRestoring?.();
  const apply = (): void => window.scrollTo(0, scroll);
  const observer = new ResizeObserver(apply);
  const timer = window.setTimeout(() => stopRestoring?.(), GROWS_MS);
  stopRestoring = () => {
    stopRestoring = undefined;
    observer.disconnect();
    window.clearTimeout(timer);
    for (const move of OWN_MOVES) window.removeEventListener(move, stop);
  };
  const stop = stopRestoring;
  for (const move of OWN_MOVES) window.addEventListener(move, stop, { passive: true });
  observer.observe(document.body);
  apply();
}
