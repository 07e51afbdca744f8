/** Say changes, hazards and states in words. */

import type { Better, Direction, Member, Status, Trace } from "../api/client";
import { grouped } from "./numbers";
import { fromTo } from "./units";

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

/** Whether the words for a movement say by themselves whether it is bad, as slower does and larger does not. */
export function saysItself(dimension: string): boolean {
  return /^(slow|fast)er$/.test(movementWords(dimension).rise);
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
  if (member.size === 0) return "no change";
  const word = member.size > 0 ? words.rise : words.fall;
  if (member.relative_size === null) return `${word}, from 0`;
  if (member.relative_size < 3) return `${percent(member.relative_size)} ${word}`;
  return `${times(1 + member.relative_size)}× the ${words.noun}`;
}

/** How many times as much, with a digit after the point where that says something. */
export function times(ratio: number): string {
  return grouped(ratio, ratio < 100 ? 1 : 0);
}

/** A relative size with its sign and three digits: "+22.8 %"; "+1,170 %" where it is large. */
export function signedPercent(fraction: number): string {
  const size = Math.abs(fraction) * 100;
  const digits = size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;
  const text = grouped(size, digits, digits);
  return `${fraction > 0 ? "+" : fraction < 0 ? "−" : ""}${text} %`;
}

/** How many standard deviations of single values the levels beside a change lie apart; undefined where values do not vary. */
export function sigmas(member: Pick<Member, "size" | "deviation">): number | undefined {
  return member.deviation ? Math.abs(member.size) / member.deviation : undefined;
}

const MANY_SIGMAS = 100;
const MANY_TIMES = 10;

/** "6.4 σ"; nothing where the values do not vary. */
export function sigmaText(found: number | undefined): string {
  if (found === undefined) return "";
  if (found > MANY_SIGMAS) return `>${MANY_SIGMAS} σ`;
  return `${found.toFixed(found < 9.95 ? 1 : 0)} σ`;
}

type Compared = Pick<Member, "before_level" | "after_level" | "deviation" | "size" | "relative_size"> & {
  trace: Pick<Trace, "unit">;
};

/** "12.3 ms → 15.1 ms, +22.8 %, 6.4 σ": the levels, their difference, and how it compares with the noise. */
export function comparison(member: Compared): string {
  const { before_level: before, after_level: after, relative_size: relative } = member;
  const signed = relative === null ? "" : relative >= MANY_TIMES ? `${times(1 + relative)}×` : signedPercent(relative);
  const parts = [signed, sigmaText(sigmas(member))].map((part) => part.replaceAll(" ", "\u00a0"));
  return [fromTo(before, after, member.trace.unit), ...parts].filter(Boolean).join(", ");
}

/** The hazard level with its sign, "–" where there is none. */
export function hazardNumber(hazard: number | null): string {
  if (hazard === null) return "–";
  return `${hazard > 0 ? "+" : hazard < 0 ? "−" : ""}${Math.abs(hazard).toFixed(hazard === 0 ? 0 : 3)}`;
}

/** "hazard −0.113". */
export function hazardText(hazard: number | null): string {
  return hazard === null ? "no hazard level" : `hazard ${hazardNumber(hazard)}`;
}

export const directionWord: Record<Direction, string> = {
  regression: "worse",
  improvement: "better",
  unknown: "changed",
};

const DIRECTIONS: readonly Direction[] = ["regression", "improvement", "unknown"];

/** How many traces went which way: "302 worse, 48 better of 350", or "3 worse" where they all went the same. */
export function mixText(directions: Partial<Record<Direction, number>>): string {
  const parts = DIRECTIONS.flatMap((name) =>
    directions[name] ? [`${grouped(directions[name])} ${directionWord[name]}`] : [],
  );
  const all = DIRECTIONS.reduce((sum, name) => sum + (directions[name] ?? 0), 0);
  return parts.length > 1 ? `${parts.join(", ")} of ${grouped(all)}` : parts.join("");
}

export const statusWord: Record<Status, string> = {
  new: "unprocessed",
  acknowledged: "acknowledged",
  hidden: "hidden",
  ticket: "ticket",
};

/** Whether a finding is gone, history, or what was decided about it. */
export function standingInWords({
  condition,
  history,
  status,
}: Pick<Member, "condition" | "history" | "status">): string {
  if (condition === "gone") return "gone";
  if (!history) return statusWord[status];
  return status === "new" ? "history" : `${statusWord[status]}, history`;
}

/** What a person decided: nothing yet where only a matching ticket makes the state `ticket`. */
export function decidedStatus(member: Pick<Member, "status" | "ticket">): Status {
  return member.status === "ticket" && !member.ticket ? "new" : member.status;
}

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
  return `${grouped(number)} ${number === 1 ? one : many}`;
}
