/** Draw what uPlot does not: levels with their spread, changes, suspect ranges, what was looked at. */

import type uPlot from "uplot";
import { baseOf, type ChartMark, type ChartView } from "./chart-data";
import { STRIP } from "./uplot-options";
import { hatch, shape, type Palette } from "./palette";

export const FAILURES_ABOVE = 8;
const LOGARITHMIC = 3; // what uPlot calls it

interface Canvas {
  view: ChartView;
  plot: uPlot;
  colours: Palette;
  at: CanvasRenderingContext2D;
  ratio: number;
  x: (position: number) => number;
  y: (value: number) => number;
}

function canvasOf(view: ChartView, plot: uPlot, colours: Palette): Canvas {
  const base = view.lines[0] ? baseOf(view, view.lines[0]) : 1;
  return {
    view,
    plot,
    colours,
    at: plot.ctx,
    ratio: devicePixelRatio,
    x: (position) => plot.valToPos(position, "x", true),
    y: (value) => plot.valToPos(value / base, "y", true),
  };
}

function clip({ at, plot: { bbox } }: Canvas): void {
  at.save();
  at.beginPath();
  at.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  at.clip();
}

/** Draw what lies under the values. */
export function drawUnder(view: ChartView, plot: uPlot, colours: Palette): void {
  const canvas = canvasOf(view, plot, colours);
  const { at, ratio, x, y } = canvas;
  const { bbox } = plot;
  clip(canvas);
  const lowest = Number(plot.scales.y?.distr) === LOGARITHMIC ? 1e-300 : -Infinity;
  at.fillStyle = colours.band;
  for (const level of view.levels) {
    const left = x(level.first - 0.3);
    const top = y(level.maximum);
    at.fillRect(left, top, x(level.last + 0.3) - left, y(Math.max(level.minimum, lowest)) - top);
  }
  at.fillStyle = colours.suspect;
  at.strokeStyle = colours.suspect;
  at.lineWidth = ratio;
  for (const mark of view.marks) {
    if (mark.suspects <= 1 || mark.gone) continue;
    const left = x(mark.previous);
    hatch(at, left, bbox.top, x(mark.position) - left, bbox.height, 7 * ratio);
  }
  if (view.pinned !== undefined) drawPin(canvas, x(view.pinned));
  at.restore();
}

function drawPin({ at, colours, ratio, plot: { bbox } }: Canvas, x: number): void {
  at.strokeStyle = colours.pin;
  for (const [width, alpha] of [
    [9, 0.16],
    [1.5, 1],
  ] as const) {
    at.globalAlpha = alpha;
    at.lineWidth = width * ratio;
    at.beginPath();
    at.moveTo(x, bbox.top);
    at.lineTo(x, bbox.top + bbox.height);
    at.stroke();
  }
  at.globalAlpha = 1;
}

/** Draw what lies over the values. */
export function drawOver(view: ChartView, plot: uPlot, colours: Palette): void {
  const canvas = canvasOf(view, plot, colours);
  const { at, ratio, x, y } = canvas;
  clip(canvas);
  at.strokeStyle = colours.level;
  at.lineWidth = 2.5 * ratio;
  at.lineCap = "round";
  for (const level of view.levels) {
    at.beginPath();
    at.moveTo(x(level.first - 0.3), y(level.median));
    at.lineTo(x(level.last + 0.3), y(level.median));
    at.stroke();
  }
  drawNotes(canvas);
  drawCandidates(canvas);
  drawFailures(canvas);
  at.restore();
  drawMarks(canvas);
}

function drawNotes({ view, at, ratio, colours, x, plot: { bbox } }: Canvas): void {
  const bottom = bbox.top + bbox.height;
  at.fillStyle = at.strokeStyle = colours.note;
  at.lineWidth = ratio;
  at.setLineDash([ratio, 4 * ratio]);
  for (const note of view.notes) {
    const middle = x(note.position - 0.5);
    at.beginPath();
    at.moveTo(middle, bbox.top);
    at.lineTo(middle, bottom);
    at.stroke();
    at.beginPath();
    at.moveTo(middle - 6 * ratio, bottom);
    at.lineTo(middle, bottom - 9 * ratio);
    at.lineTo(middle + 6 * ratio, bottom);
    at.fill();
  }
  at.setLineDash([]);
}

