/** What a chart shows, and which of its axes a line belongs to. */

import type { Direction, Status } from "../api/client";
import type { Scale } from "../routes/routes";

export interface ChartLine {
  id: number;
  label: string;
  unit: string;
  positions: Float64Array;
  values: Float64Array;
}

export interface ChartLevel {
  first: number;
  last: number;
  median: number;
  minimum: number;
  maximum: number;
}

export interface ChartMark {
  id: number;
  previous: number;
  position: number;
  suspects: number;
  status: Status;
  direction: Direction;
  text: string;
  /** Later data no longer show it. */
  gone: boolean;
  /** It is no work. */
  history: boolean;
}

/** Something else that happened at a commit. */
export interface ChartNote {
  position: number;
}

/** A place that a method looked at. */
export interface ChartCandidate {
  position: number;
  accepted: boolean;
}

/** A commit at which something ran and gave no value. */
export interface ChartFailure {
  position: number;
  failed: boolean;
}

export interface ChartRange {
  first: number;
  last: number;
}

/** What the pointer is on, for the one who describes it. */
export interface Hovered {
  line: ChartLine;
  position: number;
  /** NaN where nothing was measured. */
  value: number;
}

export interface ChartView {
  lines: readonly ChartLine[];
  levels: readonly ChartLevel[];
  marks: readonly ChartMark[];
  notes: readonly ChartNote[];
  candidates: readonly ChartCandidate[];
  failures: readonly ChartFailure[];
  times: Float64Array;
  total: number;
  range: ChartRange | undefined;
  scale: Scale;
  pinned: number | undefined;
}

/** Units that get an axis of their own; with more of them there would be no room for the plot. */
export const MOST_AXES = 4;

/** The units of the axes, the first one on the left; one axis of percent where values are shown relative. */
export function axisUnits(lines: readonly ChartLine[], scale: Scale): string[] {
  if (scale === "ratio") return ["%"];
  const units = [...new Set(lines.map((line) => line.unit))];
  return units.length > 0 ? units : [""];
}

/** The axis that a line belongs to, as an index into the units. */
export function axisOf(line: ChartLine, units: readonly string[]): number {
  return Math.max(units.indexOf(line.unit), 0);
}

/** The name that the plot gives to an axis. */
export function axisName(index: number): string {
  return index === 0 ? "y" : `y${index + 1}`;
}

/** What a value is divided by where values are shown relative to the start of their line, in percent. */
export function baseOf(view: Pick<ChartView, "lines" | "levels" | "scale">, line: ChartLine): number {
  if (view.scale !== "ratio") return 1;
  const first = view.lines.length === 1 ? view.levels[0]?.median : undefined;
  const start = first ?? line.values[0] ?? 1;
  return Math.abs(start === 0 ? 1 : start) / 100;
}

/** The positions that the plot reaches over, with some room at both ends. */
export function boundsOf(view: Pick<ChartView, "lines" | "range" | "total">): { min: number; max: number } {
  const { lines, range, total } = view;
  const first = range?.first ?? lines.reduce((least, line) => Math.min(least, line.positions[0] ?? least), total);
  const last = range?.last ?? lines.reduce((most, line) => Math.max(most, line.positions.at(-1) ?? most), 0);
  const pad = Math.max(0.5, (last - first) * 0.012);
  return { min: Math.min(first, last) - pad, max: Math.max(first, last) + pad };
}

/** Whether the values of an axis can be shown on a logarithmic scale. */
export function canBeLogarithmic(lines: readonly ChartLine[]): boolean {
  return lines.some((line) => line.values.length > 0) && lines.every((line) => line.values.every((value) => value > 0));
}

const FAR_APART = 50;

/** Whether lines of one unit are so far apart that the lower ones look flat, and a logarithmic scale would help. */
export function areFarApart(lines: readonly Pick<ChartLine, "unit" | "values">[]): boolean {
  const sizes = new Map<string, number[]>();
  for (const { unit, values } of lines) {
    if (values.length === 0 || values.some((value) => value <= 0)) continue;
    sizes.set(unit, [...(sizes.get(unit) ?? []), values.reduce((sum, value) => sum + value, 0) / values.length]);
  }
  return [...sizes.values()].some((means) => Math.max(...means) > FAR_APART * Math.min(...means));
}
