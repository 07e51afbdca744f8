/** Values with their units, in the scale that reads best. */

import { hasExponent, numberText, percentText } from "./numbers";

const SECONDS = { ps: 1e-12, ns: 1e-9, us: 1e-6, ms: 1e-3, s: 1 } as const;
type TimeUnit = keyof typeof SECONDS;

const TIME_SYMBOLS: Record<TimeUnit, string> = { ps: "ps", ns: "ns", us: "µs", ms: "ms", s: "s" };
const TIME_ALIASES: Record<string, TimeUnit> = {
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
/** Units that grow by steps: bytes in both ways of counting, hertz, bits and floating-point operations. */
const LADDERS: readonly (readonly [string, number][])[] = [
  ["B", "kB", "MB", "GB", "TB"].map((name, step) => [name, 1e3 ** step]),
  ["KiB", "MiB", "GiB", "TiB"].map((name, step) => [name, 1024 ** step]),
  ["bit", "kbit", "Mbit", "Gbit"].map((name, step) => [name, 1e3 ** step]),
  ["Hz", "kHz", "MHz", "GHz"].map((name, step) => [name, 1e3 ** step]),
  ["FLOPS", "kFLOPS", "MFLOPS", "GFLOPS", "TFLOPS"].map((name, step) => [name, 1e3 ** step]),
];
const SIZE_ALIASES: Record<string, string> = {
  byte: "B",
  bytes: "B",
  Bytes: "B",
  KB: "kB",
  kilobytes: "kB",
  megabytes: "MB",
  bits: "bit",
};
/** What is counted in a second under a short name, which takes a prefix: kops/s. */
const COUNTED = /^([kMG]?)(ops?|req|it|iter|rows|tx|msgs?|calls|elem|items)$/;
const PREFIXES: readonly [string, number][] = [
  ["", 1],
  ["k", 1e3],
  ["M", 1e6],
  ["G", 1e9],
];
const PER_SECOND = /^\/s(ec(ond)?)?$/;

export interface Scale {
  /** What a stored value is divided by before it is written. */
  divisor: number;
  /** The unit to write after it. */
  unit: string;
}

/** The largest step that is not larger than a magnitude; the first one for smaller magnitudes. */
function largestStep(magnitude: number, steps: readonly [string, number][]): [string, number] {
  let best = steps[0] ?? ["", 1];
  for (const step of steps) if (magnitude >= step[1]) best = step;
  return best;
}

/** The unit before a slash, and the slash with what follows: `ns` and `/iter`. */
function splitUnit(unit: string): { head: string; tail: string } {
  const slash = unit.indexOf("/");
  return slash < 0 ? { head: unit, tail: "" } : { head: unit.slice(0, slash), tail: unit.slice(slash) };
}

function timeUnit(head: string): TimeUnit | undefined {
  return head in SECONDS ? (head as TimeUnit) : TIME_ALIASES[head];
}

/** The scale in which a value of this magnitude reads best: 143,000 ns as 143 µs. */
export function scaleFor(magnitude: number, unit: string): Scale {
  const size = Math.abs(magnitude);
  if (size === 0) return { divisor: 1, unit };
  const { head, tail } = splitUnit(unit);
  const time = timeUnit(head);
  // Seconds per second are a ratio, whose unit must not change.
  if (time !== undefined && !PER_SECOND.test(tail)) {
    const base = SECONDS[time];
    const [name, factor] = largestStep(size * base, Object.entries(SECONDS));
    return { divisor: factor / base, unit: TIME_SYMBOLS[name as TimeUnit] + tail };
  }
  const named = SIZE_ALIASES[head] ?? head;
  for (const ladder of LADDERS) {
    const known = ladder.find(([name]) => name === named);
    if (!known) continue;
    const [name, factor] = largestStep(size * known[1], ladder);
    return { divisor: factor / known[1], unit: name + tail };
  }
  const [, prefix = "", counted] = COUNTED.exec(head) ?? [];
  if (counted && PER_SECOND.test(tail)) {
    const now = PREFIXES.find(([name]) => name === prefix)?.[1] ?? 1;
    const [name, factor] = largestStep(size * now, PREFIXES);
    return { divisor: factor / now, unit: name + counted + tail };
  }
  return { divisor: 1, unit };
}

/** The symbol of a unit: µs for us. */
export function unitText(unit: string): string {
  const { head, tail } = splitUnit(unit);
  const time = timeUnit(head);
  return time === undefined ? unit : TIME_SYMBOLS[time] + tail;
}

/** Characters of a unit that are shown; some files have whole sentences there. */
const LONGEST_UNIT = 24;

function shortUnit(unit: string): string {
  return unit.length > LONGEST_UNIT ? `${unit.slice(0, LONGEST_UNIT - 1)}…` : unit;
}

/** Significant digits of a value; ticks that are near each other have more. */
const DIGITS = 4;
const MAX_DIGITS = 12;

/** A value with its unit, by default in the scale that reads best. */
export function valueText(
  value: number,
  unit: string,
  scale: Scale = scaleFor(value, unit),
  digits = DIGITS,
  exponent?: boolean,
): string {
  return `${numberText(value / scale.divisor, digits, exponent)}${scale.unit ? `\u00a0${shortUnit(scale.unit)}` : ""}`;
}

/**
 * The labels of the ticks of an axis; uPlot gives null for ticks without room for one.
 *
 * All ticks have the scale of the largest, and as many digits as tell them apart. On a logarithmic axis (`scaleEach`) each has the scale that suits it.
 */
export function axisTexts(ticks: readonly (number | null)[], unit: string, scaleEach: boolean): string[] {
  const scale = scaleFor(Math.max(0, ...ticks.map((tick) => Math.abs(tick ?? 0))), unit);
  const labelled = new Set(ticks.filter((tick) => tick !== null)).size;
  for (let digits = DIGITS; ; digits++) {
    const texts = ticks.map((tick) =>
      tick === null ? "" : valueText(tick, unit, scaleEach ? undefined : scale, digits),
    );
    if (digits >= MAX_DIGITS || new Set(texts.filter((text) => text !== "")).size >= labelled) return texts;
  }
}

/** "flips between 2 levels: 10.2 ms (62 % of the time) and 10.7 ms (38 %)". */
export function flippingText(levels: readonly number[], shares: readonly number[], unit: string): string {
  const scale = scaleFor(Math.max(...levels.map(Math.abs)), unit);
  const parts = levels.map((level, number) => {
    const share = `${percentText(shares[number] ?? 0)}${number === 0 ? " of the time" : ""}`;
    return `${valueText(level, unit, scale)} (${share})`;
  });
  return `flips between ${parts.length} levels: ${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}`;
}

/** Levels with a larger ratio are written in different scales. */
const MAX_SHARED_RATIO = 100;

/** "0.9 µs → 1.2 µs": two levels in one scale and notation, unless they differ too much for it. */
export function levelsText(before: number, after: number, unit: string): string {
  const sizes = [Math.abs(before), Math.abs(after)];
  const largest = Math.max(...sizes);
  const scale = largest > MAX_SHARED_RATIO * Math.min(...sizes) ? undefined : scaleFor(largest, unit);
  const exponent = scale && sizes.some((size) => hasExponent(size / scale.divisor)) ? true : undefined;
  return [before, after].map((level) => valueText(level, unit, scale, DIGITS, exponent)).join(" → ");
}
