import { svg, html, type TemplateResult } from "lit";
import type { Member } from "../api/client";

const WIDTH = 132;
const HEIGHT = 30;
const EDGE = 3;

/** Draw the values around a change with the levels beside it; what lies beyond these levels may leave the drawing. */
export function sparkline(member: Member): TemplateResult {
  const spark = member.sparkline;
  if (!spark || spark.values.length < 2) return html`<span class="faint">no values</span>`;
  const { values, begin, split, end } = spark;
  const bounds = [...values.slice(begin, end), member.before_level, member.after_level];
  const low = Math.min(...bounds);
  const span = Math.max(...bounds) - low || 1;
  const x = (index: number): number => EDGE + (index * (WIDTH - 2 * EDGE)) / (values.length - 1);
  const y = (value: number): number => HEIGHT - EDGE - ((value - low) * (HEIGHT - 2 * EDGE)) / span;
  const at = (index: number, value: number): string => `${x(index).toFixed(1)} ${y(value).toFixed(1)}`;
  const line = values.map((value, index) => at(index, value)).join("L");
  const between = (index: number): number => Math.min(Math.max((x(index - 1) + x(index)) / 2, EDGE), WIDTH - EDGE);
  const middle = between(split);
  const level = (from: number, to: number, value: number) =>
    svg`<path class="level" d="M${from.toFixed(1)} ${y(value).toFixed(1)}H${to.toFixed(1)}"></path>`;
  return html`<svg
    class="spark ${member.direction}"
    viewBox="0 0 ${WIDTH} ${HEIGHT}"
    width=${WIDTH}
    height=${HEIGHT}
    aria-hidden="true"
  >
    <path class="trail" d="M${line}"></path>
    ${level(between(begin), middle, member.before_level)} ${level(middle, between(end), member.after_level)}
    <path
      class="knick"
      d="M${middle.toFixed(1)} ${y(member.before_level).toFixed(1)}V${y(member.after_level).toFixed(1)}"
    ></path>
  </svg>`;
}
