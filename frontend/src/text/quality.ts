/** Rates and waiting times in words. */

const NOTHING = "–";
const DAY_HOURS = 24;

/** A share as a percentage; a dash where there is nothing. */
export function formatShare(share: number | null): string {
  return share === null ? NOTHING : `${Math.round(100 * share)} %`;
}

/** The interval of a rate; nothing where there is no rate. */
export function formatInterval({ whole, low, high }: { whole: number; low: number; high: number }): string {
  return whole === 0 ? "" : `${Math.round(100 * low)}–${Math.round(100 * high)} %`;
}

/** Hours, or days from two days on. */
export function formatHours(hours: number | null): string {
  if (hours === null) return NOTHING;
  return hours >= 2 * DAY_HOURS ? `${(hours / DAY_HOURS).toFixed(1)} d` : `${hours.toFixed(1)} h`;
}

/** The smallest change that a trace could show, relative to its level; a dash where it is unknown. */
export function formatSmallest(relative: number | null): string {
  return relative === null ? NOTHING : `${(100 * relative).toFixed(1)} %`;
}
