/** Drawings of a compared trace: its change as a bar with an interval, and the values of both sides on one axis. */

import { html, nothing, svg } from "lit";
import type { JudgedBenchmark } from "../../api/client";
import { axisTexts, valueText } from "../../text/units";

const kindOf = ({ verdict }: JudgedBenchmark): string => verdict.replace(" ", "-");

const BAR = 132;
const BAR_HEIGHT = 18;
/** The least change that fills a bar: noise of a thousandth does not look like a change. */
const LEAST_REACH = 0.02;
/** Beyond the reach of this share of the rows, bars are cut. */
const REACHED = 0.9;
/** A change by more than this always leaves its bar: beside it, others would be nothing. */
const MOST_REACH = 1;

/** What fills half of the drawing of a bar: nearly all changes of a table, so that one outlier does not flatten the others. */
export function reachOf(rows: readonly JudgedBenchmark[]): number {
  const sizes = rows.flatMap(({ relative_size: size }) => (size === null ? [] : [Math.abs(size)]));
  sizes.sort((one, other) => one - other);
  const most = (sizes[Math.ceil(sizes.length * REACHED) - 1] ?? 0) * 1.25;
  return Math.min(Math.max(LEAST_REACH, most), MOST_REACH);
}

/** A bar from no change to the change, with its 95 % interval as a line; an arrow shows that it goes on. */
export function changeBar(row: JudgedBenchmark, reach: number) {
  const { relative_size: size, low, high } = row;
  if (size === null) return nothing;
  const x = (value: number): number => Math.round((1 + Math.max(-1, Math.min(value / reach, 1))) * (BAR / 2));
  const [from, to] = [Math.min(x(0), x(size)), Math.max(x(0), x(size))];
  const middle = BAR_HEIGHT / 2;
  const beyond = Math.abs(size) > reach;
  const tip = size > 0 ? BAR : 0;
  return html`<svg
    class="change-bar ${kindOf(row)}"
    viewBox="0 0 ${BAR} ${BAR_HEIGHT}"
    width=${BAR}
    height=${BAR_HEIGHT}
    aria-hidden="true"
  >
    <path class="zero" d="M${BAR / 2} 0V${BAR_HEIGHT}"></path>
    <rect x=${from} y="4" width=${Math.max(1, to - from)} height=${BAR_HEIGHT - 8}></rect>
    ${
      low !== null && high !== null
        ? svg`<path class="interval" d="M${x(low)} ${middle}H${x(high)}M${x(low)} 5V${BAR_HEIGHT - 5}M${x(high)} 5V${BAR_HEIGHT - 5}"></path>`
        : nothing
    }
    ${beyond ? svg`<path class="beyond" d="M${tip} ${middle}l${size > 0 ? -6 : 6} -5v10z"></path>` : nothing}
  </svg>`;
}

const WIDTH = 520;
const LANE = 34;
const EDGE = 8;
const BINS = 60;

/** Dots of values as piles along the axis of values: where many are alike, the pile is high. */
function pile(values: readonly number[], x: (value: number) => number, floor: number, kind: string, size: number) {
  const heights = new Map<number, number>();
  const bin = (WIDTH - 2 * EDGE) / BINS;
  return [...values]
    .sort((one, other) => one - other)
    .map((value) => {
      const place = Math.round(x(value) / bin);
      const height = heights.get(place) ?? 0;
      heights.set(place, height + 1);
      const y = Math.max(floor - LANE + size, floor - size - height * size * 1.6);
      return svg`<circle class=${kind} r=${size} cx=${x(value).toFixed(1)} cy=${y.toFixed(1)}></circle>`;
    });
}

/** The distributions of both sides, one above the other on one axis, with a line at each level. */
export function drawDistributions(row: JudgedBenchmark) {
  const { past, new: fresh, before, after, unit } = row;
  const values = [...past, ...fresh];
  if (values.length < 2) return html`<p class="faint">There are too few values to draw.</p>`;
  const low = Math.min(...values);
  const span = Math.max(...values) - low || Math.abs(low) || 1;
  const x = (value: number): number => EDGE + ((value - low) / span) * (WIDTH - 2 * EDGE);
  const level = (value: number | null, top: number) =>
    value === null || value < low || value > low + span
      ? nothing
      : svg`<path class="level" d="M${x(value).toFixed(1)} ${top}v${LANE}"></path>`;
  const ticks = [low, low + span / 2, low + span];
  return html`<svg
    class="distributions ${kindOf(row)}"
    viewBox="0 0 ${WIDTH} ${2 * LANE + 30}"
    role="img"
    aria-label="${past.length} values up to the base, ${fresh.length} new values; the list has the numbers"
  >
    ${pile(past, x, LANE, "past", 2.2)} ${level(before, 0)} ${pile(fresh, x, 2 * LANE + 6, "new", 3.2)}
    ${level(after, LANE + 6)}
    <path class="zero" d="M0 ${LANE + 1}H${WIDTH}M0 ${2 * LANE + 7}H${WIDTH}"></path>
    ${axisTexts(ticks, unit, false).map(
      (text, index) =>
        svg`<text x=${x(ticks[index] ?? 0)} y=${2 * LANE + 24} text-anchor=${["start", "middle", "end"][index] ?? "end"}>${text}</text>`,
    )}
  </svg>`;
}

/** "12.1, 12.3, 11.9 ms": values as a list that can be copied. */
export function valueList(values: readonly number[], unit: string): string {
  return values.map((value) => valueText(value, unit)).join(", ");
}
