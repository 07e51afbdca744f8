/** The options and data of uPlot: scales, axes, one series for each line. */

import uPlot from "uplot";
import { dayText } from "../text/dates";
import { axisTexts } from "../text/units";
import {
  axisIndex,
  axisName,
  axisUnits,
  canUseLogScale,
  positionBounds,
  relativeBase,
  type ChartLine,
  type ChartView,
} from "./chart-data";
import type { Palette } from "./palette";

/** The height of the strip above the plot that holds the texts of changes, in pixels. */
export const STRIP = 26;
/** With less space between values, in pixels, a line has no dots; with more than the second, larger ones. */
const MIN_DOT_SPACING = 2;
const LARGE_DOT_SPACING = 6;
/** Ticks stand at 1, 2 and 5 times powers of ten: positions are whole numbers. */
const INCREMENTS = [1, 2, 5]
  .flatMap((step) => [0, 1, 2, 3, 4, 5, 6].map((power) => step * 10 ** power))
  .sort((a, b) => a - b);

/** The values of all lines as a table over their joint positions: uPlot wants one array of x for all series. */
export function alignedData(view: ChartView): uPlot.AlignedData {
  if (view.lines.length === 0) return [[], []];
  const tables = view.lines.map((line): uPlot.AlignedData => {
    const base = relativeBase(view, line);
    return [Array.from(line.positions), Array.from(line.values, (value) => value / base)];
  });
  return uPlot.join(tables);
}

/** The mean space between neighbouring values, in pixels. */
export function spacing(plot: uPlot): number {
  const { min = 0, max = 1 } = plot.scales.x ?? {};
  const visible = plot.data[0].filter((position) => position >= min && position <= max).length;
  return plot.bbox.width / devicePixelRatio / Math.max(visible, 1);
}

export function uplotOptions(
  view: ChartView,
  colours: Palette,
  box: HTMLElement,
  hooks: uPlot.Hooks.Arrays,
): uPlot.Options {
  const units = axisUnits(view.lines, view.scale);
  const single = view.lines.length <= 1;
  const mostVisible = Math.max(1, ...view.lines.map((line) => visibleValues(view, line)));
  const style = { units, colours, single, largeDots: box.clientWidth / mostVisible > LARGE_DOT_SPACING };
  return {
    width: box.clientWidth || 800,
    height: box.clientHeight || 360,
    padding: [view.marks.length > 0 || single ? STRIP : 12, 16, 0, 0],
    legend: { show: false },
    cursor: {
      y: false,
      drag: { x: true, y: false, setScale: false },
      points: { size: 8, width: 2 },
      focus: { prox: 30 },
    },
    focus: { alpha: single ? 1 : 0.25 },
    scales: {
      x: { time: false, range: () => [positionBounds(view).min, positionBounds(view).max] },
      ...Object.fromEntries(units.map((_, index) => [axisName(index), valueScale(view, units, index)])),
    },
    axes: [positionAxis(view, colours), ...units.map((unit, index) => valueAxis(view, colours, units, unit, index))],
    // The first series is x; uPlot wants a second one even without data.
    series: [
      {},
      ...(view.lines.length === 0 ? [{}] : []),
      ...view.lines.map((line, index) => seriesOptions(line, index, style)),
    ],
    hooks,
  };
}

function linesOfAxis(view: ChartView, units: readonly string[], index: number): ChartLine[] {
  return view.lines.filter((line) => view.scale === "ratio" || axisIndex(line, units) === index);
}

function isLogarithmic(view: ChartView, units: readonly string[], index: number): boolean {
  return view.scale === "log" && canUseLogScale(linesOfAxis(view, units, index));
}

function valueScale(view: ChartView, units: readonly string[], index: number): uPlot.Scale {
  const logarithmic = isLogarithmic(view, units, index);
  return {
    distr: logarithmic ? 3 : 1,
    range: (_, low, high) => valueRange(view, { low, high, logarithmic }),
  };
}

function axisStyle(colours: Palette) {
  return { stroke: colours.faint, font: "12px system-ui, sans-serif", ticks: { stroke: colours.grid, size: 4 } };
}

/** Commits are evenly spaced; the labels show their dates. */
function positionAxis(view: ChartView, colours: Palette): uPlot.Axis {
  return {
    ...axisStyle(colours),
    grid: { stroke: colours.grid, width: 1 },
    space: 96,
    size: 32,
    incrs: INCREMENTS,
    values: (_, splits) => dateLabels(view.times, splits),
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

function lineColour(colours: Palette, index: number): string {
  return colours.series[index % colours.series.length] ?? colours.dot;
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
    spanGaps: true,
    points: {
      show: (plot: uPlot) => spacing(plot) > MIN_DOT_SPACING,
      size: single && largeDots ? 5 : largeDots ? 4 : 3,
      width: 0,
      fill: single ? colours.dot : colour,
      stroke: single ? colours.dot : colour,
    },
  };
}

function visibleValues(view: ChartView, line: ChartLine): number {
  const { min, max } = positionBounds(view);
  return line.positions.filter((position) => position >= min && position <= max).length;
}

/** The range of a value axis, given the least and greatest value of its lines that counts. */
function valueRange(view: ChartView, counted: { low: number; high: number; logarithmic: boolean }): uPlot.Range.MinMax {
  const { min, max } = positionBounds(view);
  const base = view.lines[0] ? relativeBase(view, view.lines[0]) : 1;
  // Quarantined values and those of probes belong to no line, and are drawn as well.
  const beside = [...view.quarantined, ...view.remeasured]
    .filter(({ position, value }) => value !== null && position >= min && position <= max)
    .map(({ value }) => (value ?? 0) / base);
  const low = Math.min(counted.low, ...beside);
  const high = Math.max(counted.high, ...beside);
  if (!Number.isFinite(low) || !Number.isFinite(high)) return [0, 1];
  if (counted.logarithmic) return uPlot.rangeLog(low, Math.max(high, low), 10, false);
  if (view.scale === "zero") {
    return uPlot.rangeNum(Math.min(0, low), Math.max(0, high), {
      min: { pad: 0.04, soft: 0, mode: 1 },
      max: { pad: 0.08, soft: 0, mode: 1 },
    });
  }
  // Keep the medians of the visible stable regions in the plot, even if all visible values are beside them.
  const medians = view.levels
    .filter((level) => level.last >= min && level.first <= max)
    .map((level) => level.median / base);
  const least = Math.min(low, ...medians);
  const greatest = Math.max(high, ...medians);
  // Values that do not vary get some room all the same; an axis of positive values never goes below zero.
  const span = greatest - least || Math.abs(greatest) * 0.1 || 1;
  const bottom = least - span * 0.1;
  return [least >= 0 ? Math.max(0, bottom) : bottom, greatest + span * 0.1];
}

/** The date of each tick; the time of day if the tick before has the same date. */
export function dateLabels(times: Float64Array, splits: readonly number[]): string[] {
  let previous = "";
  return splits.map((split) => {
    const time = Number.isInteger(split) ? times[split] : undefined;
    if (time === undefined || Number.isNaN(time)) return "";
    const label = dayText(time);
    if (label === previous) return new Date(time * 1000).toTimeString().slice(0, 5);
    previous = label;
    return label;
  });
}
