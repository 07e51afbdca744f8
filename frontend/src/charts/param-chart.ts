/** The drawing of a table by params. */

import { html, nothing, svg } from "lit";
import type { ParamPlot, ParamTick } from "../text/param-plot";
import { SERIES_COLOURS } from "./palette";

const WIDTH = 640;
const HEIGHT = 220;
const LEFT = 84;
const RIGHT = 24;
const TOP = 10;
const BOTTOM = 24;
/** Pixels of a letter, and between two labels. */
const LETTER = 6.5;
const GAP = 10;
const LONGEST = 14;

const x = (at: number): number => Math.round(LEFT + at * (WIDTH - LEFT - RIGHT));
const y = (at: number): number => Math.round(HEIGHT - BOTTOM - at * (HEIGHT - TOP - BOTTOM));
const colour = (index: number): string => `s${(index % SERIES_COLOURS) + 1}`;
const shortened = (text: string): string => (text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text);

/** The labels that do not run into the one before. */
function legible(ticks: readonly ParamTick[]): ParamTick[] {
  let end = -Infinity;
  return [...ticks]
    .sort((one, other) => one.at - other.at)
    .filter(({ at, text }) => {
      const half = (shortened(text).length * LETTER) / 2;
      if (x(at) - half < end + GAP) return false;
      end = x(at) + half;
      return true;
    });
}

function pathOf(points: ParamPlot["lines"][number]["points"]): string {
  return points.map((point, place) => `${place ? "L" : "M"}${x(point.x)} ${y(point.y)}`).join("");
}

export function paramChart({ lines, across, up, isOrdered }: ParamPlot, row: string, column: string) {
  const named = column ? lines : [];
  return html`<div class="pivot-place" tabindex="0" role="region" aria-label="Drawing by params">
      <svg
        class="param-chart"
        viewBox="0 0 ${WIDTH} ${HEIGHT}"
        role="img"
        aria-label="Values by ${row}; the table has the numbers"
      >
        ${up.map(
          ({ at, text }) =>
            svg`<path class="rule" d="M${LEFT} ${y(at)}H${WIDTH - RIGHT}" /><text x=${LEFT - 8} y=${y(at) + 4} text-anchor="end">${text}</text>`,
        )}
        ${legible(across).map(
          ({ at, text }) =>
            svg`<text x=${x(at)} y=${HEIGHT - 6} text-anchor="middle">${shortened(text)}<title>${text}</title></text>`,
        )}
        ${lines.map(
          ({ points }, index) =>
            svg`<g class=${colour(index)}>${isOrdered ? svg`<path class="by-param" d=${pathOf(points)} />` : null}${points.map(
              (point) => svg`<circle cx=${x(point.x)} cy=${y(point.y)} r="3.5"><title>${point.text}</title></circle>`,
            )}</g>`,
        )}
      </svg>
    </div>
    ${named.length > 0 ? html`<p class="param-names">${named.map(({ name }, index) => html`<span class=${colour(index)}><b>●</b> <span>${name}</span></span>`)}</p>` : nothing}`;
}
