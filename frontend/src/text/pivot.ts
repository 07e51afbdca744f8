/** A table of plotted lines by two of their params: what each cell is in the newest values, or how it changed. */

import { lowerBound } from "./numbers";

interface Line {
  unit: string;
  positions: Float64Array;
  values: Float64Array;
  base?: number | undefined;
  trace: { params: Record<string, string> } | undefined;
}

export interface Pivot {
  rows: readonly string[];
  columns: readonly string[];
  /** The cell of a row and a column; undefined where no line has values. */
  cell: (row: string, column: string) => PivotCell | undefined;
}

export interface PivotCell {
  lines: number;
  /** Geometric mean of the newest values; undefined where units differ or a value is not positive. */
  mean: number | undefined;
  unit: string;
  /** Geometric mean of the newest values over the first ones, or over those at the chosen commit, minus 1. */
  change: number | undefined;
}

/** The params in which lines differ. */
export function pivotParams(lines: readonly Line[]): string[] {
  const known = new Map<string, Set<string>>();
  for (const { trace } of lines) {
    for (const [name, value] of Object.entries(trace?.params ?? {})) {
      known.set(name, (known.get(name) ?? new Set()).add(value));
    }
  }
  return [...known].flatMap(([name, values]) => (values.size > 1 ? [name] : [])).sort();
}

/** Lines without one of the params are left out; with an empty name there is one row, or one column. */
export function pivotOf(lines: readonly Line[], row: string, column: string, last: number): Pivot {
  const groups = new Map<string, Line[]>();
  const [rows, columns] = [new Set<string>(), new Set<string>()];
  for (const line of lines) {
    const [down, across] = [row, column].map((name) => (name ? line.trace?.params[name] : ""));
    if (!line.trace || down === undefined || across === undefined || newest(line, last) === undefined) continue;
    rows.add(down);
    columns.add(across);
    const key = JSON.stringify([down, across]);
    groups.set(key, [...(groups.get(key) ?? []), line]);
  }
  return {
    rows: [...rows].sort(inOrder),
    columns: [...columns].sort(inOrder),
    cell: (down, across) => {
      const found = groups.get(JSON.stringify([down, across]));
      return found && cellOf(found, last);
    },
  };
}

function cellOf(lines: readonly Line[], last: number): PivotCell {
  const [first] = lines;
  const ends = lines.map((line) => newest(line, last) ?? NaN);
  const ratios = lines.map((line, index) => (ends[index] ?? NaN) / (line.base ?? line.values[0] ?? NaN));
  const isOneUnit = lines.every(({ unit }) => unit === first?.unit);
  const ratio = geometricMean(ratios);
  return {
    lines: lines.length,
    mean: isOneUnit ? geometricMean(ends) : undefined,
    unit: first?.unit ?? "",
    change: ratio && ratio - 1,
  };
}

function newest({ positions, values }: Line, last: number): number | undefined {
  return values[lowerBound(positions, last + 1) - 1];
}

function geometricMean(values: readonly number[]): number | undefined {
  const mean = Math.exp(values.reduce((sum, value) => sum + Math.log(value), 0) / values.length);
  return values.every((value) => value > 0) && Number.isFinite(mean) ? mean : undefined;
}

/** Numbers in names count as numbers: 64 comes before 128. */
const inOrder = new Intl.Collator("en", { numeric: true }).compare;
