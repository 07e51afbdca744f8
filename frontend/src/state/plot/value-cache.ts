/**
 * The values of a chart, at a resolution that fits the screen.
 *
 * The server thins long traces out: of each stretch it sends the least and the greatest value, so that no spike is lost.
 * The whole line comes thinned out first; a range that the user zooms into is requested again in full.
 */

import { api } from "../../api/client";
import type { Series } from "../../api/series";
import type { ChartRange } from "./lines";

/** Points of one trace: some more than a wide screen has pixels. */
const MAX_POINTS = 2400;
/** More traces than this share the points of so many, and their values have fewer digits. */
const CROWD = 125;

export class ValueCache {
  private cached: { key: string; range: ChartRange | undefined; series: readonly Series[] } | undefined;

  /** The values of some traces in a range; from the cache if it has them at full resolution. */
  async fetch(
    traces: readonly number[],
    line: string,
    range: ChartRange | undefined,
    signal: AbortSignal,
    most = MAX_POINTS,
    summary = "",
  ): Promise<readonly Series[]> {
    const key = keyOf(traces, line, summary);
    const { cached } = this;
    // A range inside the cached one needs no request, unless the cached values are thinned out.
    if (cached?.key === key && contains(cached.range, range)) {
      if (isSame(cached.range, range) || !isThinned(cached.series)) return cached.series;
    }
    const compact = traces.length > CROWD;
    const points = Math.min(most, compact ? Math.floor((MAX_POINTS * CROWD) / traces.length) : MAX_POINTS);
    const window = { line, points, compact, summary, first: range?.first, last: range?.last };
    const series = await api.values(traces, window, signal);
    this.cached = { key, range, series };
    return series;
  }

  /** Load the values of the first traces that a query finds, before it is known which these are. */
  async prepare(
    repository: string,
    query: string,
    limit: number,
    range: ChartRange | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const window = { points: MAX_POINTS, crowd: CROWD, first: range?.first, last: range?.last };
    const { ids, series } = await api.foundValues({ repository, query, limit, ...window }, signal);
    this.cached = { key: keyOf(ids), range, series };
  }
}

function keyOf(traces: readonly number[], line = "", summary = ""): string {
  return `${traces.join()}@${line}@${summary}`;
}

function isThinned(series: readonly Series[]): boolean {
  return series.some(({ measured, positions }) => measured > positions.length);
}

function isSame(a: ChartRange | undefined, b: ChartRange | undefined): boolean {
  return a?.first === b?.first && a?.last === b?.last;
}

function contains(outer: ChartRange | undefined, inner: ChartRange | undefined): boolean {
  if (!outer) return true;
  return inner !== undefined && outer.first <= inner.first && outer.last >= inner.last;
}
