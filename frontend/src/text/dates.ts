/** Dates and times as text, in the time zone of the browser. */

/** The date in the order that sorts as text: 2026-03-14. Numbers are seconds since 1970. */
export function dayText(time: string | number): string {
  const date = new Date(typeof time === "number" ? time * 1000 : time);
  return `${date.getFullYear()}-${twoDigits(date.getMonth() + 1)}-${twoDigits(date.getDate())}`;
}

/** Date, time of day and offset to UTC: 2026-03-14 09:30 UTC+01:00. */
export function timestampText(time: string | null): string {
  if (time === null) return "no date";
  const date = new Date(time);
  const offset = -date.getTimezoneOffset();
  const hours = twoDigits(Math.floor(Math.abs(offset) / 60));
  const zone = offset === 0 ? "UTC" : `UTC${offset < 0 ? "−" : "+"}${hours}:${twoDigits(Math.abs(offset) % 60)}`;
  return `${dayText(time)} ${twoDigits(date.getHours())}:${twoDigits(date.getMinutes())} ${zone}`;
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

function twoDigits(number: number): string {
  return String(number).padStart(2, "0");
}
