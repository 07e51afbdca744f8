/** The search of a bisection once more: what was measured, in which order, and what was known after each result. */

import type { BisectionDetail, Probe } from "../api/client";
import { certaintyText } from "./bisections";
import { countText } from "./numbers";

type Searched = Pick<BisectionDetail, "candidates" | "probe_list">;

/** The probes that have a result, in the order of the results. */
export function replayedProbes({ probe_list }: Searched): Probe[] {
  return probe_list
    .filter(({ outcome }) => outcome !== null && outcome !== "lost")
    .map((probe) => ({ probe, end: Date.parse(probe.started) + (probe.seconds ?? 0) * 1000 }))
    .sort((left, right) => left.end - right.end || left.probe.number - right.probe.number)
    .map(({ probe }) => probe);
}

/** The commits that were left after a probe, all of them before the first one; "" where that was not kept. */
export function leftText(probe: Probe | undefined, { candidates }: Searched): string {
  const all = countText(candidates.length - 1, "commit");
  if (!probe) return `${all} left`;
  if (!probe.known) return "";
  const { left, probability } = probe.known;
  const [likeliest] = left;
  const certainty = certaintyText(probability ?? 0);
  if (likeliest === undefined) return `no change with ${certainty}`;
  return `${left.length} of ${all} left, ${candidates[likeliest]?.commit.short ?? ""} ${certainty}`;
}

/** The stretch that holds the commits that were left: from the place before the first one to the last one. */
export function leftRange(probe: Probe | undefined, { candidates }: Searched): readonly [number, number] | undefined {
  if (!probe) return [0, candidates.length - 1];
  const left = probe.known?.left ?? [];
  return left.length > 0 ? [Math.min(...left) - 1, Math.max(...left)] : undefined;
}
