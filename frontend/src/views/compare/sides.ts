/** The values of both sides of a compared trace as a drawing: the past in grey, the new ones in the colour of the verdict. */

import { html, svg } from "lit";
import type { JudgedBenchmark } from "../../api/client";

const WIDTH = 168;
const HEIGHT = 34;
const EDGE = 4;
/** The share of the width that the new side takes. */
const NEW_SHARE = 0.2;

export function drawSides({ past, new: fresh, before, after, verdict }: JudgedBenchmark) {
  const values = [...past, ...fresh];
  if (values.length < 2) return html`<span class="faint">too few values</span>`;
  const low = Math.min(...values);
  const span = Math.max(...values) - low || 1;
  const split = fresh.length > 0 ? WIDTH * (1 - NEW_SHARE) : WIDTH - EDGE;
  const y = (value: number): string => (HEIGHT - EDGE - ((value - low) / span) * (HEIGHT - 2 * EDGE)).toFixed(1);
  const spread = (count: number, at: number, from: number, to: number): string =>
    (count > 1 ? from + (at * (to - from)) / (count - 1) : (from + to) / 2).toFixed(1);
  const level = (value: number | null, from: number, to: number) =>
    value === null || value < low || value > low + span
      ? null
      : svg`<path class="level" d="M${from.toFixed(1)} ${y(value)}H${to.toFixed(1)}"></path>`;
  const dots = (some: readonly number[], kind: string, size: number, from: number, to: number) =>
    some.map(
      (value, at) =>
        svg`<circle class=${kind} r=${size} cx=${spread(some.length, at, from, to)} cy=${y(value)}></circle>`,
    );
  return html`<svg
    class="sides ${verdict.replace(" ", "-")}"
    viewBox="0 0 ${WIDTH} ${HEIGHT}"
    width=${WIDTH}
    height=${HEIGHT}
    aria-hidden="true"
  >
    ${level(before, EDGE, split - EDGE)} ${fresh.length > 0 ? level(after, split + EDGE, WIDTH - EDGE) : null}
    ${dots(past, "past", 1.6, EDGE, split - EDGE)} ${dots(fresh, "new", 3, split + 2 * EDGE, WIDTH - 2 * EDGE)}
  </svg>`;
}
