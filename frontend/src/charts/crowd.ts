/** Draw hundreds of lines: all faint, in steps that leave the page responsive, and one in front. */

import type uPlot from "uplot";
import { axisIndex, axisName, axisUnits, relativeBase, type ChartLine, type ChartView } from "./chart-data";
import { gapDistance } from "./gaps";
import type { Palette } from "./palette";
import { positionAxis } from "./position-axis";
import { lineColour } from "./uplot-options";

/** The segments that the first step draws; later steps draw as many as the browser takes in good time. */
const FIRST_SEGMENTS = 2000;
const MOST_SEGMENTS = 6000;
/** A step that took longer than this, in milliseconds, is followed by smaller ones, and one below the second by larger ones. */
const SLOW_STEP = 40;
const QUICK_STEP = 20;
/** How faint the lines are: more of them are fainter. */
const MIN_ALPHA = 0.25;
const MAX_ALPHA = 0.7;
const LINES_OF_MIN_ALPHA = 400;
/** How faint the lines are behind the one in front. */
const BEHIND = "0.5";

/** How uPlot marks a logarithmic scale. */
const LOGARITHMIC: uPlot.Scale["distr"] = 3;

/** The opacity of each of a number of lines. */
export function crowdAlpha(lines: number): number {
  return MAX_ALPHA - Math.min(1, lines / LINES_OF_MIN_ALPHA) * (MAX_ALPHA - MIN_ALPHA);
}

/** How many segments the next step draws, after one that took some milliseconds. */
export function nextSegments(segments: number, took: number): number {
  if (took > SLOW_STEP) return Math.max(FIRST_SEGMENTS / 4, segments / 2);
  return took < QUICK_STEP ? Math.min(MOST_SEGMENTS, segments * 2) : segments;
}

/** Two layers over a plot of uPlot, which draws the axes only. */
export class Crowd {
  private readonly behind = document.createElement("canvas");
  private readonly front = document.createElement("canvas");
  private frame = 0;
  private emphasized = -1;

  constructor(
    private readonly view: ChartView,
    private readonly plot: uPlot,
    private readonly colours: Palette,
  ) {
    for (const canvas of [this.behind, this.front]) canvas.className = "crowd-layer";
    plot.ctx.canvas.after(this.behind, this.front);
  }

  /** Stop drawing; the layers go with the plot. */
  stop(): void {
    cancelAnimationFrame(this.frame);
  }

  /** Draw all lines again. */
  draw(): void {
    this.stop();
    const canvas = this.cleared(this.behind);
    canvas.globalAlpha = crowdAlpha(this.view.lines.length);
    canvas.lineWidth = devicePixelRatio;
    canvas.lineJoin = "bevel";
    this.drawFrom(0, canvas, this.pathOf(), FIRST_SEGMENTS);
    this.drawFront();
  }

  /** Let a line stand out from the others; none for -1. */
  emphasize(index: number): void {
    if (index === this.emphasized) return;
    this.emphasized = index;
    this.drawFront();
  }

  /** Draw lines from an index on until the step is full, and leave the others to the next frames. */
  private drawFrom(
    start: number,
    canvas: CanvasRenderingContext2D,
    pathOf: (line: ChartLine) => Path2D,
    segments: number,
  ): void {
    const { lines } = this.view;
    const began = performance.now();
    let index = start;
    for (let left = segments; index < lines.length && left > 0; index++) {
      this.stroke(canvas, pathOf, index);
      left -= lines[index]?.positions.length ?? 0;
    }
    if (index >= lines.length) return;
    // What the canvas was told is drawn at the end of the frame, so only the next frame knows how long it took.
    this.frame = requestAnimationFrame(() => {
      this.drawFrom(index, canvas, pathOf, nextSegments(segments, performance.now() - began));
    });
  }

  private drawFront(): void {
    const canvas = this.cleared(this.front);
    this.behind.style.opacity = this.emphasized < 0 ? "1" : BEHIND;
    canvas.lineWidth = 2 * devicePixelRatio;
    if (this.emphasized >= 0) this.stroke(canvas, this.pathOf(), this.emphasized);
  }

  /** Fit a layer to the plot, which clears it. */
  private cleared(layer: HTMLCanvasElement): CanvasRenderingContext2D {
    const { left, top, width, height } = this.plot.bbox;
    const ratio = devicePixelRatio;
    Object.assign(layer.style, {
      left: `${left / ratio}px`,
      top: `${top / ratio}px`,
      width: `${width / ratio}px`,
      height: `${height / ratio}px`,
    });
    Object.assign(layer, { width, height });
    const canvas = layer.getContext("2d");
    if (!canvas) throw new Error("the browser has no canvas");
    return canvas;
  }

  private stroke(canvas: CanvasRenderingContext2D, pathOf: (line: ChartLine) => Path2D, index: number): void {
    const line = this.view.lines[index];
    if (!line) return;
    canvas.strokeStyle = canvas.fillStyle = lineColour(this.colours, index);
    const path = pathOf(line);
    canvas.stroke(path);
    // A line of one value has no length.
    if (line.positions.length === 1) canvas.fill(path);
  }

  /** A function from lines to their paths on a layer, in device pixels. */
  private pathOf(): (line: ChartLine) => Path2D {
    const trace = tracer(this.view, this.plot);
    return (line) => {
      const path = new Path2D();
      const end = trace(line, path);
      if (end && line.positions.length === 1) path.arc(...end, 2 * devicePixelRatio, 0, 7);
      return path;
    };
  }
}

/** What draws a line: a path of a canvas, or the text of one. */
export interface Pen {
  moveTo: (x: number, y: number) => void;
  lineTo: (x: number, y: number) => void;
}

/** A function that draws a line with its gaps in the box of a plot, in device pixels; it returns where the line ends. */
export function tracer(view: ChartView, plot: uPlot): (line: ChartLine, pen: Pen) => [number, number] | undefined {
  const { bbox } = plot;
  const units = axisUnits(view.lines, view.scale);
  const { toX } = positionAxis(view);
  const { min = 0, max = 1 } = plot.scales.x ?? {};
  return (line, pen) => {
    const height = heights(plot, axisName(axisIndex(line, units)), relativeBase(view, line));
    const gap = gapDistance(line.positions);
    const { positions, values } = line;
    let end: [number, number] | undefined;
    for (let index = 0; index < positions.length; index++) {
      const position = positions[index] ?? 0;
      const isOpen = index > 0 && position - (positions[index - 1] ?? 0) < gap;
      end = [((toX(position) - min) / (max - min)) * bbox.width, height(values[index] ?? 0)];
      if (isOpen) pen.lineTo(...end);
      else pen.moveTo(...end);
    }
    return end;
  };
}

/** A function from values to their places on a layer: what uPlot calculates, without a look-up for each value. */
function heights(plot: uPlot, axis: string, base: number): (value: number) => number {
  const { distr, min = 0, max = 1 } = plot.scales[axis] ?? {};
  const { height } = plot.bbox;
  const scaled = distr === LOGARITHMIC ? Math.log10 : Number;
  const [low, high] = [scaled(min), scaled(max)];
  return (value) => height * (1 - (scaled(value / base) - low) / (high - low));
}
