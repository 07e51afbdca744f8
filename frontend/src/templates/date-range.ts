/** Two fields for the first and the last day that a plot shows. */

import { html } from "lit";
import type { ChartRange } from "../state/plot/lines";
import { dayText } from "../text/dates";

/** The first position whose day is `day` or later; days ascend, but for a few commits. */
export function positionOfDay(times: ArrayLike<number>, day: string): number {
  let [low, high] = [0, times.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    // A commit without a time is where its neighbours are.
    let known = middle;
    while (known > low && Number.isNaN(times[known])) known--;
    const time = times[known] ?? NaN;
    if (Number.isNaN(time) || dayText(time) < day) low = middle + 1;
    else high = known === middle ? middle : known;
  }
  return low;
}

function dayAt(times: ArrayLike<number>, position: number): string {
  const time = times[Math.max(0, Math.min(Math.round(position), times.length - 1))];
  return time === undefined || Number.isNaN(time) ? "" : dayText(time);
}

/** The range from one day to another, both included; undefined where it is empty or the whole line. */
export function rangeOfDays(times: ArrayLike<number>, from: string, until: string): ChartRange | undefined {
  const first = from ? positionOfDay(times, from) : 0;
  const last = (until ? positionOfDay(times, `${until}~`) : times.length) - 1;
  if (first >= last || (first === 0 && last === times.length - 1)) return undefined;
  return { first, last };
}

export function dateRangeFields(
  times: ArrayLike<number>,
  range: ChartRange | undefined,
  onRange: (range: ChartRange | undefined) => void,
) {
  const [from, until] = [dayAt(times, range?.first ?? 0), dayAt(times, range?.last ?? times.length - 1)];
  const field = (label: string, value: string, rangeOf: (chosen: string) => ChartRange | undefined) =>
    html`<input
      type="date"
      class="day"
      aria-label=${label}
      title=${label}
      .value=${value}
      @change=${(event: Event) => onRange(rangeOf((event.target as HTMLInputElement).value))}
    />`;
  return html`<span class="days"
    >${field("From this day", from, (chosen) => rangeOfDays(times, chosen, range ? until : ""))}
    <span class="faint">to</span>
    ${field("Until this day", until, (chosen) => rangeOfDays(times, range ? from : "", chosen))}</span
  >`;
}
