/** The options and data of uPlot: scales, axes, one series for each line. */

import { lowerBound } from "../text/numbers";
import uPlot from "uplot";
import { clockText, dayText } from "../text/dates";
import { axisTexts } from "../text/units";
import {
  axisIndex,
  axisName,
  axisUnits,
  canUseLogScale,
  isCrowd,
  positionBounds,
  relativeBase,
  type ChartLine,
  type ChartView,
} from "./chart-data";
import { widenGaps, withGaps } from "./gaps";
import { SERIES_COLOURS, type Palette } from "./palette";
import { axisBounds, positionAxis } from "./position-axis";
import { valueRange } from "./value-range";

/** The height of the strip above the plot that holds the texts of changes, in pixels. */
export const STRIP = 26;
/** The room right of the plot: half the last date may stand there. */
const DATE_ROOM = 36;
/** With less space between values, in pixels, a line has no dots; with more than the second, larger ones. */
const MIN_DOT_SPACING = 2;
const LARGE_DOT_SPACING = 6;
/** Ticks stand at 1, 2 and 5 times powers of ten: positions are whole numbers. */
const INCREMENTS = [1, 2, 5]
  .flatMap((step) => [0, 1, 2, 3, 4, 5, 6].map((power) => step * 10 ** power))
  .sort((a, b) => a - b);
/** Distances of ticks on an axis of dates: minutes, hours, days, and about months and years. */
const SECONDS = [
  ...[1, 5, 15, 60, 180, 360, 720].map((minutes) => minutes * 60),
  ...[1, 2, 7, 14, 30, 61, 91, 182, 365, 730, 1826, 3652].map((days) => days * 86_400),
];

/** The values of all lines as a table over their joint positions: uPlot wants one array of x for all series. */
export function alignedData(view: ChartView): uPlot.AlignedData {
  if (isCrowd(view.lines)) return emptyData(view);
  if (view.lines.length === 0) return [[], []];
  const tables = view.lines.map((line): uPlot.AlignedData => {
    return withGaps(line.positions, line.values, relativeBase(view, line));
  });
  const [positions, ...series] = uPlot.join(tables);
  for (const values of series) widenGaps(values as (number | null | undefined)[]);
  const { toX } = positionAxis(view);
  return [Array.from(positions, toX), ...series];
}

/** A table without values: the axes are uPlot's, and the lines of a crowd are drawn over them. */
function emptyData(view: ChartView): uPlot.AlignedData {
  const { min, max } = axisBounds(view);
  return [[min, max], ...axisUnits(view.lines, view.scale).map(() => [null, null])];
}

/** The mean space between neighbouring values, in pixels. */
export function spacing(plot: uPlot): number {
  const { min = 0, max = 1 } = plot.scales.x ?? {};
  const positions = plot.data[0];
  const visible = lowerBound(positions, max) - lowerBound(positions, min);
  return plot.bbox.width / devicePixelRatio / Math.max(visible, 1);
}

/** Whether there is room for a dot at each value. */
export function showsDots(plot: uPlot): boolean {
  return spacing(plot) > MIN_DOT_SPACING;
}

export function uplotOptions(
  view: ChartView,
  colours: Palette,
  box: HTMLElement,
  hooks: uPlot.Hooks.Arrays,
): uPlot.Options {
  const units = axisUnits(view.lines, view.scale);
  const single = view.lines.length <= 1;
  const { min, max } = positionBounds(view);
  const countVisible = ({ positions }: ChartLine): number =>
    lowerBound(positions, max + 1) - lowerBound(positions, min);
  const mostVisible = view.lines.reduce((most, line) => Math.max(most, countVisible(line)), 1);
  const bounds = axisBounds(view);
  const style = { units, colours, single, largeDots: box.clientWidth / mostVisible > LARGE_DOT_SPACING };
  return {
    width: box.clientWidth || 800,
    height: box.clientHeight || 360,
    padding: [view.marks.length > 0 || single ? STRIP : 12, DATE_ROOM, 0, 0],
    legend: { show: false },
    cursor: {
      y: false,
      drag: { x: true, y: false, setScale: false },
      points: { size: 8, width: 2 },
      focus: { prox: 30 },
      ...(view.cursorGroup ? { sync: { key: view.cursorGroup, filters: { pub: isMovement } } } : {}),
    },
    focus: { alpha: single ? 1 : 0.25 },
    scales: {
      x: { time: false, range: () => [bounds.min, bounds.max] },
      ...Object.fromEntries(units.map((_, index) => [axisName(index), valueScale(view, units, index)])),
    },
    axes: [commitAxis(view, colours), ...units.map((unit, index) => valueAxis(view, colours, units, unit, index))],
    // The first series is x; uPlot wants a second one even without data.
    series: [
      {},
      ...(view.lines.length === 0 ? [{}] : []),
      ...(isCrowd(view.lines)
        ? units.map((_, index) => ({ scale: axisName(index) }))
        : view.lines.map((line, index) => seriesOptions(line, index, style))),
    ],
    hooks,
  };
}

