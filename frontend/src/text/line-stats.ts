/** The numbers of a plotted line beside its name: newest value, change over the shown range, noise. */

import { lowerBound } from "./numbers";

interface Line {
  positions: Float64Array;
  values: Float64Array;
}

interface Range {
  first: number;
  last: number;
}

export interface LineStats {
  newest: number | undefined;
  /** The median of the last values over that of the first ones, less 1; undefined with too few of them. */
  change: number | undefined;
  /** The standard deviation of single values over their level, from differences of neighbours: steps do not count. */
  noise: number | undefined;
}

/** Values at each end of the range that its change compares. */
const END_VALUES = 5;
/** Fewer values say nothing about noise. */
const FEWEST = 6;
/** The standard deviation of normal values over the median of their absolute differences. */
const TO_DEVIATION = 1.4826 / Math.SQRT2;

function median(values: Iterable<number>): number {
  const sorted = Float64Array.from(values).sort();
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? NaN;
  return sorted.length % 2 ? upper : ((sorted[middle - 1] ?? NaN) + upper) / 2;
}

export function lineStats({ positions, values }: Line, range: Range | undefined): LineStats {
  const from = range ? lowerBound(positions, range.first) : 0;
  const to = range ? lowerBound(positions, Math.floor(range.last) + 1) : values.length;
  const shown = values.subarray(from, to).filter(Number.isFinite);
  const newest = shown.at(-1);
  if (shown.length < 2) return { newest, change: undefined, noise: undefined };
  const ends = Math.min(END_VALUES, shown.length >> 1);
  const before = median(shown.subarray(0, ends));
  const change = before ? (median(shown.subarray(-ends)) - before) / Math.abs(before) : undefined;
  const level = Math.abs(median(shown));
  if (shown.length < FEWEST || level === 0) return { newest, change, noise: undefined };
  const steps = shown.subarray(1).map((value, index) => Math.abs(value - (shown[index] ?? value)));
  return { newest, change, noise: (median(steps) * TO_DEVIATION) / level };
}

export type LegendColumn = "name" | "newest" | "change" | "noise";

/** The order of a legend: a column, and whether the largest comes first. */
export interface LegendOrder {
  by: LegendColumn;
  descending: boolean;
}

/** A press on a column: numbers begin with the largest, names with the first; the third press goes back. */
export function nextOrder(order: LegendOrder | undefined, by: LegendColumn): LegendOrder | undefined {
  const first = by !== "name";
  if (order?.by !== by) return { by, descending: first };
  return order.descending === first ? { by, descending: !first } : undefined;
}

interface Row {
  line: { label: string };
  stats: LineStats;
}

/** Lines in an order, what is unknown last; as they are plotted without one. */
export function orderLines<R extends Row>(rows: readonly R[], order: LegendOrder | undefined): readonly R[] {
  if (!order) return rows;
  const { by, descending } = order;
  const sign = descending ? -1 : 1;
  if (by === "name") return [...rows].sort((one, other) => sign * one.line.label.localeCompare(other.line.label));
  // The size of a change counts, whatever its side.
  const value = ({ stats }: R): number => (by === "change" ? Math.abs(stats.change ?? NaN) : (stats[by] ?? NaN));
  return [...rows].sort((one, other) => {
    const [left, right] = [value(one), value(other)];
    if (Number.isNaN(left) || Number.isNaN(right)) return Number(Number.isNaN(left)) - Number(Number.isNaN(right));
    return sign * (left - right);
  });
}
