/** Bisections in words, and the places of their probes on a plot. */

import type { Bisection, BisectionDetail, BisectionStanding, Probe } from "../api/client";
import { countText } from "./numbers";
import { valueText } from "./units";

const STATES: Record<Bisection["state"], string> = {
  waiting: "Waiting",
  running: "Running",
  culprit: "Commit found",
  range: "Smaller range found",
  "not reproducible": "Not reproducible",
  "gave up": "Gave up",
  stopped: "Stopped",
};

export function stateText({ state, stopping, culprits }: Pick<Bisection, "state" | "stopping" | "culprits">): string {
  if (stopping) return "Stopping";
  return state === "range" && culprits.length > 1 ? "Several commits found" : STATES[state];
}

/** The state in lists, in a word or three. */
const STANDINGS: Record<BisectionStanding["state"], string> = {
  waiting: "search waits",
  running: "searching",
  culprit: "commit found",
  range: "range found",
  "not reproducible": "not reproducible",
  "gave up": "search gave up",
  stopped: "search stopped",
};

export function standingWord({ state, stopping, culprits }: BisectionStanding): string {
  if (stopping) return "search stops";
  return state === "range" && culprits.length > 1 ? `${culprits.length} commits found` : STANDINGS[state];
}

/** The state in one line, with what was found. */
export function standingTitle(standing: BisectionStanding): string {
  const { id, culprits, probability } = standing;
  const found = culprits.map(({ short, subject }) => `${short} ${subject}`).join(", ");
  return `Bisection ${id}: ${standingWord(standing)}${found ? `: ${found}, with a probability of ${certaintyText(probability)}` : ""}`;
}

export function hasEnded({ state }: Pick<Bisection, "state">): boolean {
  return state !== "waiting" && state !== "running";
}

/** What happens now, or what came of it, in one sentence. */
export function summaryText(found: BisectionDetail): string {
  const [culprit] = found.culprits;
  switch (found.state) {
    case "waiting":
      return found.queue > 0
        ? `${countText(found.queue, "bisection")} ${found.queue === 1 ? "goes" : "go"} first.`
        : "It begins as soon as a worker is free.";
    case "running":
      return `${countText(found.probes, "probe")} done${found.seconds_left === null ? "" : `, about ${durationText(found.seconds_left)} left`}.`;
    case "culprit":
      return culprit
        ? `${culprit.short} made the change, with a probability of ${certaintyText(found.probability)}.`
        : sentence(found.reason);
    case "range":
      return found.culprits.length > 1
        ? `Each of ${found.culprits.map(({ short }) => short).join(", ")} made a change, with a probability of ${certaintyText(found.probability)}.`
        : sentence(found.reason);
    case "not reproducible":
      return "The first and the last commit of the range do not differ when they are measured again. The machine may have changed, and not the code.";
    case "gave up":
      return found.reason ? sentence(found.reason) : "No commit was found.";
    default:
      return found.reason || "No commit was found.";
  }
}

/** Reasons are parts of a sentence: a log has them behind a colon. */
function sentence(reason: string): string {
  return `${reason.charAt(0).toUpperCase()}${reason.slice(1)}.`;
}

/** A probability in percent that never claims to be certain. */
export function certaintyText(probability: number): string {
  return probability >= 0.995 ? "more than 99 %" : `${(probability * 100).toFixed(1).replace(".0", "")} %`;
}

/** A time in the largest unit that fits: "40 s", "12 min", "3.5 h". */
export function durationText(seconds: number): string {
  if (seconds < 60) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return `${(seconds / 3600).toFixed(1).replace(/\.0$/, "")} h`;
}

/** A probe on the plot: percent from the left, and from the top; skipped ones have no value and lie at the bottom. */
export interface ProbeDot {
  probe: Probe;
  x: number;
  y: number;
  /** Counts the devices, in the order of their names. */
  device: number;
  valueless: boolean;
}

/** Where the ended probes lie: places from left to right, values from bottom to top. */
export function probeDots(found: Pick<BisectionDetail, "candidates" | "probe_list">): ProbeDot[] {
  const ended = found.probe_list.filter((probe) => probe.outcome !== null && probe.outcome !== "lost");
  const devices = devicesOf(found);
  const values = ended.map(valueOf).filter((value) => value !== undefined);
  const low = Math.min(...values);
  const high = Math.max(...values);
  return ended.map((probe) => {
    const value = valueOf(probe);
    const share = value === undefined || high === low ? 0.5 : (value - low) / (high - low);
    return {
      probe,
      x: centre(probe.place, found.candidates.length),
      y: value === undefined ? 92 : 76 - share * 66,
      device: devices.indexOf(probe.device),
      valueless: value === undefined,
    };
  });
}

/** The lowest and the highest value of the dots with their heights; none where probes pass or fail. */
export function valueMarks(dots: readonly ProbeDot[]): { value: number; y: number }[] {
  const measured = dots
    .flatMap(({ probe, y }) => (probe.value === null ? [] : [{ value: probe.value, y }]))
    .sort((left, right) => left.value - right.value);
  const [low] = measured;
  const high = measured.at(-1);
  if (!low || !high) return [];
  return low.value === high.value ? [low] : [low, high];
}

/** The middle of a place, in percent of the width. */
export function centre(place: number, places: number): number {
  return ((place + 0.5) / Math.max(places, 1)) * 100;
}

export function devicesOf({ probe_list }: Pick<BisectionDetail, "probe_list">): string[] {
  return [...new Set(probe_list.filter((probe) => probe.outcome !== null).map((probe) => probe.device))].sort();
}

/** The value of a probe; one that failed lies above one that passed. */
function valueOf({ outcome, value }: Probe): number | undefined {
  if (outcome === "passed") return 0;
  if (outcome === "failed") return 1;
  return value ?? undefined;
}

export function probeText({ outcome, value, reason }: Probe, unit: string): string {
  if (outcome === null) return "under way";
  if (value !== null) return valueText(value, unit);
  return reason ? `${outcome}: ${reason}` : outcome;
}
