/** Draw what uPlot does not: stable regions, changes, suspect ranges, candidates, failed runs, tickets, the pinned commit. */

import { lowerBound } from "../text/numbers";
import type uPlot from "uplot";
import type { Status } from "../api/client";
import { axisIndex, axisName, axisUnits, relativeBase, type ChartMark, type ChartView } from "./chart-data";
import { drawBeyond } from "./beyond";
import { drawInterval, drawSides, sidesOf } from "./change-interval";
import type { Palette } from "./palette";
import { drawDriftIntervals, drawDrifts, drawModes, levelsBeside, type PatternDrawing } from "./patterns";
import { positionAxis } from "./position-axis";
import { drawCross, drawStatusShape, fillHatched } from "./shapes";
import { STRIP } from "./uplot-options";

/** How far above the foot of the plot failed runs are drawn, in pixels. */
export const FAILURE_OFFSET = 8;
/** How far above the foot of the plot tickets are drawn, in pixels: above failed runs. */
export const TICKET_OFFSET = 24;
/** Radius of the ring of a quarantined value, in pixels. */
const QUARANTINED_RADIUS = 4.5;
/** Half the diagonal of the diamond of a value that a probe measured, in pixels. */
const REMEASURED_RADIUS = 5;
/** Radius of a finding on one of several lines, in pixels. */
export const FINDING_RADIUS = 5;
/** uPlot's number for logarithmic scales. */
const LOGARITHMIC = 3;
/** How far stable regions reach beyond their first and last commit, in commits; half a commit may be months of an axis of dates. */
const REGION_MARGIN = 0.3;
const marginOf = ({ along }: ChartView): number => (along === "commits" ? REGION_MARGIN : 0);
/** How far the text of a mark may reach beyond the plot, in pixels. */
const MARK_GAP = 16;

/** What all drawing functions need: the data, the canvas, and functions from data to device pixels. */
interface Drawing {
  view: ChartView;
  plot: uPlot;
  colours: Palette;
  canvas: CanvasRenderingContext2D;
  ratio: number;
  x: (position: number) => number;
  y: (value: number) => number;
}

function drawingOf(view: ChartView, plot: uPlot, colours: Palette): Drawing {
  const base = view.lines[0] ? relativeBase(view, view.lines[0]) : 1;
  const { toX } = positionAxis(view);
  return {
    view,
    plot,
    colours,
    canvas: plot.ctx,
    ratio: devicePixelRatio,
    x: (position) => plot.valToPos(toX(position), "x", true),
    y: (value) => plot.valToPos(value / base, "y", true),
  };
}

/** Draw what lies under the values: the ranges of stable regions, suspect ranges, the pinned commit. */
export function drawBelowValues(view: ChartView, plot: uPlot, colours: Palette): void {
  const drawing = drawingOf(view, plot, colours);
  clipToPlot(drawing);
  drawRegionRanges(drawing);
  drawDriftIntervals(patternDrawing(drawing), view.patterns.drifts);
  drawSuspectRanges(drawing);
  if (view.pinned !== undefined) drawPin(drawing, drawing.x(view.pinned));
  drawing.canvas.restore();
}

/** Draw what lies over the values: the medians of stable regions, marks at commits, changes. */
export function drawAboveValues(view: ChartView, plot: uPlot, colours: Palette): void {
  const drawing = drawingOf(view, plot, colours);
  clipToPlot(drawing);
  drawRegionMedians(drawing);
  drawPatterns(drawing);
  drawNotes(drawing);
  drawCandidates(drawing);
  drawFailures(drawing);
  drawRemeasured(drawing);
  drawQuarantined(drawing);
  drawTickets(drawing);
  drawFindings(drawing);
  const measured = view.lines[0]?.positions ?? [];
  for (const mark of view.marks) {
    drawSides(drawing, mark, colours, sidesOf(mark, measured, levelsBeside(view.levels, view.patterns)));
    drawInterval(drawing, mark, colours);
  }
  drawing.canvas.restore();
  drawBeyond(view, plot, colours);
  // The texts of changes stand in the strip above the plot, so they are not clipped.
  drawMarks(drawing);
}

