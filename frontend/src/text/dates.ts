/** Dates and times as text, in the time zone that a person chose: by default that of the browser. */

interface DateParts {
  day: string;
  clock: string;
  /** Offset to UTC: "UTC+01:00". */
  zone: string;
}

let zone: string | undefined;
/** Made for the first date that is written: it takes a browser longer than the rest of a page's start. */
let formatter: Intl.DateTimeFormat | undefined;

/** Whether the browser knows a time zone of this name. */
export function isTimeZone(name: string): boolean {
  if (name === "") return false;
  try {
    formatterOf(name);
    return true;
  } catch {
    return false;
  }
}

/** The time zone of the browser. */
export function browserTimeZone(): string {
  return new Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/** Write all dates in this time zone from now on; undefined for that of the browser. */
export function writeDatesIn(name: string | undefined): void {
  if (name !== zone) formatter = undefined;
  zone = name;
}

/** The date in the order that sorts as text: 2026-03-14. Numbers are seconds since 1970. */
export function dayText(time: string | number): string {
  return partsOf(time).day;
}

/** The time of day: 09:30. Numbers are seconds since 1970. */
export function clockText(time: string | number): string {
  return partsOf(time).clock;
}

/** Date, time of day and offset to UTC: 2026-03-14 09:30 UTC+01:00. */
export function timestampText(time: string | null): string {
  if (time === null) return "no date";
  const { day, clock, zone } = partsOf(time);
  return `${day} ${clock} ${zone}`;
}

const UNITS: readonly [seconds: number, name: string][] = [
  [31_557_600, "year"],
  [2_629_800, "month"],
  [86_400, "day"],
  [3_600, "hour"],
  [60, "minute"],
];

/** How long ago, in one unit: "3 days ago". */
export function ageText(time: string | null, now: number = Date.now()): string {
  if (time === null) return "no date";
  const seconds = Math.round((now - new Date(time).getTime()) / 1000);
  for (const [length, name] of UNITS) {
    const whole = Math.floor(seconds / length);
    if (whole >= 1) return `${whole} ${name}${whole === 1 ? "" : "s"} ago`;
  }
  return "just now";
}

function partsOf(time: string | number): DateParts {
  const parts: Partial<Record<Intl.DateTimeFormatPartTypes, string>> = {};
  formatter ??= formatterOf(zone);
  for (const { type, value } of formatter.formatToParts(typeof time === "number" ? time * 1000 : new Date(time))) {
    parts[type] = value;
  }
  const { year = "", month = "", day = "", hour = "", minute = "", timeZoneName = "" } = parts;
  return {
    day: `${year.padStart(4, "0")}-${month}-${day}`,
    clock: `${hour}:${minute}`,
    zone: timeZoneName.replace("GMT", "UTC").replace("+00:00", "").replace("-", "−"),
  };
}

function formatterOf(timeZone: string | undefined): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat("en", {
    timeZone,
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23",
    timeZoneName: "longOffset",
  });
}
