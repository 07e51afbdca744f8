/** The words for changes, directions, statuses and hazard levels. */

import type {
  Better,
  Change,
  ChangeDirection,
  Commit,
  Direction,
  Finding,
  Statement,
  Status,
  Trace,
} from "../api/client";
import { countText, grouped, percentText, ratioText, signedPercentText } from "./numbers";
import { levelsText, valueText } from "./units";

interface MovementWords {
  rise: string;
  fall: string;
  noun: string;
}

/** By dimension of the unit, as the API names it. */
const MOVEMENTS: readonly [RegExp, MovementWords][] = [
  [/^time$/, { rise: "slower", fall: "faster", noun: "time" }],
  [/^bytes$/, { rise: "larger", fall: "smaller", noun: "size" }],
  [/\/time$/, { rise: "faster", fall: "slower", noun: "rate" }],
];

/** The words for a rise and a fall of what a trace measures: slower and faster for times. */
export function movementWords(dimension: string): MovementWords {
  for (const [pattern, words] of MOVEMENTS) if (pattern.test(dimension)) return words;
  return { rise: "higher", fall: "lower", noun: "value" };
}

/** From this relative size on, "5× the time" reads better than "400 % slower". */
const RATIO_FROM = 3;

const NOISE_WORDS = { rise: "noisier", fall: "less noisy", noun: "noise" };

/** A change point, as far as its size in words needs it. */
export type Sized = Pick<Finding, "relative_size" | "size"> & { trace: Pick<Trace, "dimension">; kind?: string };

/** "12 % slower", or "5× the time" for a large change; "70 % noisier" for one of the noise. */
export function changeText(finding: Sized): string {
  const words = finding.kind === "noise" ? NOISE_WORDS : movementWords(finding.trace.dimension);
  if (finding.size === 0) return "no change";
  const word = finding.size > 0 ? words.rise : words.fall;
  if (finding.relative_size === null) return `${word}, from 0`;
  if (finding.relative_size < RATIO_FROM) return `${percentText(finding.relative_size)} ${word}`;
  return `${ratioText(1 + finding.relative_size)}× the ${words.noun}`;
}

/** What the newest value of a trace is a sign of: "12 % slower, unconfirmed". */
export function newestText(
  newest: { value: number; centre: number; relative_size: number | null },
  trace: Pick<Trace, "dimension">,
): string {
  const { value, centre, relative_size } = newest;
  return `${changeText({ size: value - centre, relative_size, trace })}, unconfirmed`;
}

/** The size of a change in standard deviations of single values; undefined if the values do not vary. */
export function sizeInDeviations(finding: Pick<Finding, "size" | "deviation">): number | undefined {
  return finding.deviation ? Math.abs(finding.size) / finding.deviation : undefined;
}

const MAX_DEVIATIONS = 100;

/** "6.4 σ"; "" if the values do not vary. */
export function deviationsText(deviations: number | undefined): string {
  if (deviations === undefined) return "";
  if (deviations > MAX_DEVIATIONS) return `>${MAX_DEVIATIONS} σ`;
  return `${deviations.toFixed(deviations < 9.95 ? 1 : 0)} σ`;
}

/** From this relative size on, the comparison shows the ratio of the levels instead of percent. */
const COMPARED_RATIO_FROM = 10;

type Compared = Pick<Finding, "before_level" | "after_level" | "deviation" | "size" | "relative_size"> & {
  trace: Pick<Trace, "unit">;
};

/** "12.3 ms → 15.1 ms, +22.8 %, 6.4 σ": the local levels, their difference, and its size in deviations. */
export function comparisonText(finding: Compared): string {
  const { before_level: before, after_level: after, relative_size: relative } = finding;
  const size =
    relative === null
      ? ""
      : relative >= COMPARED_RATIO_FROM
        ? `${ratioText(1 + relative)}×`
        : signedPercentText(relative);
  const sizes = [size, deviationsText(sizeInDeviations(finding))].map((text) => text.replaceAll(" ", "\u00a0"));
  return [levelsText(before, after, finding.trace.unit), ...sizes].filter(Boolean).join(", ");
}

type Measured = Pick<Finding, "before_level" | "low" | "high" | "sign"> & { trace: Pick<Trace, "unit"> };

/** "+20.9 % to +24.7 %": between what the change lies with 95 %; "" where that is unknown or exact. */
export function intervalText({ before_level: before, low, high, trace }: Measured): string {
  if (low === null || high === null || low === high) return "";
  const text = (end: number): string =>
    before === 0
      ? `${end < 0 ? "−" : ""}${valueText(Math.abs(end), trace.unit)}`
      : signedPercentText(end / Math.abs(before));
  return `${text(low)} to ${text(high)}`;
}

/** What a drift is compared with: "the best level before it", "the level before 2026-05-31", "the level at v1.2". */
function referenceText(reference: string): string {
  if (reference === "best") return "the best level before it";
  return /^\d{4}-\d{2}-\d{2}$/.test(reference) ? `the level before ${reference}` : `the level at ${reference}`;
}

/** "4.2 % above the level at v1.2": how far a drift lies from what its alert compares it with; "" for its start. */
export function overText({ reference, over_reference: over }: Pick<Finding, "reference" | "over_reference">): string {
  if (!reference || over === null) return "";
  return `${percentText(Math.abs(over))} ${over < 0 ? "below" : "above"} ${referenceText(reference)}`;
}

/** A chance from which on more digits say nothing. */
const ALMOST_CERTAIN = 0.9995;

