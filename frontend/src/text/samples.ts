/** What the value of a commit was made of, in words. */

import type { Run } from "../api/client";
import { countText } from "./numbers";

/** "median of 3 runs with 9 samples"; "" until the runs are loaded, and where none of their samples is kept. */
export function originText(runs: readonly Pick<Run, "value" | "samples">[]): string {
  const counted = runs.filter(({ value }) => value !== null);
  const samples = counted.reduce((sum, run) => sum + run.samples.length, 0);
  if (samples === 0) return "";
  if (counted.length > 1) return `median of ${countText(counted.length, "run")} with ${countText(samples, "sample")}`;
  return samples > 1 ? `median of ${countText(samples, "sample")}` : "one sample";
}
