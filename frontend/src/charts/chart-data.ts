/** The data of a chart, and what follows from them: axes, scales, bounds. */

import type { Direction, Status } from "../api/client";
import type { Along, Scale } from "../routes/url";
import type { ChartLine, ChartRange } from "../state/plot/lines";

export type { ChartLine, ChartRange };

/** A stable region: its positions, its median, and the range of the middle 80 % of its values. */
export interface ChartLevel {
  first: number;
  last: number;
  median: number;
  low: number;
  high: number;
}

/** A drift: a straight line between two positions; it moves the level by `low` to `high` with 95 %. */
export interface ChartDrift {
  first: number;
  last: number;
  before: number;
  after: number;
  low: number | null;
  high: number | null;
}

/** A stretch that flips between `levels`, ascending; `texts` say the share of each, `cause` what explains them. */
export interface ChartModes {
  first: number;
  last: number;
  levels: readonly number[];
  texts: readonly string[];
  cause: string;
}

export interface ChartPatterns {
  drifts: readonly ChartDrift[];
  modes: readonly ChartModes[];
}

export const NO_PATTERNS: ChartPatterns = { drifts: [], modes: [] };

/** The 95 % interval of the level after a change. */
export interface ChartInterval {
  low: number;
  high: number;
}

/** A change, with the suspect range before it. */
export interface ChartMark {
  id: string;
  previous: number;
  position: number;
  suspects: number;
  status: Status;
  direction: Direction;
  text: string;
  /** The levels that its size is the difference of: medians of the values next to it. */
  sides: { before: number; after: number } | undefined;
  /** Undefined where there are too few values to tell. */
  interval: ChartInterval | undefined;
  /** Later data no longer show it. */
  gone: boolean;
  /** It lies before the history boundary. */
  history: boolean;
  /** A person marked it, because no alert found it. */
  missed?: boolean;
}

/** A finding on one of several lines. */
export interface ChartFinding {
  /** The id of the line. */
  line: number;
  position: number;
  status: Status;
}

/** A change of environment; `position` is the first commit in the new one. */
export interface ChartNote {
  position: number;
}

/** A position at which the method examined a change. */
export interface ChartCandidate {
  position: number;
  accepted: boolean;
}

/** A commit at which the benchmark ran and gave no value. */
export interface ChartFailure {
  position: number;
  failed: boolean;
}

/** A value that takes no part in levels. */
export interface ChartQuarantined {
  position: number;
  value: number | null;
}

/** A value that a probe of a bisection measured. */
export interface ChartRemeasured {
  position: number;
  value: number;
  /** Whether the point of its commit is the median of this value and others. */
  counts: boolean;
}

/** A ticket about a commit. */
export interface ChartTicket {
  position: number;
  open: boolean;
}

/** What the pointer is on. */
export interface Hovered {
  line: ChartLine;
  position: number;
  /** NaN for a run without a value. */
  value: number;
}

export interface ChartView {
  lines: readonly ChartLine[];
  levels: readonly ChartLevel[];
  patterns: ChartPatterns;
  marks: readonly ChartMark[];
  findings: readonly ChartFinding[];
  notes: readonly ChartNote[];
  candidates: readonly ChartCandidate[];
  failures: readonly ChartFailure[];
  quarantined: readonly ChartQuarantined[];
  remeasured: readonly ChartRemeasured[];
  tickets: readonly ChartTicket[];
  times: Float64Array;
  total: number;
  range: ChartRange | undefined;
  scale: Scale;
  /** Whether commits stand evenly or at their dates. */
  along: Along;
  pinned: number | undefined;
  cursorGroup: string;
}

/** The most axes; with more of them there is no room for the plot. */
export const MAX_AXES = 4;

/** With more lines than this, none can be followed in a legend: they are faint, and the one under the pointer stands out. */
export const MAX_FULL_LINES = 16;

export function isCrowd(lines: readonly ChartLine[]): boolean {
  return lines.length > MAX_FULL_LINES;
}

/** The units of the axes, the first one on the left. Relative values share one axis of percent. */
export function axisUnits(lines: readonly ChartLine[], scale: Scale): string[] {
  if (scale === "ratio") return ["%"];
  const units = [...new Set(lines.map((line) => line.unit))];
  return units.length > 0 ? units : [""];
}