/** "The 95 % interval is +20.9 % to +24.7 %; the probability that its sign is right is 99.2 %."; "" where that is unknown. */
export function certaintyText(finding: Measured): string {
  const text = intervalText(finding);
  if (!text) return "";
  const { sign } = finding;
  if (sign === null) return `The 95 % interval is ${text}.`;
  const chance = sign > ALMOST_CERTAIN ? "more than 99.9 %" : `${(sign * 100).toFixed(1)} %`;
  return `The 95 % interval is ${text}; the probability that its sign is right is ${chance}.`;
}

/** Why a finding is a change, in one plain sentence before the numbers. */
export function whyText(finding: Finding): string {
  const { before_level: before, after_level: after, kind, trace } = finding;
  const scatter = sizeInDeviations(finding);
  const levels = `from about ${valueText(before, trace.unit)} to about ${valueText(after, trace.unit)}`;
  const moved = { step: "jumped", drift: "moved slowly", mode: "shifted", noise: "changed their scatter" }[kind];
  const far =
    scatter === undefined
      ? "although they did not vary before"
      : scatter < 1
        ? "less than the usual distance between two values, but it lasts"
        : `${scatter > MAX_DEVIATIONS ? `more than ${MAX_DEVIATIONS}` : scatter.toFixed(scatter < 9.95 ? 1 : 0)} times their usual scatter`;
  const rest = kind === "noise" ? `: ${changeText(finding)}` : ` ${levels}: ${changeText(finding)}, ${far}`;
  return `The values ${moved}${rest}.`;
}

/** The hazard level with its sign; "–" if there is none. */
export function hazardNumber(hazard: number | null): string {
  if (hazard === null) return "–";
  return `${hazard > 0 ? "+" : hazard < 0 ? "−" : ""}${Math.abs(hazard).toFixed(hazard === 0 ? 0 : 3)}`;
}

/** "largest +0.405", where another trace than the lead has the largest hazard level of a commit; else "". */
export function largestHazardText(largest: number | null, ofLead: number | null): string {
  const text = hazardNumber(largest);
  return text === hazardNumber(ofLead) ? "" : `largest ${text}`;
}

/** "hazard −0.113". */
export function hazardText(hazard: number | null): string {
  return hazard === null ? "no hazard level" : `hazard ${hazardNumber(hazard)}`;
}

const directionWord: Record<Direction, string> = {
  regression: "worse",
  improvement: "better",
  unknown: "changed",
};

/** Texts that say by themselves whether a change is bad: "slower" does, "larger" does not. */
const SAYS_BOTH = /slower.*faster|faster.*slower/;
const SAYS_DIRECTION = /slower|faster|worse|better|nois|× the (time|rate)/;

/** "0.5 % larger, worse": a size with the word for its direction, where the size does not say it. */
export function directedText(text: string, direction: ChangeDirection): string {
  if (direction === "mixed") return SAYS_BOTH.test(text) ? text : `${text}, mixed`;
  return direction === "unknown" || SAYS_DIRECTION.test(text) ? text : `${text}, ${directionWord[direction]}`;
}

/** Where the values went at a change. */
export function arrowOf({ size }: Pick<Finding, "size">): string {
  return size > 0 ? "▲" : "▼";
}

/** The commit that a page names for a change: the likely one, else the first one that was measured with the new level. */
export function causeOf(change: Pick<Change, "commit"> & { statement: Statement | null | undefined }): Commit {
  return change.statement?.likely?.commit ?? change.commit;
}

/** Why that commit is named: "found by bisection", "only commit", "likely, 37 %, one of 5 commits"; else "one of 5 commits". */
export function causeText(statement: Statement | null | undefined, suspects: number): string {
  const likely = statement?.likely;
  const range = suspects > 1 ? countText(suspects, "commit") : "";
  if (likely?.basis === "bisected") return `found by bisection${range && ` among ${range}`}`;
  const basis = likely ? (likely.basis === "only" ? "only commit" : `likely, ${percentText(likely.probability)}`) : "";
  return [basis, range && `one of ${range}`].filter(Boolean).join(", ");
}

/** Counts of changes: "5 regressions, 4 improvements, 1 mixed". */
export function changeCountsText(counts: Partial<Record<ChangeDirection, number>>): string {
  const text = (direction: ChangeDirection, words: (number: number) => string): string[] => {
    const number = counts[direction] ?? 0;
    return number > 0 ? [words(number)] : [];
  };
  return [
    ...text("regression", (number) => countText(number, "regression")),
    ...text("improvement", (number) => countText(number, "improvement")),
    ...text("mixed", (number) => `${grouped(number)} mixed`),
    ...text("unknown", (number) => `${grouped(number)} of unknown direction`),
  ].join(", ");
}

export const statusWord: Record<Status, string> = {
  new: "unprocessed",
  acknowledged: "acknowledged",
  hidden: "hidden",
  ticket: "ticket",
};

/** The status of a finding as the page shows it: a finding that is gone or history says so first. */
export function standingText(finding: Pick<Finding, "condition" | "history" | "status">): string {
  const { condition, history, status } = finding;
  if (condition === "gone") return "gone";
  if (!history) return statusWord[status];
  return status === "new" ? "history" : `${statusWord[status]}, history`;
}

/** The status that a person set: `new` if only a matching ticket makes it `ticket`. */
export function decidedStatus(finding: Pick<Finding, "status" | "ticket">): Status {
  return finding.status === "ticket" && !finding.ticket ? "new" : finding.status;
}

/** What a decision did, for the message after it. */
export const statusDone: Record<Status, string> = {
  new: "Put back",
  acknowledged: "Acknowledged",
  hidden: "Hid",
  ticket: "Linked a ticket to",
};

export function betterText(better: Better): string {
  return better === "unknown" ? "" : `${better} is better`;
}