/** Places that a method looked at: a stroke at the foot of the plot, a longer one where it saw a change. */
function drawCandidates({ view, at, ratio, colours, x, plot: { bbox } }: Canvas): void {
  const bottom = bbox.top + bbox.height;
  at.lineCap = "butt";
  at.lineWidth = 2 * ratio;
  for (const { position, accepted } of view.candidates) {
    at.strokeStyle = accepted ? colours.ink : colours.faint;
    at.beginPath();
    at.moveTo(x(position), bottom);
    at.lineTo(x(position), bottom - (accepted ? 18 : 10) * ratio);
    at.stroke();
  }
}

/** Commits without a value: a cross at the foot where something failed, a ring where it was skipped. */
function drawFailures({ view, at, ratio, colours, x, plot: { bbox } }: Canvas): void {
  const y = bbox.top + bbox.height - FAILURES_ABOVE * ratio;
  at.lineWidth = 1.75 * ratio;
  for (const { position, failed } of view.failures) {
    at.strokeStyle = failed ? colours.direction.regression : colours.faint;
    if (failed) {
      cross(at, x(position), y, 4 * ratio);
    } else {
      at.beginPath();
      at.arc(x(position), y, 3.5 * ratio, 0, 2 * Math.PI);
      at.stroke();
    }
  }
}

function drawMarks(canvas: Canvas): void {
  const {
    view,
    at,
    ratio,
    x,
    plot: { bbox },
  } = canvas;
  const visible = view.marks
    .map((mark) => ({ mark, at: x(mark.position) }))
    .filter((own) => own.at >= bbox.left - 1 && own.at <= bbox.left + bbox.width + 1)
    .sort((a, b) => a.at - b.at);
  at.save();
  at.font = `${12 * ratio}px system-ui, sans-serif`;
  at.textAlign = "left";
  at.textBaseline = "middle";
  let taken = bbox.left - 16 * ratio;
  visible.forEach((own, index) => {
    const until = visible[index + 1]?.at ?? bbox.left + bbox.width + 16 * ratio;
    taken = drawMark(canvas, own.mark, own.at, { taken, until });
  });
  at.restore();
}

/** Draw one change, its text on the side where there is room; answers up to where the strip is taken. */
function drawMark(canvas: Canvas, mark: ChartMark, x: number, room: { taken: number; until: number }): number {
  const {
    at,
    ratio,
    colours,
    plot: { bbox },
  } = canvas;
  const top = bbox.top - (STRIP / 2) * ratio;
  const calm = mark.gone || mark.history;
  at.strokeStyle = at.fillStyle = calm ? colours.faint : colours.status[mark.status];
  at.lineWidth = (calm ? 1 : 1.25) * ratio;
  at.setLineDash(calm ? [ratio, 5 * ratio] : [4 * ratio, 4 * ratio]);
  at.beginPath();
  at.moveTo(x, top + 6 * ratio);
  at.lineTo(x, bbox.top + bbox.height);
  at.stroke();
  at.setLineDash([]);
  at.lineWidth = (calm ? 1.25 : 1.75) * ratio;
  if (mark.gone) cross(at, x, top, 4 * ratio);
  else shape(at, mark.status, x, top, (mark.history ? 3.5 : 5) * ratio, colours.paper);
  const { width } = at.measureText(mark.text);
  const right = width <= room.until - x - 18 * ratio;
  const left = width <= x - room.taken - 18 * ratio;
  if (right || left) {
    at.fillStyle = calm || mark.status === "hidden" ? colours.faint : colours.direction[mark.direction];
    at.fillText(mark.text, right ? x + 10 * ratio : x - 10 * ratio - width, top);
  }
  return right ? x + 10 * ratio + width : x + 8 * ratio;
}

function cross(at: CanvasRenderingContext2D, x: number, y: number, size: number): void {
  at.beginPath();
  at.moveTo(x - size, y - size);
  at.lineTo(x + size, y + size);
  at.moveTo(x - size, y + size);
  at.lineTo(x + size, y - size);
  at.stroke();
}
