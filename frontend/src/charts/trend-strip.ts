/** The strip of a sum of traces in the timeline of a repository: its line, and its changes as marks that lead to their pages. */

import { html, nothing, svg, type TemplateResult } from "lit";
import type { Direction, Trend, Trends } from "../api/client";
import { changeRoute } from "../routes/change";
import { routeUrl } from "../routes/routes";
import { dayText } from "../text/dates";
import { countText, ratioText, percentText } from "../text/numbers";

/** The drawing is stretched to its place; marks are not. */
const SIZE = 100;
/** The least range of the drawing, as a share of the beginning: noise of a thousandth is a flat line. */
const LEAST_SPAN = 0.02;
/** Pixels across of the mark of the smallest change, and how many more one has that doubles the values. */
const LEAST_MARK = 7;
const MARK_GROWTH = 9;

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
const SHAPES = { up: "M0-5L5 4H-5Z", down: "M0 5L5-4H-5Z", unknown: "M0-5L5 0L0 5L-5 0Z" };

type Mark = Trend["marks"][number];

function shapeOf(direction: Direction, better: Trend["better"]): string {
  if (direction === "unknown") return SHAPES.unknown;
  return (direction === "regression") === (better !== "higher") ? SHAPES.up : SHAPES.down;
}

/** Pixels across: the square root of the logarithm, as people compare areas. */
export function markSize({ size }: Pick<Mark, "size">): number {
  return Math.round(LEAST_MARK + MARK_GROWTH * Math.min(1, Math.sqrt((size ?? Math.LN2) / Math.LN2)));
}

function factorText(size: number | null): string {
  if (size === null) return "";
  const ratio = Math.exp(size);
  return ratio >= 3 ? `${ratioText(ratio)}×` : percentText(ratio - 1);
}

/** "R12, 2026-02-03: 3 findings, the largest 24 %; the level before is back". */
function markTitle({ change, findings, size, undone }: Mark, time: string | undefined): string {
  const largest = factorText(size);
  const parts = [countText(findings, "finding"), largest ? `${findings > 1 ? "the largest " : ""}${largest}` : ""];
  const what = parts.filter(Boolean).join(", ");
  return `${change}${time ? `, ${dayText(time)}` : ""}: ${what}${undone ? "; the level before is back" : ""}`;
}

/** The series of a sum around the line of its beginning; marks stand where findings are, grey ones where these were undone. */
export function trendStrip(
  { points, marks, better }: Pick<Trend, "points" | "marks" | "better">,
  times: Trends["times"],
): TemplateResult {
  const known = points.filter((value) => value !== null);
  if (known.length < 2) return html`<span class="lane-strip faint">too few values</span>`;
  const low = Math.min(1, ...known);
  const high = Math.max(1, ...known);
  const spare = Math.max(0, LEAST_SPAN - (high - low)) / 2;
  const span = high - low + 2 * spare;
  const x = (index: number): string => ((index * SIZE) / (points.length - 1 || 1)).toFixed(2);
  const y = (value: number): string => (SIZE - ((value - low + spare) * SIZE) / span).toFixed(1);
  const heightAt = (index: number): number => points.slice(0, index + 1).findLast((point) => point !== null) ?? 1;
  // What was undone is behind, and small marks are before large ones.
  const ordered = [...marks].sort(
    (one, other) => Number(other.undone) - Number(one.undone) || markSize(other) - markSize(one),
  );
  return html`<div class="lane-strip">
    <svg viewBox="0 0 ${SIZE} ${SIZE}" preserveAspectRatio="none" aria-hidden="true">
      <path class="level" d="M0 ${y(1)}H${SIZE}"></path>
      <path class="trail" d=${trail(points, x, y)}></path>
    </svg>
    ${ordered.map(
      (mark) =>
        html`<a
          class="mark ${mark.direction} ${mark.undone ? "undone" : ""}"
          href=${routeUrl(changeRoute(mark.change))}
          tabindex="-1"
          title=${markTitle(mark, times[mark.index])}
          aria-label=${markTitle(mark, times[mark.index])}
          .style=${`left: ${x(mark.index)}%; top: ${y(heightAt(mark.index))}%; width: ${markSize(mark)}px`}
          ><svg viewBox="-5 -5 10 10" aria-hidden="true">
            ${svg`<path d=${shapeOf(mark.direction, better)}></path>`}
          </svg></a
        >`,
    )}
  </div>`;
}

/** The dates below the strips: that of the first commit, of one in the middle, and of the newest. */
export function timeAxis(times: Trends["times"]): TemplateResult | typeof nothing {
  if (times.length < 2) return nothing;
  const days = [times[0], times[times.length >> 1], times.at(-1)].map((time) => (time ? dayText(time) : ""));
  return html`<div class="lane-dates faint">${days.map((day) => html`<span>${day}</span>`)}</div>`;
}
