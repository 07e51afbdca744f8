/** The small drawing of a sum of traces, with its findings on it. */

import { html, nothing, svg, type SVGTemplateResult, type TemplateResult } from "lit";
import type { Direction, Trend } from "../api/client";

const WIDTH = 240;
const HEIGHT = 48;
const EDGE = 6;
/** The least range of the drawing, as a share of the beginning: noise of a thousandth is a flat line. */
const LEAST_SPAN = 0.02;

/** The points of a series as paths; a gap begins a new one. */
function trail(points: readonly (number | null)[], x: (index: number) => string, y: (value: number) => string): string {
  let path = "";
  let open = false;
  points.forEach((value, index) => {
    if (value !== null) path += `${open ? "L" : "M"}${x(index)} ${y(value)}`;
    open = value !== null;
  });
  return path;
}

/** A mark points where the sum goes; a diamond where it is unknown what is better. */
const SHAPES = { up: "M0-4.5L4 3H-4Z", down: "M0 4.5L4-3H-4Z", unknown: "M0-4L4 0L0 4L-4 0Z" };

function shapeOf(direction: Direction, better: Trend["better"]): string {
  if (direction === "unknown") return SHAPES.unknown;
  return (direction === "regression") === (better !== "higher") ? SHAPES.up : SHAPES.down;
}

/** The series of a sum around the line of its beginning; marks stand where findings are. */
export function trendSparkline({ points, marks, better }: Pick<Trend, "points" | "marks" | "better">): TemplateResult {
  const known = points.filter((value) => value !== null);
  if (known.length < 2) return html`<span class="faint">too few values</span>`;
  const low = Math.min(1, ...known);
  const high = Math.max(1, ...known);
  const spare = Math.max(0, LEAST_SPAN - (high - low)) / 2;
  const span = high - low + 2 * spare;
  const x = (index: number): string => (EDGE + (index * (WIDTH - 2 * EDGE)) / (points.length - 1 || 1)).toFixed(1);
  const y = (value: number): string =>
    (HEIGHT - EDGE - ((value - low + spare) * (HEIGHT - 2 * EDGE)) / span).toFixed(1);
  const mark = (index: number, direction: Direction): SVGTemplateResult => {
    const value = points.slice(0, index + 1).findLast((point) => point !== null) ?? 1;
    return svg`<path class="mark ${direction}" d=${shapeOf(direction, better)} transform="translate(${x(index)} ${y(value)})"></path>`;
  };
  return html`<svg class="spark trend" viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" aria-hidden="true">
    <path class="level" d="M${EDGE} ${y(1)}H${WIDTH - EDGE}"></path>
    <path class="trail strong" d=${trail(points, x, y)}></path>
    ${marks.length > 0 ? marks.map(({ index, direction }) => mark(index, direction)) : nothing}
  </svg>`;
}
