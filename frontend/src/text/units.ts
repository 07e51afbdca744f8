/** Write values with their units, and dates. */

import { grouped } from "./numbers";

const TIME = { ps: 1e-12, ns: 1e-9, us: 1e-6, ms: 1e-3, s: 1 } as const;
const SHOWN: Record<keyof typeof TIME, string> = { ps: "ps", ns: "ns", us: "µs", ms: "ms", s: "s" };
const ALIASES: Record<string, keyof typeof TIME> = {
  nsec: "ns",
  nanoseconds: "ns",
  µs: "us",
  μs: "us",
  usec: "us",
  microseconds: "us",
  msec: "ms",
  milliseconds: "ms",
  sec: "s",
  second: "s",
  seconds: "s",
};
const BYTES: readonly [string, number][] = [
  ["B", 1],
  ["kB", 1e3],
  ["MB", 1e6],
  ["GB", 1e9],
];

export interface Scale {
  /** What a stored value is divided by before it is written. */
  divisor: number;
  /** The unit to write after it. */
  unit: string;
}

function pick(magnitude: number, steps: readonly [string, number][]): [string, number] {
  let best = steps[0] ?? ["", 1];
  for (const step of steps) if (magnitude >= step[1]) best = step;
  return best;
}

/** The scale in which a value of this magnitude reads best: 143,000 ns as 143 µs. */
export function scaleFor(magnitude: number, unit: string): Scale {
  const size = Math.abs(magnitude);
  if (size === 0) return { divisor: 1, unit };
  const slash = unit.indexOf("/");
  const head = slash < 0 ? unit : unit.slice(0, slash);
  const tail = slash < 0 ? "" : unit.slice(slash);
  const known = head in TIME ? (head as keyof typeof TIME) : ALIASES[head];
  if (known !== undefined && !/^\/s(ec(ond)?)?$/.test(tail)) {
    const base = TIME[known];
    const steps = Object.entries(TIME).map(([name, factor]): [string, number] => [name, factor]);
    const [name, factor] = pick(size * base, steps);
    return { divisor: factor / base, unit: SHOWN[name as keyof typeof TIME] + tail };
  }
  const bytes = BYTES.find(([name]) => name === head);
  if (bytes) {
    const [name, factor] = pick(size * bytes[1], BYTES);
    return { divisor: factor / bytes[1], unit: name + tail };
  }
  return { divisor: 1, unit };
}

/** A unit as it is written beside numbers: µs for us. */
export function unitText(unit: string): string {
  const slash = unit.indexOf("/");
  const head = slash < 0 ? unit : unit.slice(0, slash);
  const known = head in TIME ? (head as keyof typeof TIME) : ALIASES[head];
  return known === undefined ? unit : SHOWN[known] + unit.slice(head.length);
}

/** A number with `digits` significant digits and thin grouping; counts stay whole. */
export function number(value: number, digits = 4): string {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e15 || size < 1e-6) return value.toExponential(digits - 1);
  if (Number.isInteger(value) && size < 1e6) return grouped(value).replaceAll("-", "−");
  const places = Math.max(0, digits - 1 - Math.floor(Math.log10(size)));
  return grouped(value, Math.min(places, 12)).replaceAll("-", "−");
}

/** A value with its unit, in the scale that reads best. */
export function valueText(value: number, unit: string, scale: Scale = scaleFor(value, unit)): string {
  return `${number(value / scale.divisor)}${scale.unit ? `\u00a0${scale.unit}` : ""}`;
}

/** The texts of an axis: one scale for all, or for each its own where `wide`; nothing where a tick has no room. */
export function axisTexts(ticks: readonly (number | null)[], unit: string, wide: boolean): string[] {
  const scale = scaleFor(Math.max(0, ...ticks.map((tick) => Math.abs(tick ?? 0))), unit);
  return ticks.map((tick) => (tick === null ? "" : valueText(tick, unit, wide ? undefined : scale)));
}

const FAR_APART = 100;

/** Two levels in one scale where they are near, each in its own where they are far apart. */
export function fromTo(before: number, after: number, unit: string): string {
  const sizes = [Math.abs(before), Math.abs(after)];
  const greatest = Math.max(...sizes);
  const scale = greatest > FAR_APART * Math.min(...sizes) ? undefined : scaleFor(greatest, unit);
  return `${valueText(before, unit, scale)} → ${valueText(after, unit, scale)}`;
}

/** The day, as people sort it: 2026-03-14. */
export function day(time: string | number): string {
  const date = new Date(typeof time === "number" ? time * 1000 : time);
  const two = (part: number): string => String(part).padStart(2, "0");
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

/** Day and minute with the offset to UTC, for titles. */
export function moment(time: string | null): string {
  if (time === null) return "no date";
  const date = new Date(time);
  const two = (part: number): string => String(part).padStart(2, "0");
  const offset = -date.getTimezoneOffset();
  const zone =
    offset === 0
      ? "UTC"
      : `UTC${offset < 0 ? "−" : "+"}${two(Math.floor(Math.abs(offset) / 60))}:${two(Math.abs(offset) % 60)}`;
  return `${day(time)} ${two(date.getHours())}:${two(date.getMinutes())} ${zone}`;
}

/** How long ago, in one unit: "3 days ago". */
export function ago(time: string | null, now: number = Date.now()): string {
  if (time === null) return "no date";
  const seconds = Math.round((now - new Date(time).getTime()) / 1000);
  const steps: readonly [number, string][] = [
    [31_557_600, "year"],
    [2_629_800, "month"],
    [86_400, "day"],
    [3_600, "hour"],
    [60, "minute"],
  ];
  for (const [length, name] of steps) {
    const whole = Math.floor(seconds / length);
    if (whole >= 1) return `${whole} ${name}${whole === 1 ? "" : "s"} ago`;
  }
  return "just now";
}
