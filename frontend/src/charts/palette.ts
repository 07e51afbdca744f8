/** The colours of the style sheet, for the canvas. */

import type { Direction, Status } from "../api/client";
import { shownTheme } from "../state/theme";

/** The palettes by theme and medium: to read a colour, the browser lays the page out. */
const known = new Map<string, Palette>();

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

/** The colours of the current theme; paper is light in any theme. */
export function palette(host: HTMLElement): Palette {
  const key = matchMedia("print").matches ? "print" : shownTheme();
  const colours = known.get(key) ?? readPalette(host);
  known.set(key, colours);
  return colours;
}

function readPalette(host: HTMLElement): Palette {
  // A canvas does not resolve `var()` and `light-dark()`, the style of an element does. All elements are there before the
  // first style is asked for: the browser calculates them together.
  const probes = new Map<string, HTMLElement>();
  coloursOf((name) => {
    const probe = document.createElement("span");
    probe.style.color = `var(${name})`;
    probes.set(name, probe);
    return "";
  });
  host.append(...probes.values());
  const colours = coloursOf((name) => getComputedStyle(probes.get(name) ?? host).color);
  for (const probe of probes.values()) probe.remove();
  return colours;
}

function coloursOf(get: (name: string) => string): Palette {
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
