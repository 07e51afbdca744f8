/** Fetch values for a chart: the whole line thinned out first, a part of it again when looked at closely. */

import { api } from "../../api/client";
import type { ChartRange } from "../../charts/chart-data";
import type { Series } from "../../api/series";

const POINTS = 2400;

export class ValueSource {
  private held: { key: string; range: ChartRange | undefined; series: Series[] } | undefined;

  /** The values of some traces in a range; undefined when those held already serve. */
  async fetch(
    traces: readonly number[],
    line: string,
    range: ChartRange | undefined,
    signal: AbortSignal,
  ): Promise<Series[]> {
    const key = `${traces.join()}@${line}`;
    const { held } = this;
    if (held?.key === key && covers(held.range, range) && (same(held.range, range) || !thinned(held.series)))
      return held.series;
    const series = await api.values(traces, { line, points: POINTS, first: range?.first, last: range?.last }, signal);
    this.held = { key, range, series };
    return series;
  }

  /** Forget what is held, so that the next look is at fresh values. */
  forget(): void {
    this.held = undefined;
  }
}

function thinned(series: readonly Series[]): boolean {
  return series.some((one) => one.measured > one.positions.length);
}

function same(a: ChartRange | undefined, b: ChartRange | undefined): boolean {
  return a?.first === b?.first && a?.last === b?.last;
}

function covers(outer: ChartRange | undefined, inner: ChartRange | undefined): boolean {
  if (!outer) return true;
  return inner !== undefined && outer.first <= inner.first && outer.last >= inner.last;
}
