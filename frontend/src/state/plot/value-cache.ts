/**
 * The values of a chart, at a resolution that fits the screen.
 *
 * The server thins long traces out: of each stretch it sends the least and the greatest value, so that no spike is lost.
 * The whole line comes thinned out first; a range that the user zooms into is requested again in full.
 */

import { api } from "../../api/client";
import type { Series } from "../../api/series";
import type { ChartRange } from "../../charts/chart-data";

/** Points of one trace: some more than a wide screen has pixels. */
const MAX_POINTS = 2400;
/** With more traces than this, each has fewer points, and its values fewer digits. */
const MAX_FULL_TRACES = 100;
const CROWD_POINTS = 300;

export class ValueCache {
  private cached: { key: string; range: ChartRange | undefined; series: Series[] } | undefined;

  /** The values of some traces in a range; from the cache if it has them at full resolution. */
  async fetch(
    traces: readonly number[],
    line: string,
    range: ChartRange | undefined,
    signal: AbortSignal,
    most = MAX_POINTS,
    summary = "",
  ): Promise<Series[]> {
    const key = `${traces.join()}@${line}@${summary}`;
    const { cached } = this;
    // A range inside the cached one needs no request, unless the cached values are thinned out.
    if (cached?.key === key && contains(cached.range, range)) {
      if (isSame(cached.range, range) || !isThinned(cached.series)) return cached.series;
    }
    const compact = traces.length > MAX_FULL_TRACES;
    const points = Math.min(most, compact ? CROWD_POINTS : MAX_POINTS);
    const window = { line, points, compact, summary, first: range?.first, last: range?.last };
    const series = await api.values(traces, window, signal);
    this.cached = { key, range, series };
    return series;
  }
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
