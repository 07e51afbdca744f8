/** Draw hundreds of lines: all faint, in steps that leave the page responsive, and the one under the pointer in front. */

import type uPlot from "uplot";
import { axisIndex, axisName, axisUnits, relativeBase, type ChartLine, type ChartView } from "./chart-data";
import { gapDistance } from "./gaps";
import type { Palette } from "./palette";
import { positionAxis } from "./position-axis";
import { lineColour } from "./uplot-options";

/** How long one step may draw, in milliseconds: a frame of 60 Hz has 16. */
const STEP_MS = 10;
/** How faint the lines are: more of them are fainter. */
const MIN_ALPHA = 0.2;
const MAX_ALPHA = 0.6;
const LINES_OF_MIN_ALPHA = 400;

export class Crowd {
  private readonly faint = document.createElement("canvas");
  private readonly front = document.createElement("canvas");
  private frame = 0;
  private emphasized = -1;

  constructor(
    private readonly view: ChartView,
    private readonly plot: uPlot,
    private readonly colours: Palette,
  ) {
    for (const canvas of [this.faint, this.front]) {
      canvas.className = "crowd-layer";
      plot.under.after(canvas);
    }
    this.faint.after(this.front);
  }

  /** Stop drawing; the canvases go with the plot. */
  stop(): void {
    cancelAnimationFrame(this.frame);
  }

  /** Draw all lines again. */
  draw(): void {
    this.stop();
    this.fit(this.faint);
    this.fit(this.front);
    const share = Math.min(1, this.view.lines.length / LINES_OF_MIN_ALPHA);
    const canvas = this.faint.getContext("2d");
    if (!canvas) return;
    canvas.globalAlpha = MAX_ALPHA - share * (MAX_ALPHA - MIN_ALPHA);
    canvas.lineWidth = devicePixelRatio;
    const path = this.pathOf();
    let next = 0;
    const step = (): void => {
      const end = performance.now() + STEP_MS;
      while (next < this.view.lines.length && performance.now() < end) this.stroke(canvas, path, next++);
      if (next < this.view.lines.length) this.frame = requestAnimationFrame(step);
    };
    this.frame = requestAnimationFrame(step);
    const { emphasized } = this;
    this.emphasized = -1;
    this.emphasize(emphasized);
  }

  /** Draw one line in front of the others; none for -1. */
  emphasize(index: number): void {
    if (index === this.emphasized) return;
    this.emphasized = index;
    const canvas = this.front.getContext("2d");
    if (!canvas) return;
    canvas.clearRect(0, 0, this.front.width, this.front.height);
    this.faint.style.opacity = index < 0 ? "1" : "0.4";
    if (index < 0) return;
    canvas.lineWidth = 2 * devicePixelRatio;
    this.stroke(canvas, this.pathOf(), index);
  }

  private fit(canvas: HTMLCanvasElement): void {
    const { left, top, width, height } = this.plot.bbox;
    const ratio = devicePixelRatio;
    Object.assign(canvas.style, {
      left: `${left / ratio}px`,
      top: `${top / ratio}px`,
      width: `${width / ratio}px`,
      height: `${height / ratio}px`,
    });
    canvas.width = width;
    canvas.height = height;
  }

  private stroke(canvas: CanvasRenderingContext2D, path: (line: ChartLine) => Path2D, index: number): void {
    const line = this.view.lines[index];
    if (!line) return;
    canvas.strokeStyle = lineColour(this.colours, index);
    canvas.stroke(path(line));
  }

  /** A function from lines to their paths on the canvas, in device pixels. */
  private pathOf(): (line: ChartLine) => Path2D {
    const { view, plot } = this;
    const { bbox } = plot;
    const units = axisUnits(view.lines, view.scale);
    const { toX } = positionAxis(view);
    const { min = 0, max = 1 } = plot.scales.x ?? {};
    const x = (position: number): number => ((toX(position) - min) / (max - min)) * bbox.width;
    return (line) => {
      const axis = axisName(axisIndex(line, units));
      const base = relativeBase(view, line);
      const gap = gapDistance(line.positions);
      const path = new Path2D();
      line.positions.forEach((position, index) => {
        const y = plot.valToPos((line.values[index] ?? 0) / base, axis, true) - bbox.top;
        const isOpen = index > 0 && position - (line.positions[index - 1] ?? 0) < gap;
        if (isOpen) path.lineTo(x(position), y);
        else path.moveTo(x(position), y);
      });
      return path;
    };
  }
}
