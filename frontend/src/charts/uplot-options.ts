/** Tell uPlot what to draw: scales, axes, one series a line. */

import uPlot from "uplot";
import { axisTexts, day } from "../text/units";
import {
  axisName,
  axisOf,
  axisUnits,
  baseOf,
  boundsOf,
  canBeLogarithmic,
  type ChartLine,
  type ChartView,
} from "./chart-data";
import type { Palette } from "./palette";

export const STRIP = 26;
const DOTS_FROM = 2;
const ROOMY = 6;
const INCREMENTS = [1, 2, 5]
  .flatMap((step) => [0, 1, 2, 3, 4, 5, 6].map((power) => step * 10 ** power))
  .sort((a, b) => a - b);

/** The values of all lines side by side, as they are shown. */
export function tableOf(view: ChartView): uPlot.AlignedData {
  if (view.lines.length === 0) return [[], []];
  const tables = view.lines.map((line): uPlot.AlignedData => {
    const base = baseOf(view, line);
    return [Array.from(line.positions), Array.from(line.values, (value) => value / base)];
  });
  return uPlot.join(tables);
}

/** The space between neighbouring values in pixels. */
export function spacing(plot: uPlot): number {
  const { min = 0, max = 1 } = plot.scales.x ?? {};
  const inside = plot.data[0].filter((position) => position >= min && position <= max).length;
  return plot.bbox.width / devicePixelRatio / Math.max(inside, 1);
}

export function optionsOf(
  view: ChartView,
  colours: Palette,
  box: HTMLElement,
  hooks: uPlot.Hooks.Arrays,
): uPlot.Options {
  const units = axisUnits(view.lines, view.scale);
  const single = view.lines.length <= 1;
  const room = box.clientWidth / Math.max(1, ...view.lines.map((line) => inside(view, line)));
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
      x: { time: false, range: () => [boundsOf(view).min, boundsOf(view).max] },
      ...Object.fromEntries(units.map((_, index) => [axisName(index), scaleOf(view, units, index)])),
    },
    axes: axesOf(view, colours, units),
    series: [
      {},
      ...(view.lines.length === 0 ? [{}] : []),
      ...view.lines.map((line, index) => seriesOf(line, index, { units, colours, single, room })),
    ],
    hooks,
  };
}

function own(view: ChartView, units: readonly string[], index: number): ChartLine[] {
  return view.lines.filter((line) => view.scale === "ratio" || axisOf(line, units) === index);
}

function isLogarithmic(view: ChartView, units: readonly string[], index: number): boolean {
  return view.scale === "log" && canBeLogarithmic(own(view, units, index));
}

function scaleOf(view: ChartView, units: readonly string[], index: number): uPlot.Scale {
  const logarithmic = isLogarithmic(view, units, index);
  return {
    distr: logarithmic ? 3 : 1,
    range: (plot, low, high) => valueRange(view, plot, { low, high, logarithmic }),
  };
}

function axesOf(view: ChartView, colours: Palette, units: readonly string[]): uPlot.Axis[] {
  const common = {
    stroke: colours.faint,
    font: "12px system-ui, sans-serif",
    ticks: { stroke: colours.grid, size: 4 },
  };
  const across: uPlot.Axis = {
    ...common,
    grid: { stroke: colours.grid, width: 1 },
    space: 96,
    size: 32,
    incrs: INCREMENTS,
    values: (_, splits) => dateLabels(view.times, splits),
  };
  const up = units.map((unit, index): uPlot.Axis => ({
    ...common,
    scale: axisName(index),
    side: index === 0 ? 3 : 1,
    grid: index === 0 ? { stroke: colours.grid, width: 1 } : { show: false },
    stroke: units.length > 1 ? axisColour(view, colours, units, index) : colours.faint,
    space: 44,
    size: (_, labels: string[] | null) => 20 + Math.max(40, ...(labels ?? []).map((label) => label.length * 7)),
    values: (_, splits: (number | null)[]) => axisTexts(splits, unit, isLogarithmic(view, units, index)),
  }));
  return [across, ...up];
}

/** The colour of the line where an axis has one only. */
function axisColour(view: ChartView, colours: Palette, units: readonly string[], index: number): string {
  const lines = own(view, units, index);
  const [line] = lines;
  return line && lines.length === 1 ? lineColour(colours, view.lines.indexOf(line)) : colours.faint;
}

function lineColour(colours: Palette, index: number): string {
  return colours.series[index % colours.series.length] ?? colours.dot;
}

interface Look {
  units: readonly string[];
  colours: Palette;
  single: boolean;
  room: number;
}

function seriesOf(line: ChartLine, index: number, { units, colours, single, room }: Look): uPlot.Series {
  const colour = lineColour(colours, index);
  return {
    scale: axisName(axisOf(line, units)),
    stroke: single ? colours.trail : colour,
    width: single ? 1 : 1.5,
    spanGaps: true,
    points: {
      show: (plot: uPlot) => spacing(plot) > DOTS_FROM,
      size: single && room > ROOMY ? 5 : room > ROOMY ? 4 : 3,
      width: 0,
      fill: single ? colours.dot : colour,
      stroke: single ? colours.dot : colour,
    },
  };
}

function inside(view: ChartView, line: ChartLine): number {
  const { min, max } = boundsOf(view);
  return line.positions.filter((position) => position >= min && position <= max).length;
}

function valueRange(
  view: ChartView,
  plot: uPlot,
  { low, high, logarithmic }: { low: number; high: number; logarithmic: boolean },
): uPlot.Range.MinMax {
  if (!Number.isFinite(low) || !Number.isFinite(high)) return [0, 1];
  if (logarithmic) return uPlot.rangeLog(low, Math.max(high, low), 10, false);
  if (view.scale === "zero")
    return uPlot.rangeNum(Math.min(0, low), Math.max(0, high), {
      min: { pad: 0.04, soft: 0, mode: 1 },
      max: { pad: 0.08, soft: 0, mode: 1 },
    });
  const { min = 0, max = 0 } = plot.scales.x ?? {};
  const base = view.lines[0] ? baseOf(view, view.lines[0]) : 1;
  for (const level of view.levels) {
    if (level.last < min || level.first > max) continue;
    low = Math.min(low, level.median / base);
    high = Math.max(high, level.median / base);
  }
  const span = high - low || Math.abs(high) * 0.1 || 1;
  const bottom = low - span * 0.1;
  return [low >= 0 ? Math.max(0, bottom) : bottom, high + span * 0.1];
}

/** The day of each tick; the time of day where the tick before has the same day. */
export function dateLabels(times: Float64Array, splits: readonly number[]): string[] {
  let before = "";
  return splits.map((split) => {
    const time = Number.isInteger(split) ? times[split] : undefined;
    if (time === undefined || Number.isNaN(time)) return "";
    const label = day(time);
    if (label !== before) {
      before = label;
      return label;
    }
    return new Date(time * 1000).toTimeString().slice(0, 5);
  });
}
