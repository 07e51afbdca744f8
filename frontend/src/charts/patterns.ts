/** Draw what the values of a trace follow besides stable regions: drifts as slopes, modes as flat levels and shapes. */

import type { ChartDrift, ChartLevel, ChartModes, ChartPatterns } from "./chart-data";

/** The most modes with a colour and a shape of their own; further ones repeat them. */
export const MODE_KINDS = 4;
/** Half the size of the mark of a value, in pixels. */
const MARK = 3.5;
/** With more values on the plot, only the levels of modes are drawn: marks would cover each other. */
const MOST_MARKS = 1500;

/** Where and how to draw. */
export interface PatternDrawing {
  canvas: CanvasRenderingContext2D;
  ratio: number;
  x: (position: number) => number;
  y: (value: number) => number;
  slope: string;
  modes: readonly string[];
}

/** The regions that no pattern describes better: a flat level says nothing of a slope, nor of two levels. */
export function levelsBeside(levels: readonly ChartLevel[], { drifts, modes }: ChartPatterns): ChartLevel[] {
  const stretches = [...drifts, ...modes];
  return levels.filter(({ first, last }) =>
    stretches.every((each) => 2 * (Math.min(last, each.last) - Math.max(first, each.first) + 1) <= last - first + 1),
  );
}

/** The mode of a value: the nearest level. */
export function modeOf(value: number, levels: readonly number[]): number {
  return levels.reduce(
    (nearest, level, index) =>
      Math.abs(value - level) < Math.abs(value - (levels[nearest] ?? Infinity)) ? index : nearest,
    0,
  );
}

/** Draw the intervals of drifts, under the values: the wedge that the level may have gone. */
export function drawDriftIntervals({ canvas, x, y, slope }: PatternDrawing, drifts: readonly ChartDrift[]): void {
  canvas.save();
  canvas.fillStyle = slope;
  canvas.globalAlpha = 0.16;
  for (const { first, last, before, low, high } of drifts) {
    if (low === null || high === null) continue;
    canvas.beginPath();
    canvas.moveTo(x(first), y(before));
    canvas.lineTo(x(last), y(before + low));
    canvas.lineTo(x(last), y(before + high));
    canvas.closePath();
    canvas.fill();
  }
  canvas.restore();
}

/** Draw drifts, over the values. */
export function drawDrifts({ canvas, ratio, x, y, slope }: PatternDrawing, drifts: readonly ChartDrift[]): void {
  canvas.strokeStyle = slope;
  canvas.lineWidth = 2.5 * ratio;
  canvas.lineCap = "round";
  for (const { first, last, before, after } of drifts) {
    canvas.beginPath();
    canvas.moveTo(x(first), y(before));
    canvas.lineTo(x(last), y(after));
    canvas.stroke();
  }
}

/** Draw the level of each mode, and each value in the colour and the shape of its mode. */
export function drawModes(
  drawing: PatternDrawing,
  modes: readonly ChartModes[],
  positions: Float64Array,
  values: Float64Array,
): void {
  const { canvas, ratio, x, y } = drawing;
  const inside = modes.reduce(
    (sum, { first, last }) => sum + positions.filter((p) => p >= first && p <= last).length,
    0,
  );
  for (const { first, last, levels } of modes) {
    if (inside <= MOST_MARKS) {
      positions.forEach((position, index) => {
        const value = values[index];
        if (value === undefined || position < first || position > last) return;
        drawModeMark(drawing, modeOf(value, levels), x(position), y(value));
      });
    }
    levels.forEach((level, mode) => {
      canvas.strokeStyle = drawing.modes[mode % MODE_KINDS] ?? drawing.slope;
      canvas.lineWidth = 2 * ratio;
      canvas.lineCap = "butt";
      canvas.beginPath();
      canvas.moveTo(x(first), y(level));
      canvas.lineTo(x(last), y(level));
      canvas.stroke();
    });
  }
}

/** A disc, a square, a triangle or a cross: modes differ without their colours, too. */
function drawModeMark({ canvas, ratio, modes, slope }: PatternDrawing, mode: number, x: number, y: number): void {
  const size = MARK * ratio;
  canvas.fillStyle = canvas.strokeStyle = modes[mode % MODE_KINDS] ?? slope;
  canvas.lineWidth = 1.75 * ratio;
  canvas.beginPath();
  switch (mode % MODE_KINDS) {
    case 0:
      canvas.arc(x, y, size * 0.9, 0, 2 * Math.PI);
      break;
    case 1:
      canvas.rect(x - size * 0.85, y - size * 0.85, size * 1.7, size * 1.7);
      break;
    case 2:
      canvas.moveTo(x, y - size);
      canvas.lineTo(x + size, y + size * 0.8);
      canvas.lineTo(x - size, y + size * 0.8);
      canvas.closePath();
      break;
    default:
      canvas.moveTo(x - size, y - size);
      canvas.lineTo(x + size, y + size);
      canvas.moveTo(x - size, y + size);
      canvas.lineTo(x + size, y - size);
      canvas.stroke();
      return;
  }
  canvas.fill();
}
