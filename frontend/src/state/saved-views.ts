/** Pages that a person saved by name, with all that their URL says. */

import { api, type SharedView } from "../api/client";
import { PUBLISHED } from "../api/published-data";
import { parseRoute } from "../routes/routes";
import { personSettings } from "./person-settings";

export interface SavedView {
  name: string;
  /** Path and parameters. */
  url: string;
  /** Whether the overview shows it. */
  pinned: boolean;
}

export const MOST_VIEWS = 100;
export const LONGEST_NAME = 80;
/** The longest text that the server keeps for one setting. */
const LONGEST_TEXT = 20_000;
const SOME_HOST = "http://dashboard";

/** The stored views; those that this version has no page for are left out. */
export function parseViews(text: string): SavedView[] {
  let found: unknown;
  try {
    found = JSON.parse(text || "[]");
  } catch {
    return [];
  }
  if (!Array.isArray(found)) return [];
  return found.filter(isView).map(({ name, url, pinned }) => ({ name, url, pinned: pinned === true }));
}

/** The views with one more, or with another URL for its name. Pinned ones come first, each part by name. */
export function withView(views: readonly SavedView[], view: SavedView): SavedView[] {
  return [...withoutView(views, view.name), view].sort(
    (left, right) => Number(right.pinned) - Number(left.pinned) || left.name.localeCompare(right.name),
  );
}

export function withoutView(views: readonly SavedView[], name: string): SavedView[] {
  return views.filter((each) => each.name !== name);
}

/** Why a list cannot be kept; undefined if it can. */
export function viewsProblem(views: readonly SavedView[]): string | undefined {
  if (views.length > MOST_VIEWS) return `There are ${MOST_VIEWS} saved views already. Remove one first.`;
  if (JSON.stringify(views).length > LONGEST_TEXT) return "The saved views are too long together. Remove one first.";
  return undefined;
}

export async function loadViews(): Promise<SavedView[]> {
  return parseViews(await personSettings.get("views"));
}

/** The views that people share with everybody; none where no server keeps them. */
export async function loadSharedViews(): Promise<SharedView[]> {
  if (PUBLISHED !== undefined) return [];
  return (await api.sharedViews()).filter(isView);
}

/** Keep the views, and send `kp-views` to the window. */
export async function keepViews(views: readonly SavedView[]): Promise<void> {
  await personSettings.set("views", JSON.stringify(views));
  window.dispatchEvent(new Event("kp-views"));
}

function isView(value: unknown): value is Pick<SavedView, "name" | "url"> & { pinned?: unknown } {
  if (typeof value !== "object" || value === null) return false;
  const { name, url } = value as Partial<Record<keyof SavedView, unknown>>;
  return typeof name === "string" && name !== "" && typeof url === "string" && isPage(url);
}

/** Whether a URL is a page of the dashboard, so that no stored text leads elsewhere. */
function isPage(url: string): boolean {
  if (!URL.canParse(url, SOME_HOST)) return false;
  const parsed = new URL(url, SOME_HOST);
  return url.startsWith("/") && parsed.origin === SOME_HOST && parseRoute(parsed).view !== "unknown";
}
