/** Small drawings of values in the rows of tables. */

import { html, svg, type TemplateResult } from "lit";
import type { Finding } from "../api/client";
import type { Series } from "../api/series";

const WIDTH = 132;
const HEIGHT = 30;
const EDGE = 3;

/**
 * The values around a change, with the levels before and after it.
 *
 * The scale fits these two levels. Values beyond the next changes may leave the drawing: they would flatten the change.
 */
export function findingSparkline(finding: Finding): TemplateResult {
  const { sparkline, before_level: before, after_level: after } = finding;
  if (!sparkline || sparkline.values.length < 2) return html`<span class="faint">no values</span>`;
  const { values, begin, split, end } = sparkline;
  // Scales
  const bounds = [...values.slice(begin, end), before, after];
  const low = Math.min(...bounds);
  const span = Math.max(...bounds) - low || 1;
  const x = (index: number): number => EDGE + (index * (WIDTH - 2 * EDGE)) / (values.length - 1);
  const y = (value: number): string => (HEIGHT - EDGE - ((value - low) * (HEIGHT - 2 * EDGE)) / span).toFixed(1);
  // Levels begin and end half-way between two values.
  const beforeIndex = (index: number): number => Math.min(Math.max((x(index - 1) + x(index)) / 2, EDGE), WIDTH - EDGE);
  const middle = beforeIndex(split).toFixed(1);
  const level = (from: string, to: string, value: number) =>
    svg`<path class="level" d="M${from} ${y(value)}H${to}"></path>`;
  const points = values.map((value, index) => `${x(index).toFixed(1)} ${y(value)}`);
  return html`<svg
    class="spark ${finding.direction}"
    viewBox="0 0 ${WIDTH} ${HEIGHT}"
    width=${WIDTH}
    height=${HEIGHT}
    aria-hidden="true"
  >
    <path class="trail" d="M${points.join("L")}"></path>
    ${level(beforeIndex(begin).toFixed(1), middle, before)} ${level(middle, beforeIndex(end).toFixed(1), after)}
    <path class="knick" d="M${middle} ${y(before)}V${y(after)}"></path>
  </svg>`;
}

const TRACE_WIDTH = 160;

/** All values of a trace. */
export function traceSparkline({ positions, values }: Pick<Series, "positions" | "values">): TemplateResult {
  const first = positions[0] ?? 0;
  const width = (positions.at(-1) ?? first) - first || 1;
  const low = Math.min(...values);
  const span = Math.max(...values) - low || 1;
  const points = Array.from(values, (value, index) => {
    const x = EDGE + (((positions[index] ?? first) - first) / width) * (TRACE_WIDTH - 2 * EDGE);
    const y = HEIGHT - EDGE - ((value - low) / span) * (HEIGHT - 2 * EDGE);
    return `${x.toFixed(1)} ${y.toFixed(1)}`;
  });
  return html`<svg
    class="spark"
    viewBox="0 0 ${TRACE_WIDTH} ${HEIGHT}"
    width=${TRACE_WIDTH}
    height=${HEIGHT}
    aria-hidden="true"
  >
    <path class="trail strong" d="M${points.join("L")}"></path>
  </svg>`;
}
