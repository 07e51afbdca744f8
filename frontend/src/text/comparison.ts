/** The comparison of two commits in words, for the page and for a comment. */

import type { Comparison, JudgedBenchmark } from "../api/client";
import { countText, grouped, percentText, signedPercentText } from "./numbers";
import { traceText } from "./trace-names";
import { levelsText } from "./units";

type Verdict = JudgedBenchmark["verdict"];

const VERDICTS: readonly Verdict[] = ["regressed", "improved", "unstable", "unchanged", "no data"];

/** "2 regressed, 1 improved, 310 unchanged"; "nothing to compare" without traces. */
export function verdictCounts(counts: Comparison["counts"]): string {
  const parts = VERDICTS.flatMap((verdict) => {
    const count = counts[verdict] ?? 0;
    return count > 0 ? [`${grouped(count)} ${verdict === "no data" ? "without data" : verdict}`] : [];
  });
  return parts.join(", ") || "nothing to compare";
}

/** What the verdicts depend on, such as another machine; "" for nothing. */
export function conditionText({ condition, again }: Comparison): string {
  return again ? `${condition} Measure again.` : condition;
}

/** The short hash of a commit, or the name of a results file. */
export function sideName({ commit, file }: Comparison["base"]): string {
  return commit ? commit.short : file;
}

/** "+12.3 % (+11.2 to +13.4 %)"; "" where it is unknown. */
export function changeWithInterval({
  relative_size: size,
  low,
  high,
}: Pick<JudgedBenchmark, "relative_size" | "low" | "high">): string {
  if (size === null) return "";
  if (low === null || high === null) return signedPercentText(size);
  return `${signedPercentText(size)} (${signedPercentText(low).replace(" %", "")} to ${signedPercentText(high)})`;
}

/** Levels of both sides; "" where one is unknown. */
export function comparedLevels({ before, after, unit }: JudgedBenchmark): string {
  return before === null || after === null ? "" : levelsText(before, after, unit);
}

/** The smallest change that the comparison reliably detects: "from 2.1 %". */
export function detectableText({ detectable }: JudgedBenchmark): string {
  return detectable === null ? "" : `from ${percentText(detectable)}`;
}

/** "+3.20 % (+1.10 to +5.30 %), worse": the geometric mean; "" where nothing is known. */
export function meanText({ change, low, high, better }: Comparison["mean"]): string {
  if (change === null) return "";
  const isClear = low !== null && high !== null && (low > 0 || high < 0);
  const side = better !== "unknown" && isClear ? (change > 0 === (better === "lower") ? ", worse" : ", better") : "";
  return `${changeWithInterval({ relative_size: change, low, high })}${isClear ? side : ", no clear change"}`;
}

/** "from −4.10 % to +62.0 %": the range of the changes; "" for a single trace. */
export function rangeText({ least, most, traces }: Comparison["mean"]): string {
  return least === null || most === null || traces < 2
    ? ""
    : `from ${signedPercentText(least)} to ${signedPercentText(most)}`;
}

/** The command that builds and measures both commits again, in turns on one machine; "" where a side is a file. */
export function measureCommand({ base, head }: Comparison): string {
  return base.commit && head.commit ? `knick compare ${base.commit.short} ${head.commit.short} --recipe NAME` : "";
}

const MOST_ROWS = 50;

/** The comparison as Markdown for a comment, with what changed. */
export function markdownOf(found: Comparison, address: string): string {
  const { base, head, counts, traces } = found;
  const changed = traces.filter(
    ({ verdict, decides }) => decides && (verdict === "regressed" || verdict === "improved"),
  );
  const lines = [
    `**${verdictCounts(counts)}** from \`${sideName(base)}\` to \`${sideName(head)}\` ([details](${address}))`,
  ];
  const condition = conditionText(found);
  if (condition) lines.push("", `\`${condition.replaceAll("`", "'")}\``);
  if (changed.length > 0) {
    lines.push("", "| benchmark | verdict | change | before → after |", "|---|---|---|---|");
    for (const row of changed.slice(0, MOST_ROWS)) {
      const name = traceText(row.params).replaceAll("|", "\\|").replaceAll("`", "'");
      lines.push(`| \`${name}\` | ${row.verdict} | ${changeWithInterval(row)} | ${comparedLevels(row)} |`);
    }
  }
  const left = (counts.regressed ?? 0) + (counts.improved ?? 0) - Math.min(changed.length, MOST_ROWS);
  if (left > 0) lines.push("", `${countText(left, "more change")} in the details.`);
  return `${lines.join("\n")}\n`;
}
