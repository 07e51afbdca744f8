/** Mark the values that lie beyond the range of their axis: triangles at the edge of the plot, with their number. */

import type uPlot from "uplot";
import { axisIndex, axisName, axisUnits, positionBounds, relativeBase, type ChartView } from "./chart-data";
import type { Palette } from "./palette";
import { positionAxis } from "./position-axis";

/** Values nearer to each other than this, in pixels, share a triangle. */
const SHARED_PIXELS = 14;
const SIZE = 5;

export interface Beyond {
  /** The place of the triangle, in pixels from the left edge of the plot. */
  x: number;
  above: boolean;
  count: number;
}

/** Group places, in pixels, that are near each other; each group stands in its middle. */
export function grouped(places: readonly number[], above: boolean): Beyond[] {
  const groups: { from: number; to: number; count: number }[] = [];
  for (const place of [...places].sort((a, b) => a - b)) {
    const group = groups.at(-1);
    if (group && place - group.from < SHARED_PIXELS) {
      group.to = place;
      group.count++;
    } else {
      groups.push({ from: place, to: place, count: 1 });
    }
  }
  return groups.map(({ from, to, count }) => ({ x: (from + to) / 2, above, count }));
}

/** What lies beyond the edges of a plot. */
export function findBeyond(view: ChartView, plot: uPlot): Beyond[] {
  const units = axisUnits(view.lines, view.scale);
  const { min, max } = positionBounds(view);
  const { toX } = positionAxis(view);
  const above: number[] = [];
  const below: number[] = [];
  for (const line of view.lines) {
    const { min: lowest = -Infinity, max: highest = Infinity } = plot.scales[axisName(axisIndex(line, units))] ?? {};
    const base = relativeBase(view, line);
    const [least, greatest] = [lowest * base, highest * base];
    const { positions, values } = line;
    // A loop without calls: a plot of a thousand lines has hundreds of thousands of values.
    for (let index = 0; index < values.length; index++) {
      const value = values[index] ?? 0;
      if (value >= least && value <= greatest) continue;
      const position = positions[index] ?? 0;
      if (position < min || position > max) continue;
      const places = value > greatest ? above : value < least ? below : undefined;
      places?.push(plot.valToPos(toX(position), "x"));
    }
  }
  return [...grouped(above, true), ...grouped(below, false)];
}

export function drawBeyond(view: ChartView, plot: uPlot, colours: Palette): void {
  const { ctx: canvas, bbox } = plot;
  const ratio = devicePixelRatio;
  canvas.save();
  canvas.fillStyle = colours.ink;
  canvas.font = `${11 * ratio}px system-ui, sans-serif`;
  canvas.textBaseline = "middle";
  for (const { x, above, count } of findBeyond(view, plot)) {
    const centre = bbox.left + x * ratio;
    const edge = above ? bbox.top + ratio : bbox.top + bbox.height - ratio;
    const inwards = (above ? 1 : -1) * ratio;
    canvas.beginPath();
    canvas.moveTo(centre, edge);
    canvas.lineTo(centre - SIZE * ratio, edge + 1.5 * SIZE * inwards);
    canvas.lineTo(centre + SIZE * ratio, edge + 1.5 * SIZE * inwards);
    canvas.fill();
    if (count > 1) canvas.fillText(String(count), centre + (SIZE + 2) * ratio, edge + SIZE * inwards);
  }
  canvas.restore();
}
