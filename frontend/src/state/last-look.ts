/** When a person last looked at the overview. */

import { personSettings } from "./person-settings";

/** Times in milliseconds since 1970: what is new is counted from `since` on; the page was last open at `seen`. */
export interface LastLook {
  since: number;
  seen: number;
}

const HOUR_MS = 3_600_000;
/** The page counts as looked at again after a pause of this length; before, it still shows the same news. */
const PAUSE_MS = HOUR_MS;
/** Who looks for the first time sees what happened in a week. */
const FIRST_MS = 7 * 24 * HOUR_MS;

/** The look at the page at `now`, after the one before. */
export function nextLook(before: LastLook | undefined, now: number): LastLook {
  if (!before) return { since: now - FIRST_MS, seen: now };
  return { since: now - before.seen > PAUSE_MS ? before.seen : before.since, seen: now };
}

/** A stored look; undefined where there is none, or none that can be read. */
export function parseLook(text: string): LastLook | undefined {
  const [since, seen] = text.split(" ").map(Number);
  return since && seen && Number.isFinite(since + seen) ? { since, seen } : undefined;
}

/** Look at the page now, and remember it: the page does not wait for that, and what is not kept is looked at again. */
export async function look(now: number = Date.now()): Promise<LastLook> {
  const next = nextLook(parseLook(await personSettings.get("last-look")), now);
  personSettings.set("last-look", `${next.since} ${next.seen}`).catch(() => undefined);
  return next;
}
