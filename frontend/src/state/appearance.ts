/** How a person wants all pages to look: the theme, and the time zone of dates. */

import { isTimeZone, writeDatesIn } from "../text/dates";
import { personSettings } from "./person-settings";
import { currentTheme, parseTheme, setTheme, type Theme } from "./theme";

const ZONE_KEY = "knickpoint-time-zone";
/** What is stored for the zone of the browser: an empty text means that nothing was chosen. */
const BROWSER_ZONE = "browser";

/** The time zone that dates are written in; "" for that of the browser. */
export function currentTimeZone(): string {
  const stored = localStorage.getItem(ZONE_KEY) ?? "";
  return isTimeZone(stored) ? stored : "";
}

/** Write dates in the stored time zone; pages that are shown already do not follow by themselves. */
export function applyTimeZone(): void {
  writeDatesIn(currentTimeZone() || undefined);
}

/** Use what the person who signed in chose, also in another browser. What they never chose stays as this browser has it. */
export async function loadAppearance(): Promise<void> {
  const theme = await personSettings.get("theme");
  if (theme && theme !== currentTheme()) setTheme(parseTheme(theme));
  const zone = await personSettings.get("time-zone");
  if (zone) keepTimeZone(zone);
}

/** Use a theme from now on, wherever the person signs in. */
export async function chooseTheme(theme: Theme): Promise<void> {
  setTheme(theme);
  await personSettings.set("theme", theme);
}

/** Write dates in a time zone from now on, wherever the person signs in; "" for that of the browser. */
export async function chooseTimeZone(zone: string): Promise<void> {
  keepTimeZone(zone);
  await personSettings.set("time-zone", zone || BROWSER_ZONE);
}

/** The time zones to choose from beside that of the browser: UTC, the chosen one (browsers differ in names), all others. */
export function timeZones(): readonly string[] {
  return [...new Set(["UTC", currentTimeZone() || "UTC", ...Intl.supportedValuesOf("timeZone")])];
}

function keepTimeZone(zone: string): void {
  if (isTimeZone(zone)) localStorage.setItem(ZONE_KEY, zone);
  else localStorage.removeItem(ZONE_KEY);
  applyTimeZone();
}