/** Charts of one group share movements of the pointer; a drag is that of one chart. */
function isMovement(type: string): boolean {
  return type === "mousemove" || type === "mouseleave";
}

function linesOfAxis(view: ChartView, units: readonly string[], index: number): ChartLine[] {
  return view.lines.filter((line) => view.scale === "ratio" || axisIndex(line, units) === index);
}

function isLogarithmic(view: ChartView, units: readonly string[], index: number): boolean {
  return view.scale === "log" && canUseLogScale(linesOfAxis(view, units, index));
}

function valueScale(view: ChartView, units: readonly string[], index: number): uPlot.Scale {
  const logarithmic = isLogarithmic(view, units, index);
  const range = valueRange(view, linesOfAxis(view, units, index), logarithmic);
  return {
    distr: logarithmic ? 3 : 1,
    range: () => range,
  };
}

function axisStyle(colours: Palette) {
  return { stroke: colours.faint, font: "12px system-ui, sans-serif", ticks: { stroke: colours.grid, size: 4 } };
}

/** The labels show dates, also where commits are evenly spaced. */
function commitAxis(view: ChartView, colours: Palette): uPlot.Axis {
  return {
    ...axisStyle(colours),
    grid: { stroke: colours.grid, width: 1 },
    space: 96,
    size: 32,
    incrs: view.along === "dates" ? SECONDS : INCREMENTS,
    values: (_, splits) => (view.along === "dates" ? momentLabels(splits) : dateLabels(view.times, splits)),
  };
}

/** The first axis stands on the left and has the grid, the others stand on the right. */
function valueAxis(
  view: ChartView,
  colours: Palette,
  units: readonly string[],
  unit: string,
  index: number,
): uPlot.Axis {
  return {
    ...axisStyle(colours),
    scale: axisName(index),
    side: index === 0 ? 3 : 1,
    grid: index === 0 ? { stroke: colours.grid, width: 1 } : { show: false },
    stroke: units.length > 1 ? axisColour(view, colours, units, index) : colours.faint,
    space: 44,
    size: (_, labels: string[] | null) => 20 + Math.max(40, ...(labels ?? []).map((label) => label.length * 7)),
    values: (_, splits: (number | null)[]) => axisTexts(splits, unit, isLogarithmic(view, units, index)),
  };
}

/** An axis with a single line has its colour. */
function axisColour(view: ChartView, colours: Palette, units: readonly string[], index: number): string {
  const lines = linesOfAxis(view, units, index);
  const [line] = lines;
  return line && lines.length === 1 ? lineColour(colours, view.lines.indexOf(line)) : colours.faint;
}

export function lineColour(colours: Palette, index: number): string {
  return colours.series[index % colours.series.length] ?? colours.dot;
}

/** Strokes and gaps, in pixels: lines that share a colour differ in them. */
export const DASHES: readonly number[][] = [[], [8, 4], [2, 3], [10, 3, 2, 3]];

/** Which dashes a line has: the colours repeat with other ones. */
export function dashOf(index: number): number {
  return Math.floor(index / SERIES_COLOURS) % DASHES.length;
}

interface SeriesStyle {
  units: readonly string[];
  colours: Palette;
  /** Whether the plot has one line: then dots carry the values, and a faint line connects them. */
  single: boolean;
  largeDots: boolean;
}

function seriesOptions(line: ChartLine, index: number, style: SeriesStyle): uPlot.Series {
  const { units, colours, single, largeDots } = style;
  const colour = lineColour(colours, index);
  return {
    scale: axisName(axisIndex(line, units)),
    stroke: single ? colours.trail : colour,
    width: single ? 1 : 1.5,
    dash: DASHES[dashOf(index)] ?? [],
    spanGaps: false,
    points: {
      show: showsDots,
      size: single && largeDots ? 5 : largeDots ? 4 : 3,
      width: 0,
      fill: single ? colours.dot : colour,
      stroke: single ? colours.dot : colour,
    },
  };
}

/** The labels of moments in seconds: dates, or times of day where ticks are that near. */
export function momentLabels(splits: readonly number[]): string[] {
  return dateLabels(
    Float64Array.from(splits),
    splits.map((_, index) => index),
  );
}

/** The date of each tick; the time of day if the tick before has the same date. */
export function dateLabels(times: Float64Array, splits: readonly number[]): string[] {
  let previous = "";
  return splits.map((split) => {
    const time = Number.isInteger(split) ? times[split] : undefined;
    if (time === undefined || Number.isNaN(time)) return "";
    const label = dayText(time);
    if (label === previous) return clockText(time);
    previous = label;
    return label;
  });
}