/** The axis of a line, as an index into the units. */
export function axisIndex(line: ChartLine, units: readonly string[]): number {
  return Math.max(units.indexOf(line.unit), 0);
}

/** The name of an axis in uPlot. */
export function axisName(index: number): string {
  return index === 0 ? "y" : `y${index + 1}`;
}

/**
 * What values are divided by: 1, or 1 % of the start of their line if they are shown relative to it.
 *
 * A single trace starts with its first stable region, which is steadier than its first value.
 */
export function relativeBase(view: Pick<ChartView, "lines" | "levels" | "scale">, line: ChartLine): number {
  if (view.scale !== "ratio") return 1;
  const firstLevel = view.lines.length === 1 ? view.levels[0]?.median : undefined;
  const start = line.base ?? firstLevel ?? line.values[0] ?? 1;
  return Math.abs(start === 0 ? 1 : start) / 100;
}

/** The first and last position of the plot, of values and of quarantined ones, with some room at both ends. */
export function positionBounds(
  view: Pick<ChartView, "lines" | "range" | "total"> & Partial<Pick<ChartView, "along" | "quarantined">>,
): { min: number; max: number } {
  const { lines, range, total, quarantined = [] } = view;
  const beside = quarantined.map(({ position }) => position);
  const first =
    range?.first ??
    lines.reduce((minimum, line) => Math.min(minimum, line.positions[0] ?? minimum), Math.min(total, ...beside));
  const last =
    range?.last ??
    lines.reduce((maximum, line) => Math.max(maximum, line.positions.at(-1) ?? maximum), Math.max(0, ...beside));
  const margin = view.along === "dates" ? 0.5 : Math.max(0.5, (last - first) * 0.012);
  return { min: Math.min(first, last) - margin, max: Math.max(first, last) + margin };
}

/** Whether a logarithmic scale can show the values of an axis. */
export function canUseLogScale(lines: readonly ChartLine[]): boolean {
  return lines.some((line) => line.values.length > 0) && lines.every((line) => line.values.every((value) => value > 0));
}

/** A line whose mean is this much smaller than another looks flat beside it. */
const MAX_MEAN_RATIO = 50;

const differing = new WeakMap<object, boolean>();

/** Whether lines of one unit differ so much that a logarithmic scale would help; calculated once for an array of lines. */
export function differInMagnitude(lines: readonly Pick<ChartLine, "unit" | "values">[]): boolean {
  const known = differing.get(lines) ?? haveDistantMeans(lines);
  differing.set(lines, known);
  return known;
}

/** The least ratio of the largest value to the least one of which a fitted axis flattens most values. */
const WIDE = 30;

/** Whether the values of one line differ so much that a logarithmic scale shows more of them. */
export function spansMagnitudes([line, ...others]: readonly Pick<ChartLine, "unit" | "values">[]): boolean {
  if (!line || others.length > 0 || line.values.length < 3) return false;
  const known = spanning.get(line.values) ?? isWide(line.values);
  spanning.set(line.values, known);
  return known;
}

const spanning = new WeakMap<Float64Array, boolean>();

/** Single outliers do not count: the axis leaves them out. */
function isWide(values: Float64Array): boolean {
  const sorted = values.toSorted();
  const trimmed = Math.ceil(sorted.length / 20);
  const [low, high] = [sorted[trimmed] ?? 0, sorted[sorted.length - 1 - trimmed] ?? 0];
  return (sorted[0] ?? 0) > 0 && high / low >= WIDE;
}

function haveDistantMeans(lines: readonly Pick<ChartLine, "unit" | "values">[]): boolean {
  const meansByUnit = new Map<string, number[]>();
  for (const { unit, values } of lines) {
    if (values.length === 0 || values.some((value) => value <= 0)) continue;
    meansByUnit.set(unit, [
      ...(meansByUnit.get(unit) ?? []),
      values.reduce((sum, value) => sum + value, 0) / values.length,
    ]);
  }
  return [...meansByUnit.values()].some((means) => Math.max(...means) > MAX_MEAN_RATIO * Math.min(...means));
}
