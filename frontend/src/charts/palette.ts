/** The colours of the style sheet, for the canvas. */

import type { Direction, Status } from "../api/client";

/** The colour of a custom property in the current theme; a canvas does not resolve `var()` and `light-dark()`. */
function resolveColour(name: string, host: HTMLElement): string {
  const probe = document.createElement("span");
  probe.style.color = `var(${name})`;
  host.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

export interface Palette {
  ink: string;
  faint: string;
  grid: string;
  paper: string;
  trail: string;
  dot: string;
  level: string;
  band: string;
  suspect: string;
  pin: string;
  note: string;
  status: Record<Status, string>;
  direction: Record<Direction, string>;
  series: string[];
}

/** Lines of a plot repeat these colours. */
export const SERIES_COLOURS = 8;

export function palette(host: HTMLElement): Palette {
  const get = (name: string): string => resolveColour(name, host);
  return {
    ink: get("--ink"),
    faint: get("--ink-faint"),
    grid: get("--line-faint"),
    paper: get("--paper"),
    trail: get("--trail"),
    dot: get("--dot"),
    level: get("--level"),
    band: get("--band"),
    suspect: get("--suspect"),
    pin: get("--accent"),
    note: get("--environment"),
    status: {
      new: get("--status-new"),
      acknowledged: get("--status-acknowledged"),
      hidden: get("--status-hidden"),
      ticket: get("--status-ticket"),
    },
    direction: { regression: get("--worse"), improvement: get("--better"), unknown: get("--ink-soft") },
    series: Array.from({ length: SERIES_COLOURS }, (_, index) => get(`--series-${index + 1}`)),
  };
}
