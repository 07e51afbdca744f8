/** How fresh the findings are: when the alerts ran, and what keeps them from running. */

import { api, type Alert } from "../api/client";
import { ago } from "../text/units";

export interface Freshness {
  alerts: readonly Alert[];
  troubles: readonly string[];
}

const SECONDS = 60;

export async function readFreshness(signal?: AbortSignal): Promise<Freshness> {
  const [alerts, health] = await Promise.all([api.alerts(signal), api.health(signal)]);
  return { alerts, troubles: health.troubles };
}

/** The time at which an alert ran last; null where none has. */
export function newestRun(alerts: readonly Alert[]): string | null {
  const times = alerts.flatMap((alert) => alert.last_run ?? []);
  return times.sort((a, b) => Date.parse(a) - Date.parse(b)).at(-1) ?? null;
}

/** "The alerts ran 3 minutes ago." */
export function freshnessText(alerts: readonly Alert[], now: number = Date.now()): string {
  const newest = newestRun(alerts);
  const subject = alerts.length === 1 ? "The alert" : "The alerts";
  if (alerts.length === 0) return "There are no alerts.";
  return newest === null ? `${subject} never ran.` : `${subject} ran ${ago(newest, now)}.`;
}

/** Look once a minute for as long as the page is seen; call the answer to stop. */
export function watchFreshness(look: () => void): () => void {
  const timer = window.setInterval(() => {
    if (document.visibilityState === "visible") look();
  }, SECONDS * 1000);
  return () => window.clearInterval(timer);
}
