/** Find what the pointer is on: a ticket, a quarantined value, a run without a value, or the nearest value of a line. */

import type uPlot from "uplot";
import { FAILURE_OFFSET, TICKET_OFFSET } from "./annotations";
import {
  axisIndex,
  axisName,
  axisUnits,
  relativeBase,
  type ChartLine,
  type ChartView,
  type Hovered,
} from "./chart-data";
import { spacing } from "./uplot-options";

/** The pointer may be this far from a value, in pixels; farther if the values are farther apart. */
const REACH_PIXELS = 40;
/** How many commits to each side are searched for a value of a line. */
const MAX_STEPS = 200;

export function findHovered(view: ChartView, plot: uPlot): Hovered | undefined {
  if (typeof plot.cursor.idx !== "number") return undefined;
  const { left = -1, top = -1 } = plot.cursor;
  return (
    findTicket(view, plot, left, top) ??
    findQuarantined(view, plot, left, top) ??
    findFailure(view, plot, left, top) ??
    findValue(view, plot, left, top)
  );
}

/** The vertical place of a value in pixels, on the axis of its line. */
export function valueToPixels(view: ChartView, plot: uPlot, line: ChartLine, value: number): number {
  const axis = axisName(axisIndex(line, axisUnits(view.lines, view.scale)));
  return plot.valToPos(value / relativeBase(view, line), axis);
}

/** The ticket whose mark is under the pointer, with the value of a single line there. */
function findTicket(view: ChartView, plot: uPlot, left: number, top: number): Hovered | undefined {
  const [line] = view.lines;
  const height = plot.bbox.height / devicePixelRatio;
  if (!line || Math.abs(height - TICKET_OFFSET - top) > FAILURE_OFFSET) return undefined;
  const [nearest] = view.tickets
    .map(({ position }) => ({ position, distance: Math.abs(plot.valToPos(position, "x") - left) }))
    .filter(({ distance }) => distance <= FAILURE_OFFSET)
    .sort((a, b) => a.distance - b.distance);
  if (!nearest) return undefined;
  const index = line.positions.indexOf(nearest.position);
  const value = view.lines.length === 1 ? line.values[index] : undefined;
  return { line, position: nearest.position, value: value ?? NaN };
}

/** The quarantined value under the pointer, with the value of the single line at its commit. */
function findQuarantined(view: ChartView, plot: uPlot, left: number, top: number): Hovered | undefined {
  const [line] = view.lines;
  if (!line) return undefined;
  const [nearest] = view.quarantined
    .map(({ position, value }) => {
      const across = plot.valToPos(position, "x") - left;
      const down = value === null ? Infinity : valueToPixels(view, plot, line, value) - top;
      return { position, distance: Math.hypot(across, down) };
    })
    .filter(({ distance }) => distance <= FAILURE_OFFSET)
    .sort((a, b) => a.distance - b.distance);
  if (!nearest) return undefined;
  return { line, position: nearest.position, value: line.values[line.positions.indexOf(nearest.position)] ?? NaN };
}

/** The run without a value whose mark at the foot of the plot is under the pointer. */
function findFailure(view: ChartView, plot: uPlot, left: number, top: number): Hovered | undefined {
  const [line] = view.lines;
  if (!line || top < plot.bbox.height / devicePixelRatio - 2 * FAILURE_OFFSET) return undefined;
  const [nearest] = view.failures
    .map(({ position }) => ({ position, distance: Math.abs(plot.valToPos(position, "x") - left) }))
    .filter(({ distance }) => distance <= FAILURE_OFFSET)
    .sort((a, b) => a.distance - b.distance);
  return nearest && { line, position: nearest.position, value: NaN };
}

/** The nearest value: across the plot for a single line, by distance for several. */
function findValue(view: ChartView, plot: uPlot, left: number, top: number): Hovered | undefined {
  const candidates = view.lines.flatMap((line, index) => {
    const nearest = nearestIndex(plot, index + 1, left);
    if (nearest === undefined) return [];
    const position = plot.data[0][nearest] ?? 0;
    const value = (plot.data[index + 1]?.[nearest] ?? 0) * relativeBase(view, line);
    const across = Math.abs(plot.valToPos(position, "x") - left);
    const down = Math.abs(valueToPixels(view, plot, line, value) - top);
    return [{ line, position, value, distance: view.lines.length === 1 ? across : Math.hypot(across, down) }];
  });
  const [first, ...others] = candidates;
  if (!first) return undefined;
  const best = others.reduce(
    (nearest, candidate) => (candidate.distance < nearest.distance ? candidate : nearest),
    first,
  );
  return best.distance <= Math.max(REACH_PIXELS, spacing(plot)) ? best : undefined;
}

/**
 * The index of the value of a series that is nearest to the pointer.
 *
 * All series share the positions of the plot, so a series has gaps where only others were measured. The search goes
 * outwards from the pointer until it meets a value.
 */
function nearestIndex(plot: uPlot, series: number, left: number): number | undefined {
  const middle = plot.cursor.idx ?? 0;
  const values = plot.data[series];
  const distance = (index: number): number => Math.abs(plot.valToPos(plot.data[0][index] ?? 0, "x") - left);
  for (let step = 0; step < MAX_STEPS; step++) {
    const measured = [middle - step, middle + step].filter((index) => typeof values?.[index] === "number");
    if (measured.length === 0) continue;
    return measured.reduce((best, index) => (distance(index) < distance(best) ? index : best));
  }
  return undefined;
}