function patternDrawing({ canvas, ratio, x, y, colours }: Drawing): PatternDrawing {
  return { canvas, ratio, x, y, slope: colours.level, modes: colours.series };
}

/** Drifts and modes, which are those of a single trace. */
function drawPatterns(drawing: Drawing): void {
  const { patterns, lines } = drawing.view;
  const line = lines[0];
  drawDrifts(patternDrawing(drawing), patterns.drifts);
  if (line) drawModes(patternDrawing(drawing), patterns.modes, line.positions, line.values);
}

function clipToPlot({ canvas, plot: { bbox } }: Drawing): void {
  canvas.save();
  canvas.beginPath();
  canvas.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  canvas.clip();
}

function drawRegionRanges({ view, plot, colours, canvas, x, y }: Drawing): void {
  // A logarithmic scale has no zero: bound what reaches down to it.
  const lowest = Number(plot.scales.y?.distr) === LOGARITHMIC ? 1e-300 : -Infinity;
  canvas.fillStyle = colours.band;
  for (const { first, last, low, high } of levelsBeside(view.levels, view.patterns)) {
    const left = x(first - marginOf(view));
    const top = y(high);
    canvas.fillRect(left, top, x(last + marginOf(view)) - left, y(Math.max(low, lowest)) - top);
  }
}

function drawRegionMedians({ view, colours, canvas, ratio, x, y }: Drawing): void {
  canvas.strokeStyle = colours.level;
  canvas.lineWidth = 2.5 * ratio;
  canvas.lineCap = "round";
  for (const { first, last, median } of levelsBeside(view.levels, view.patterns)) {
    canvas.beginPath();
    canvas.moveTo(x(first - marginOf(view)), y(median));
    canvas.lineTo(x(last + marginOf(view)), y(median));
    canvas.stroke();
  }
}

function drawSuspectRanges({ view, plot: { bbox }, colours, canvas, ratio, x }: Drawing): void {
  canvas.fillStyle = colours.suspect;
  canvas.strokeStyle = colours.suspect;
  canvas.lineWidth = ratio;
  for (const { suspects, gone, previous, position } of view.marks) {
    if (suspects <= 1 || gone) continue;
    const left = x(previous);
    fillHatched(canvas, left, bbox.top, x(position) - left, bbox.height, 7 * ratio);
  }
}

function drawPin({ canvas, colours, ratio, plot: { bbox } }: Drawing, x: number): void {
  canvas.strokeStyle = colours.pin;
  for (const [width, alpha] of [
    [9, 0.16],
    [1.5, 1],
  ] as const) {
    canvas.globalAlpha = alpha;
    canvas.lineWidth = width * ratio;
    canvas.beginPath();
    canvas.moveTo(x, bbox.top);
    canvas.lineTo(x, bbox.top + bbox.height);
    canvas.stroke();
  }
  canvas.globalAlpha = 1;
}

/** Changes of environment: a dotted line between two commits, with a triangle at its foot. */
function drawNotes({ view, canvas, ratio, colours, x, plot: { bbox } }: Drawing): void {
  const bottom = bbox.top + bbox.height;
  canvas.fillStyle = canvas.strokeStyle = colours.note;
  canvas.lineWidth = ratio;
  canvas.setLineDash([ratio, 4 * ratio]);
  for (const note of view.notes) {
    const middle = x(note.position - 0.5);
    canvas.beginPath();
    canvas.moveTo(middle, bbox.top);
    canvas.lineTo(middle, bottom);
    canvas.stroke();
    canvas.beginPath();
    canvas.moveTo(middle - 6 * ratio, bottom);
    canvas.lineTo(middle, bottom - 9 * ratio);
    canvas.lineTo(middle + 6 * ratio, bottom);
    canvas.fill();
  }
  canvas.setLineDash([]);
}

