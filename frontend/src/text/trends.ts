/** The words for sums of traces. */

import type { Trend } from "../api/client";
import { countText, grouped, signedPercentText } from "./numbers";

/** Whether the interval of a sum excludes that nothing changed. */
export function isClear({ low, high }: Pick<Trend, "low" | "high">): boolean {
  return low !== null && high !== null && (low > 0 || high < 0);
}

type Summed = Pick<Trend, "change" | "low" | "high" | "better">;

/** "regression" where a sum clearly got worse, "improvement" where it got better, "" where that is not clear. */
export function trendDirection(trend: Summed): "regression" | "improvement" | "" {
  if (trend.better === "unknown" || !isClear(trend)) return "";
  return (trend.change ?? 0) > 0 === (trend.better === "lower") ? "regression" : "improvement";
}

/** "+6.9 %, worse", "no clear change", "too few values". */
export function trendText(trend: Summed): string {
  if (trend.change === null) return "too few values";
  if (!isClear(trend)) return "no clear change";
  const word = { regression: ", worse", improvement: ", better", "": "" }[trendDirection(trend)];
  return `${signedPercentText(trend.change)}${word}`;
}

/** "+6.0 % to +7.7 %": the 95 % interval. */
export function intervalText({ low, high }: Pick<Trend, "low" | "high">): string {
  return low === null || high === null ? "" : `${signedPercentText(low)} to ${signedPercentText(high)}`;
}

/** "40,000 traces, 1,520 read". */
export function tracesText({ traces, read }: Pick<Trend, "traces" | "read">): string {
  return read < traces ? `${countText(traces, "trace")}, ${grouped(read)} read` : countText(traces, "trace");
}
