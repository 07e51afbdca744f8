/** A table by params as a drawing: one param along the x axis, a line for each value of the other one. */

import type { Pivot } from "./pivot";
import { axisTexts, valueText } from "./units";

export interface ParamPoint {
  /** Where it stands, from 0 (left, bottom) to 1. */
  x: number;
  y: number;
  text: string;
}

export interface ParamTick {
  at: number;
  text: string;
}

export interface ParamPlot {
  lines: readonly { name: string; points: readonly ParamPoint[] }[];
  across: readonly ParamTick[];
  up: readonly ParamTick[];
  /** Whether the rows are numbers; between others there is nothing that a line could go through. */
  isOrdered: boolean;
}

/** From this ratio of the greatest number to the least one on, an axis is logarithmic. */
const WIDE = 20;
const STEPS = 5;

/** A place between 0 and 1 for each number of an axis. */
type Axis = (value: number) => number;

function isWide(low: number, high: number): boolean {
  return low > 0 && high / low >= WIDE;
}

function axisOf(low: number, high: number): Axis {
  if (isWide(low, high)) return (value) => Math.log(value / low) / Math.log(high / low);
  return (value) => (high > low ? (value - low) / (high - low) : 0.5);
}

function areNumbers(rows: readonly string[]): boolean {
  return rows.every((name) => name.trim() !== "" && Number.isFinite(Number(name)));
}

/** Rows that are all numbers stand where these are; others stand side by side in their order. */
function placesOf(rows: readonly string[]): ReadonlyMap<string, number> {
  const along = areNumbers(rows) ? rows.map(Number) : rows.map((_, index) => index);
  const place = axisOf(Math.min(...along), Math.max(...along));
  return new Map(rows.map((name, index) => [name, place(along[index] ?? 0)]));
}

/** Round numbers between two: powers of ten where these are far apart, else multiples of 1, 2 or 5. */
function ticksOf(low: number, high: number): number[] {
  if (isWide(low, high)) {
    const [first, last] = [Math.ceil(Math.log10(low)), Math.floor(Math.log10(high))];
    const every = Math.ceil((last - first + 1) / STEPS);
    return Array.from({ length: Math.ceil((last - first + 1) / every) }, (_, index) => 10 ** (first + index * every));
  }
  const rough = (high - low) / STEPS;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10);
  const first = Math.ceil(low / step);
  const count = Math.floor(high / step) - first + 1;
  return Array.from({ length: count }, (_, index) => (first + index) * step);
}

/** The drawing of a table; undefined where there is nothing to compare, or the values have several units. */
export function paramPlotOf(pivot: Pivot, columns: readonly string[]): ParamPlot | undefined {
  const { rows, cell } = pivot;
  const cells = columns.map((name) => ({
    name,
    points: rows.flatMap((row) => {
      const { mean, unit } = cell(row, name) ?? {};
      return mean === undefined || unit === undefined ? [] : [{ row, mean, unit }];
    }),
  }));
  const all = cells.flatMap(({ points }) => points);
  const unit = all[0]?.unit ?? "";
  if (new Set(all.map(({ row }) => row)).size < 2 || all.some((point) => point.unit !== unit)) return undefined;
  const means = all.map(({ mean }) => mean);
  const [least, high] = [Math.min(...means), Math.max(...means)];
  // Values near each other fill the height; others stand above 0, or on a logarithmic axis.
  const isNear = least > high / 2;
  const low = isWide(least, high) || isNear ? least : 0;
  const spare = isNear ? Math.max((high - low) / 10, high / 1000) : 0;
  const [bottom, top] = [low - spare, high + spare];
  const rise = axisOf(bottom, top);
  const places = placesOf(rows);
  const ticks = ticksOf(bottom, top);
  const texts = axisTexts(ticks, unit, isWide(bottom, top));
  return {
    lines: cells.map(({ name, points }) => ({
      name,
      points: points.map(({ row, mean }) => ({
        x: places.get(row) ?? 0,
        y: rise(mean),
        text: `${[row, name].filter(Boolean).join(", ")}: ${valueText(mean, unit)}`,
      })),
    })),
    isOrdered: areNumbers(rows),
    across: rows.map((row) => ({ at: places.get(row) ?? 0, text: row })),
    up: ticks.map((tick, index) => ({ at: rise(tick), text: texts[index] ?? "" })),
  };
}