/** Candidates of the method: a stroke at the foot of the plot, a longer one for each change that it accepted. */
function drawCandidates({ view, canvas, ratio, colours, x, plot: { bbox } }: Drawing): void {
  const bottom = bbox.top + bbox.height;
  canvas.lineCap = "butt";
  canvas.lineWidth = 2 * ratio;
  for (const { position, accepted } of view.candidates) {
    canvas.strokeStyle = accepted ? colours.ink : colours.faint;
    canvas.beginPath();
    canvas.moveTo(x(position), bottom);
    canvas.lineTo(x(position), bottom - (accepted ? 18 : 10) * ratio);
    canvas.stroke();
  }
}

/** Runs without a value, at the foot of the plot: a cross where the benchmark failed, a ring where it was skipped. */
function drawFailures({ view, canvas, ratio, colours, x, plot: { bbox } }: Drawing): void {
  const y = bbox.top + bbox.height - FAILURE_OFFSET * ratio;
  canvas.lineWidth = 1.75 * ratio;
  for (const { position, failed } of view.failures) {
    canvas.strokeStyle = failed ? colours.direction.regression : colours.faint;
    if (failed) {
      drawCross(canvas, x(position), y, 4 * ratio);
    } else {
      canvas.beginPath();
      canvas.arc(x(position), y, 3.5 * ratio, 0, 2 * Math.PI);
      canvas.stroke();
    }
  }
}

/** Values that probes of bisections measured: diamonds, filled where they count in the points of the trace. */
function drawRemeasured({ view, canvas, ratio, colours, x, y }: Drawing): void {
  const radius = REMEASURED_RADIUS * ratio;
  canvas.strokeStyle = colours.pin;
  canvas.lineWidth = 1.5 * ratio;
  for (const { position, value, counts } of view.remeasured) {
    canvas.fillStyle = counts ? colours.pin : colours.paper;
    const [centre, height] = [x(position), y(value)];
    canvas.beginPath();
    canvas.moveTo(centre, height - radius);
    canvas.lineTo(centre + radius, height);
    canvas.lineTo(centre, height + radius);
    canvas.lineTo(centre - radius, height);
    canvas.closePath();
    canvas.fill();
    canvas.stroke();
  }
}

/** Quarantined values: rings at their values, as no line goes through them. */
function drawQuarantined({ view, canvas, ratio, colours, x, y }: Drawing): void {
  canvas.strokeStyle = colours.note;
  canvas.lineWidth = 1.75 * ratio;
  for (const { position, value } of view.quarantined) {
    if (value === null) continue;
    canvas.beginPath();
    canvas.arc(x(position), y(value), QUARANTINED_RADIUS * ratio, 0, 2 * Math.PI);
    canvas.stroke();
  }
}

/** Tickets, near the foot of the plot: a square where it is open, its outline where it is closed. */
function drawTickets({ view, canvas, ratio, colours, x, plot: { bbox } }: Drawing): void {
  const y = bbox.top + bbox.height - TICKET_OFFSET * ratio;
  canvas.strokeStyle = colours.status.ticket;
  canvas.lineWidth = 1.75 * ratio;
  for (const { position, open } of view.tickets) {
    canvas.fillStyle = open ? colours.status.ticket : colours.paper;
    canvas.beginPath();
    canvas.rect(x(position) - 4.5 * ratio, y - 4.5 * ratio, 9 * ratio, 9 * ratio);
    canvas.fill();
    canvas.stroke();
  }
}

