/** The range of a value axis: most values decide, and a few extreme ones do not flatten all others. */

import { lowerBound } from "../text/numbers";
import uPlot from "uplot";
import { positionBounds, relativeBase, type ChartLine, type ChartView } from "./chart-data";

/** The share of values at each end that may lie beyond the range. */
const TRIMMED = 0.01;
/** The fewest values of which any may lie beyond. */
const FEWEST = 20;
/** Values beyond are left out if they are farther from the others than this many times the spread of the others. */
const FAR = 2;
const MARGIN = 0.1;

export interface Bounds {
  low: number;
  high: number;
}

const NOTHING: Bounds = { low: Infinity, high: -Infinity };

function union(bounds: readonly Bounds[]): Bounds {
  return bounds.reduce(
    (all, { low, high }) => ({ low: Math.min(all.low, low), high: Math.max(all.high, high) }),
    NOTHING,
  );
}

function fullRange(numbers: Float64Array): Bounds {
  let { low, high } = NOTHING;
  for (const number of numbers) {
    if (number < low) low = number;
    if (number > high) high = number;
  }
  return { low, high };
}

/**
 * The greatest numbers in descending order, `count` of them; of all numbers times -1 where `sign` is -1.
 *
 * A plot has the values of a thousand lines: most of them are passed over by one comparison, and nothing is sorted.
 */
function greatestOf(numbers: Float64Array, count: number, sign: 1 | -1): Float64Array {
  const found = new Float64Array(count).fill(-Infinity);
  let bound = -Infinity;
  for (const number of numbers) {
    const value = sign * number;
    if (value <= bound) continue;
    let at = count - 1;
    for (; at > 0 && (found[at - 1] ?? 0) < value; at--) found[at] = found[at - 1] ?? 0;
    found[at] = value;
    bound = found[count - 1] ?? 0;
  }
  return found;
}

/** The range of numbers, without extreme ones that are far from all others. */
export function mainRange(numbers: Float64Array): Bounds {
  if (numbers.length < FEWEST) return fullRange(numbers);
  const trimmed = Math.max(1, Math.round(numbers.length * TRIMMED));
  const [above, below] = [greatestOf(numbers, trimmed + 1, 1), greatestOf(numbers, trimmed + 1, -1)];
  const [least, greatest] = [-(below[0] ?? 0), above[0] ?? 0];
  const [low, high] = [-(below[trimmed] ?? 0), above[trimmed] ?? 0];
  const far = FAR * (high - low);
  // Values that never vary have no spread to compare with.
  if (far === 0) return { low: least, high: greatest };
  return { low: low - least > far ? low : least, high: greatest - high > far ? high : greatest };
}

/** The values of a line in a range of positions, both ends included. */
function visibleValues({ positions, values }: ChartLine, min: number, max: number): Float64Array {
  return values.subarray(lowerBound(positions, min), lowerBound(positions, Math.floor(max) + 1));
}

/** The bounds of what an axis has to show of its lines; all values where it is logarithmic. */
function shownBounds(view: ChartView, lines: readonly ChartLine[], logarithmic: boolean): Bounds {
  const { min, max } = positionBounds(view);
  const ofLines = lines.map((line) => {
    const values = visibleValues(line, min, max);
    const { low, high } = logarithmic ? fullRange(values) : mainRange(values);
    const base = relativeBase(view, line);
    return { low: low / base, high: high / base };
  });
  // Quarantined values and those of probes belong to no line, and are drawn as well.
  const base = view.lines[0] ? relativeBase(view, view.lines[0]) : 1;
  const beside = [...view.quarantined, ...view.remeasured].flatMap(({ position, value }) =>
    value !== null && position >= min && position <= max ? [{ low: value / base, high: value / base }] : [],
  );
  return union([...ofLines, ...beside]);
}

/** The least and greatest value of an axis that shows some lines. */
export function valueRange(view: ChartView, lines: readonly ChartLine[], logarithmic: boolean): uPlot.Range.MinMax {
  const { low, high } = shownBounds(view, lines, logarithmic);
  if (!Number.isFinite(low) || !Number.isFinite(high)) return [0, 1];
  if (logarithmic) return uPlot.rangeLog(low, high, 10, false);
  if (view.scale === "zero") {
    return uPlot.rangeNum(Math.min(0, low), Math.max(0, high), {
      min: { pad: 0.04, soft: 0, mode: 1 },
      max: { pad: 0.08, soft: 0, mode: 1 },
    });
  }
  const { least, greatest } = withLevels(view, low, high);
  // Values that do not vary get some room all the same; an axis of positive values never goes below zero.
  const span = greatest - least || Math.abs(greatest) * MARGIN || 1;
  const bottom = least - span * MARGIN;
  return [least >= 0 ? Math.max(0, bottom) : bottom, greatest + span * MARGIN];
}

/** Keep the medians of the visible stable regions in the plot, even if all visible values are beside them. */
function withLevels(view: ChartView, low: number, high: number): { least: number; greatest: number } {
  const { min, max } = positionBounds(view);
  const base = view.lines[0] ? relativeBase(view, view.lines[0]) : 1;
  const visible = view.levels.filter((level) => level.last >= min && level.first <= max);
  const medians = visible.map((level) => level.median / base);
  return { least: Math.min(low, ...medians), greatest: Math.max(high, ...medians) };
}
