/** Read colours of the style sheet for the canvas, and draw what uPlot does not. */

import type { Direction, Status } from "../api/client";

/** The colour that a custom property has now, in the theme that is on. */
export function colour(name: string, host: HTMLElement): string {
  const probe = document.createElement("span");
  probe.style.color = `var(${name})`;
  host.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
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

const SERIES = 8;

export function palette(host: HTMLElement): Palette {
  const get = (name: string): string => colour(name, host);
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
      new: get("--state-new"),
      acknowledged: get("--state-acknowledged"),
      hidden: get("--state-hidden"),
      ticket: get("--state-ticket"),
    },
    direction: { regression: get("--worse"), improvement: get("--better"), unknown: get("--ink-soft") },
    series: Array.from({ length: SERIES }, (_, index) => get(`--series-${index + 1}`)),
  };
}

/** Draw the shape of a triage state: diamond, disc, ring, square. */
export function shape(
  at: CanvasRenderingContext2D,
  status: Status,
  x: number,
  y: number,
  radius: number,
  paper: string,
): void {
  at.beginPath();
  if (status === "new") {
    at.moveTo(x, y - radius * 1.15);
    at.lineTo(x + radius * 1.15, y);
    at.lineTo(x, y + radius * 1.15);
    at.lineTo(x - radius * 1.15, y);
    at.closePath();
  } else if (status === "ticket") {
    at.rect(x - radius * 0.9, y - radius * 0.9, radius * 1.8, radius * 1.8);
  } else {
    at.arc(x, y, radius, 0, 2 * Math.PI);
  }
  if (status === "hidden") {
    at.save();
    at.fillStyle = paper;
    at.fill();
    at.restore();
    at.stroke();
  } else {
    at.fill();
  }
}

/** Fill a box with slanted lines. */
export function hatch(
  at: CanvasRenderingContext2D,
  left: number,
  top: number,
  width: number,
  height: number,
  gap: number,
): void {
  at.save();
  at.beginPath();
  at.rect(left, top, width, height);
  at.clip();
  at.globalAlpha *= 0.35;
  at.fillRect(left, top, width, height);
  at.globalAlpha /= 0.35;
  at.beginPath();
  for (let x = left - height; x < left + width; x += gap) {
    at.moveTo(x, top + height);
    at.lineTo(x + height, top);
  }
  at.stroke();
  at.restore();
}