/** The place of each finding on its line, in pixels from the corner of the plot. */
export function findingPlaces(view: ChartView, plot: uPlot): { x: number; y: number; status: Status }[] {
  if (view.findings.length === 0) return [];
  const lines = new Map(view.lines.map((line) => [line.id, line]));
  const units = axisUnits(view.lines, view.scale);
  const { toX } = positionAxis(view);
  return view.findings.flatMap(({ line: id, position, status }) => {
    const line = lines.get(id);
    const value = line?.values[lowerBound(line.positions, position)];
    if (!line || value === undefined) return [];
    const y = plot.valToPos(value / relativeBase(view, line), axisName(axisIndex(line, units)));
    return [{ x: plot.valToPos(toX(position), "x"), y, status }];
  });
}

/** Findings on several lines: the shapes of their status at the first value of the new level. */
function drawFindings({ view, plot, colours, canvas, ratio }: Drawing): void {
  canvas.lineWidth = 1.5 * ratio;
  for (const { x, y, status } of findingPlaces(view, plot)) {
    canvas.fillStyle = canvas.strokeStyle = colours.status[status];
    const [left, top] = [plot.bbox.left + x * ratio, plot.bbox.top + y * ratio];
    drawStatusShape(canvas, status, left, top, FINDING_RADIUS * ratio, colours.paper);
  }
}

/** Changes: a line at the commit, with the shape of the status and the text of the change in the strip above the plot. */
function drawMarks(drawing: Drawing): void {
  const { bbox } = drawing.plot;
  const { canvas, ratio } = drawing;
  const right = bbox.left + bbox.width;
  const visible = drawing.view.marks
    .map((mark) => ({ mark, x: drawing.x(mark.position) }))
    .filter(({ x }) => x >= bbox.left - 1 && x <= right + 1)
    .sort((a, b) => a.x - b.x);
  canvas.save();
  canvas.font = `${12 * ratio}px system-ui, sans-serif`;
  canvas.textAlign = "left";
  canvas.textBaseline = "middle";
  let taken = bbox.left - MARK_GAP * ratio;
  visible.forEach(({ mark, x }, index) => {
    const until = visible[index + 1]?.x ?? right + MARK_GAP * ratio;
    taken = drawMark(drawing, mark, x, { taken, until });
  });
  canvas.restore();
}

/**
 * Draw one change, with its text on the side that has room for it.
 *
 * The strip is `taken` up to one place, and the next mark stands at `until`. Returns up to where it is taken then.
 */
function drawMark(drawing: Drawing, mark: ChartMark, x: number, room: { taken: number; until: number }): number {
  const { canvas, ratio, colours, plot } = drawing;
  const top = plot.bbox.top - (STRIP / 2) * ratio;
  const calm = mark.gone || mark.history;
  // Line
  canvas.strokeStyle = canvas.fillStyle = calm ? colours.faint : colours.status[mark.status];
  canvas.lineWidth = (calm ? 1 : 1.25) * ratio;
  canvas.setLineDash(calm ? [ratio, 5 * ratio] : [4 * ratio, 4 * ratio]);
  canvas.beginPath();
  canvas.moveTo(x, top + 6 * ratio);
  canvas.lineTo(x, plot.bbox.top + plot.bbox.height);
  canvas.stroke();
  canvas.setLineDash([]);
  // Shape
  canvas.lineWidth = (calm ? 1.25 : 1.75) * ratio;
  if (mark.gone) drawCross(canvas, x, top, 4 * ratio);
  else if (mark.missed) canvas.fillText("?", x - 3 * ratio, top);
  else drawStatusShape(canvas, mark.status, x, top, (mark.history ? 3.5 : 5) * ratio, colours.paper);
  // Text
  const { width } = canvas.measureText(mark.text);
  const fitsRight = width <= room.until - x - 18 * ratio;
  const fitsLeft = width <= x - room.taken - 18 * ratio;
  if (fitsRight || fitsLeft) {
    canvas.fillStyle = calm || mark.status === "hidden" ? colours.faint : colours.direction[mark.direction];
    canvas.fillText(mark.text, fitsRight ? x + 10 * ratio : x - 10 * ratio - width, top);
  }
  return fitsRight ? x + 10 * ratio + width : x + 8 * ratio;
}
