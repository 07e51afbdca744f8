/** Where commits stand from left to right: evenly spaced, or at their dates. */

import { lowerBound } from "../text/numbers";
import { positionBounds, type ChartView } from "./chart-data";

/** The room at both ends of an axis of dates, as a share of its length. */
const DATE_MARGIN = 0.012;

export interface PositionAxis {
  /** The place of a position on the axis; positions between commits are allowed. */
  toX: (position: number) => number;
  /** The position at a place on the axis; a fraction between two commits. */
  toPosition: (x: number) => number;
}

const EVEN: PositionAxis = { toX: (position) => position, toPosition: (x) => x };

/**
 * The axis of a plot.
 *
 * Dates of commits may go back, since authors' clocks and rebases do that. The axis keeps the order of the commits: a commit
 * stands at the latest date up to it. Commits without a date stand with the one before.
 */
export function positionAxis({ along, times }: Pick<ChartView, "along" | "times">): PositionAxis {
  if (along === "commits") return EVEN;
  const axis = axesOfDates.get(times) ?? axisOfDates(times);
  axesOfDates.set(times, axis);
  return axis;
}

const axesOfDates = new WeakMap<Float64Array, PositionAxis>();

function axisOfDates(times: Float64Array): PositionAxis {
  const first = times.find((time) => !Number.isNaN(time));
  if (first === undefined) return EVEN;
  const places = Float64Array.from(times);
  let latest = first;
  for (let index = 0; index < places.length; index++) {
    const time = places[index] ?? NaN;
    if (time > latest) latest = time;
    places[index] = latest;
  }
  const last = places.length - 1;
  return {
    toX(position) {
      const before = Math.max(0, Math.min(Math.floor(position), last));
      const [left = 0, right = left] = [places[before], places[Math.min(before + 1, last)]];
      return left + (right - left) * Math.max(0, Math.min(position - before, 1));
    },
    toPosition(x) {
      const after = lowerBound(places, x);
      if (after === 0 || after > last) return Math.min(after, last);
      const [left = 0, right = left] = [places[after - 1], places[after]];
      return after - 1 + (x - left) / (right - left);
    },
  };
}

/** The least and greatest place that the plot shows. */
export function axisBounds(view: ChartView): { min: number; max: number } {
  const { min, max } = positionBounds(view);
  if (view.along === "commits") return { min, max };
  // Half a commit beside the last one may be months: only whole commits count.
  const { toX } = positionAxis(view);
  const [first, last] = [toX(Math.ceil(min)), toX(Math.floor(max))];
  const margin = (last - first) * DATE_MARGIN || 1;
  return { min: first - margin, max: last + margin };
}
