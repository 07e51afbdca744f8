/** Find what the pointer is on: a ticket, a quarantined value, a run without a value, or the nearest value of a line. */

import { lowerBound } from "../text/numbers";
import type uPlot from "uplot";
import { FAILURE_OFFSET, TICKET_OFFSET } from "./annotations";
import {
  axisIndex,
  axisName,
  axisUnits,
  isCrowd,
  relativeBase,
  type ChartLine,
  type ChartView,
  type Hovered,
} from "./chart-data";
import { positionAxis } from "./position-axis";
import { spacing } from "./uplot-options";

/** The pointer may be this far from a value, in pixels; farther if the values are farther apart. */
const REACH_PIXELS = 40;

export function findHovered(view: ChartView, plot: uPlot): Hovered | undefined {
  const { left = -1, top = -1 } = plot.cursor;
  if (left < 0 || top < 0) return undefined;
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
  const { toX } = positionAxis(view);
  const height = plot.bbox.height / devicePixelRatio;
  if (!line || Math.abs(height - TICKET_OFFSET - top) > FAILURE_OFFSET) return undefined;
  const [nearest] = view.tickets
    .map(({ position }) => ({ position, distance: Math.abs(plot.valToPos(toX(position), "x") - left) }))
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
  const { toX } = positionAxis(view);
  if (!line) return undefined;
  const [nearest] = view.quarantined
    .map(({ position, value }) => {
      const across = plot.valToPos(toX(position), "x") - left;
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
  const { toX } = positionAxis(view);
  if (!line || top < plot.bbox.height / devicePixelRatio - 2 * FAILURE_OFFSET) return undefined;
  const [nearest] = view.failures
    .map(({ position }) => ({ position, distance: Math.abs(plot.valToPos(toX(position), "x") - left) }))
    .filter(({ distance }) => distance <= FAILURE_OFFSET)
    .sort((a, b) => a.distance - b.distance);
  return nearest && { line, position: nearest.position, value: NaN };
}

/** The nearest value: across the plot for a single line, by distance for several. */
function findValue(view: ChartView, plot: uPlot, left: number, top: number): Hovered | undefined {
  const axis = positionAxis(view);
  const units = axisUnits(view.lines, view.scale);
  const pointed = axis.toPosition(plot.posToVal(left, "x"));
  const single = view.lines.length === 1;
  let best: (Hovered & { distance: number }) | undefined;
  for (const line of view.lines) {
    const index = nearestIndex(line.positions, pointed);
    const [position, value] = [line.positions[index], line.values[index]];
    if (position === undefined || value === undefined) continue;
    const across = Math.abs(plot.valToPos(axis.toX(position), "x") - left);
    const height = plot.valToPos(value / relativeBase(view, line), axisName(axisIndex(line, units)));
    const distance = single ? across : Math.hypot(across, height - top);
    if (!best || distance < best.distance) best = { line, position, value, distance };
  }
  const reach = isCrowd(view.lines) ? REACH_PIXELS : Math.max(REACH_PIXELS, spacing(plot));
  return best && best.distance <= reach ? best : undefined;
}

/** The index of the position that is nearest to a place between positions. */
function nearestIndex(positions: Float64Array, place: number): number {
  const after = lowerBound(positions, place);
  const [left = -Infinity, right = Infinity] = [positions[after - 1], positions[after]];
  return place - left < right - place ? after - 1 : after;
}
