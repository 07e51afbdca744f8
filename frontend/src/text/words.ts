/** Say changes, hazards and states in words. */

import type { Better, Direction, Member, Status, Trace } from "../api/client";

interface Words {
  rise: string;
  fall: string;
  noun: string;
}

const KINDS: readonly [RegExp, Words][] = [
  [/^time$/, { rise: "slower", fall: "faster", noun: "time" }],
  [/^bytes$/, { rise: "larger", fall: "smaller", noun: "size" }],
  [/\/time$/, { rise: "faster", fall: "slower", noun: "rate" }],
];

/** The words for a rise and for a fall of what a trace measures: slower and faster for times. */
export function movementWords(dimension: string): Words {
  for (const [pattern, words] of KINDS) if (pattern.test(dimension)) return words;
  return { rise: "higher", fall: "lower", noun: "value" };
}

/** A relative size as percent: whole above ten, more digits the smaller it is. */
export function percent(fraction: number): string {
  const size = Math.abs(fraction) * 100;
  if (size === 0) return "0 %";
  const digits = size >= 10 ? 0 : size >= 1 ? 1 : 2;
  const text = size.toFixed(digits);
  return `${text.includes(".") ? text.replace(/0+$/, "").replace(/\.$/, "") : text} %`;
}

type Change = Pick<Member, "relative_size" | "size"> & { trace: Pick<Trace, "dimension"> };

/** "12 % slower", or "4.1× the time" where a percentage stops being readable. */
export function changeInWords(member: Change): string {
  const words = movementWords(member.trace.dimension);
  const word = member.size > 0 ? words.rise : words.fall;
  if (member.relative_size === null) return `${word}, from 0`;
  if (member.relative_size < 3) return `${percent(member.relative_size)} ${word}`;
  return `${times(1 + member.relative_size)}× the ${words.noun}`;
}

/** How many times as much, with a digit after the point where that says something. */
export function times(ratio: number): string {
  return ratio.toLocaleString("en", { maximumFractionDigits: ratio < 100 ? 1 : 0 });
}

/** The hazard level with its sign. */
export function hazardText(hazard: number | null): string {
  if (hazard === null) return "no hazard level";
  return `hazard ${hazard > 0 ? "+" : hazard < 0 ? "−" : ""}${Math.abs(hazard).toFixed(hazard === 0 ? 0 : 3)}`;
}

export const directionWord: Record<Direction, string> = {
  regression: "worse",
  improvement: "better",
  unknown: "changed",
};

export const statusWord: Record<Status, string> = {
  new: "unprocessed",
  acknowledged: "acknowledged",
  hidden: "hidden",
  ticket: "ticket",
};

/** What happened to findings, for the message after a decision. */
export const statusDone: Record<Status, string> = {
  new: "Put back",
  acknowledged: "Acknowledged",
  hidden: "Hid",
  ticket: "Linked a ticket to",
};

export function betterWord(better: Better): string {
  return better === "unknown" ? "" : `${better} is better`;
}

/** "1 finding", "6 findings". */
export function count(number: number, one: string, many = `${one}s`): string {
  return `${number.toLocaleString("en")} ${number === 1 ? one : many}`;
}

const BOUNDARY = /[./:_-]/;
const WORTH_CUTTING = 12;

/** How much of the beginning all texts have in common, up to a boundary between words; 0 where it is short. */
export function commonBeginning(texts: readonly string[]): number {
  const [first = "", ...others] = texts;
  if (others.length === 0) return 0;
  let length = first.length;
  for (const text of others) while (!text.startsWith(first.slice(0, length))) length--;
  while (length > 0 && !BOUNDARY.test(first.charAt(length - 1))) length--;
  return length >= WORTH_CUTTING && texts.every((text) => text.length > length) ? length : 0;
}

const NAMES = ["benchmark", "test", "bench", "name", "test_name"];

/** Split the params of a trace into the name people know it by and the rest. */
export function traceName(params: Record<string, string>): { name: string; rest: [string, string][] } {
  const pairs = Object.entries(params);
  const key = NAMES.find((candidate) => candidate in params) ?? pairs[0]?.[0];
  return {
    name: key === undefined ? "" : (params[key] ?? ""),
    rest: pairs.filter(([own]) => own !== key),
  };
}

/** A trace in one line of text. */
export function traceText(params: Record<string, string>): string {
  const { name, rest } = traceName(params);
  return [name, ...rest.map(([key, value]) => `${key}=${value}`)].join(" ");
}
