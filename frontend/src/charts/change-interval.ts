/** Draw how well the size of a change is known: the 95 % interval of the level after it. */

import type { ChartMark } from "./chart-data";
import type { Palette } from "./palette";

/** Half the width of the ends of the bar, in pixels. */
const HALF_WIDTH = 4;

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
