/** The search of a bisection once more: what was measured, in which order, and how the range shrank. */

import type { BisectionDetail, Probe } from "../api/client";
import { countText } from "./numbers";

export interface ReplayStep {
  /** None at the start, before the first probe. */
  probe: Probe | undefined;
  /** Places of the last measured commit before the change and of the first with it. */
  range: readonly [number, number];
  /** What the search made of the result, as its log has it: "13 of 25 commits left, 94ce167bdc 16.2 %". */
  standing: string;
}

type Searched = Pick<BisectionDetail, "candidates" | "culprits" | "probe_list" | "log">;

/** A line of the log about a result: the commit, the device, and what the search knew then. */
const RESULT = /^([0-9a-f]{10}) on (.+?): .*\. Now (.+)\.$/s;

/** The start, then one step for each result, in the order of the results. */
export function replaySteps(found: Searched): ReplayStep[] {
  const ended = found.probe_list
    .filter(({ outcome }) => outcome !== null && outcome !== "lost")
    .map((probe) => ({ probe, end: Date.parse(probe.started) + (probe.seconds ?? 0) * 1000 }))
    .sort((left, right) => left.end - right.end || left.probe.number - right.probe.number);
  const standings = standingsOf(found);
  const culprits = placesOf(found);
  let range: ReplayStep["range"] = [0, found.candidates.length - 1];
  return [
    { probe: undefined, range, standing: "" },
    ...ended.map(({ probe }) => {
      range = shrink(range, probe, culprits);
      return { probe, range, standing: standings(found.candidates[probe.place]?.commit.hash ?? "", probe.device) };
    }),
  ];
}

/** How many commits a step leaves, in the words of the log where it has them. */
export function leftText({ range: [before, after], standing }: ReplayStep): string {
  return standing || `${countText(after - before, "commit")} left`;
}

/** The commits that were found, by place; none where the search found none. */
function placesOf({ candidates, culprits }: Searched): number[] {
  const hashes = new Set(culprits.map(({ hash }) => hash));
  return candidates.flatMap(({ commit }, place) => (hashes.has(commit.hash) ? [place] : []));
}

function shrink(range: ReplayStep["range"], { place, outcome }: Probe, culprits: readonly number[]) {
  const [before, after] = range;
  if (culprits.length === 0 || outcome === "skipped") return range;
  if (place < Math.min(...culprits)) return [Math.max(before, place), after] as const;
  return place >= Math.max(...culprits) ? ([before, Math.min(after, place)] as const) : range;
}

/** Read the log: each line about a result belongs to the next probe of its commit on its device. */
function standingsOf({ log }: Searched): (hash: string, device: string) => string {
  const lines = log.flatMap(({ text }) => {
    const [, commit, device, standing] = RESULT.exec(text) ?? [];
    return commit && device && standing ? [{ key: `${commit} ${device}`, standing }] : [];
  });
  return (hash, device) => {
    const at = lines.findIndex(({ key }) => key === `${hash.slice(0, 10)} ${device}`);
    return at < 0 ? "" : (lines.splice(at, 1)[0]?.standing ?? "");
  };
}
