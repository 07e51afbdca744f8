/** Which rows of one or more comparisons with the same base are listed, and in which order. */

import type { Comparison, JudgedBenchmark } from "../../api/client";
import type { CompareRoute } from "../../routes/compare";
import { traceText } from "../../text/trace-names";

/** A trace, and its verdict at each new revision; undefined where that has none. */
export interface ComparedRow {
  /** The first of `heads` that there is. */
  row: JudgedBenchmark;
  heads: readonly (JudgedBenchmark | undefined)[];
}

export const CHANGED: ReadonlySet<string> = new Set(["regressed", "improved"]);

export function rowKey({ trace, unit }: JudgedBenchmark): string {
  return `${trace} ${unit}`;
}

/** Join the rows of several comparisons by trace, in the order of the first comparison that has each. */
function joinRows(found: readonly Comparison[]): ComparedRow[] {
  const rows = new Map<string, (JudgedBenchmark | undefined)[]>();
  found.forEach(({ traces }, index) => {
    for (const row of traces) {
      const heads = rows.get(rowKey(row)) ?? found.map(() => undefined);
      heads[index] = row;
      rows.set(rowKey(row), heads);
    }
  });
  return [...rows.values()].flatMap((heads) => {
    const row = heads.find((each) => each !== undefined);
    return row ? [{ row, heads }] : [];
  });
}

type Sorted = Pick<CompareRoute, "sort" | "match" | "verdict" | "all">;

/** The rows of a page: those that its filters let through, worst first or in the order of a column. */
export function selectRows(found: readonly Comparison[], { sort, match, verdict, all }: Sorted): ComparedRow[] {
  const words = match.toLowerCase().split(/\s+/).filter(Boolean);
  const rows = joinRows(found).filter(({ row, heads }) => {
    const verdicts = heads.flatMap((each) => each?.verdict ?? []);
    if (verdict ? !verdicts.some((each) => each === verdict) : !all && !verdicts.some((each) => CHANGED.has(each)))
      return false;
    const text = traceText(row.params).toLowerCase();
    return words.every((word) => text.includes(word));
  });
  const by = sort.replace(/^-/, "");
  const value = valueOf(by);
  if (!value) return rows;
  const sign = sort.startsWith("-") ? -1 : 1;
  return rows
    .map((each) => ({ each, value: value(each) }))
    .sort((one, other) => sign * compareValues(one.value, other.value, sign))
    .map(({ each }) => each);
}

type Value = number | string | null | undefined;

function valueOf(by: string): ((row: ComparedRow) => Value) | undefined {
  if (by === "trace") return ({ row }) => traceText(row.params);
  if (by === "verdict") return ({ row }) => row.verdict;
  if (by === "before") return ({ row }) => row.before;
  if (by === "detectable") return ({ row }) => row.detectable;
  const head = /^change(\d)$/.exec(by)?.[1];
  return head === undefined ? undefined : ({ heads }) => heads[Number(head)]?.relative_size;
}

/** What is unknown comes last, whatever the direction. */
function compareValues(one: Value, other: Value, sign: number): number {
  if (one === null || one === undefined) return other === null || other === undefined ? 0 : sign;
  if (other === null || other === undefined) return -sign;
  return one < other ? -1 : one > other ? 1 : 0;
}
