/** Draw what the size of a change is made of: the levels next to it, and the 95 % interval of the level after it. */

import { lowerBound } from "../text/numbers";
import type { ChartLevel, ChartMark } from "./chart-data";
import type { Palette } from "./palette";

/** Half the width of the ends of the bar, in pixels. */
const HALF_WIDTH = 4;
/** Values on each side whose medians are the levels of a change. */
const SIDE = 20;
/** A level is drawn beside the median of its region if it is so far from it, relative to the size of the change. */
const LEAST_DISTANCE = 0.1;

export interface IntervalPlace {
  canvas: CanvasRenderingContext2D;
  ratio: number;
  x: (position: number) => number;
  y: (value: number) => number;
}

/** A bar with ends at the first commit of the new level. */
export function drawInterval({ canvas, ratio, x, y }: IntervalPlace, mark: ChartMark, colours: Palette): void {
  if (!mark.interval || mark.gone) return;
  const centre = x(mark.position);
  const [bottom, top] = [y(mark.interval.low), y(mark.interval.high)];
  canvas.strokeStyle = mark.history ? colours.faint : colours.direction[mark.direction];
  canvas.lineWidth = 1.75 * ratio;
  canvas.beginPath();
  canvas.moveTo(centre, bottom);
  canvas.lineTo(centre, top);
  for (const end of [bottom, top]) {
    canvas.moveTo(centre - HALF_WIDTH * ratio, end);
    canvas.lineTo(centre + HALF_WIDTH * ratio, end);
  }
  canvas.stroke();
}

/** A level next to a change, along the values that it is the median of. */
export interface Side {
  first: number;
  last: number;
  level: number;
}

/** The levels next to a change that are not those of the stable regions there. */
export function sidesOf(
  mark: Pick<ChartMark, "previous" | "position" | "sides" | "gone">,
  positions: ArrayLike<number>,
  regions: readonly ChartLevel[],
): Side[] {
  const { previous, position, sides, gone } = mark;
  if (!sides || gone) return [];
  const at = lowerBound(positions, position);
  const least = LEAST_DISTANCE * Math.abs(sides.after - sides.before);
  const side = (level: number, place: number, first: number, last: number): Side[] => {
    const region = regions.find((each) => each.first <= place && place <= each.last);
    if (!region || Math.abs(region.median - level) < least) return [];
    return [{ level, first: Math.max(first, region.first), last: Math.min(last, region.last) }];
  };
  return [
    ...side(sides.before, previous, positions[Math.max(at - SIDE, 0)] ?? previous, previous),
    ...side(sides.after, position, position, positions[Math.min(at + SIDE, positions.length) - 1] ?? position),
  ];
}

export function drawSides(
  { canvas, ratio, x, y }: IntervalPlace,
  mark: ChartMark,
  colours: Palette,
  sides: Side[],
): void {
  canvas.strokeStyle = mark.history ? colours.faint : colours.direction[mark.direction];
  canvas.lineWidth = 1.75 * ratio;
  for (const { first, last, level } of sides) {
    canvas.beginPath();
    canvas.moveTo(x(first), y(level));
    canvas.lineTo(x(last), y(level));
    canvas.stroke();
  }
}
