/** How up to date the findings are: when the alerts ran last, and what keeps them from running. */

import { api, type Alert } from "../api/client";
import { ageText } from "../text/dates";

export interface Freshness {
  alerts: readonly Alert[];
  troubles: readonly string[];
}

const POLL_MS = 60_000;

export async function loadFreshness(signal?: AbortSignal): Promise<Freshness> {
  const [alerts, health] = await Promise.all([api.alerts(signal), api.health(signal)]);
  return { alerts, troubles: health.troubles };
}

/** The time of the newest run of an alert; null if none has run. */
export function newestRun(alerts: readonly Alert[]): string | null {
  const times = alerts.flatMap((alert) => alert.last_run ?? []);
  return times.sort((a, b) => Date.parse(a) - Date.parse(b)).at(-1) ?? null;
}

/** "The alerts ran 3 minutes ago." */
export function freshnessText(alerts: readonly Alert[], now: number = Date.now()): string {
  const newest = newestRun(alerts);
  const subject = alerts.length === 1 ? "alert" : "alerts";
  if (alerts.length === 0) return "There are no alerts.";
  // A run is recorded at its end, and the first one may take hours.
  return newest === null ? `No run of the ${subject} has ended yet.` : `The ${subject} ran ${ageText(newest, now)}.`;
}

/** Run a function once a minute while the page is visible. Returns a function that stops it. */
export function pollWhileVisible(run: () => void): () => void {
  const timer = window.setInterval(() => {
    if (document.visibilityState === "visible") run();
  }, POLL_MS);
  return () => window.clearInterval(timer);
}
