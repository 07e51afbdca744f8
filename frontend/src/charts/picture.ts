/** A plot as a file: its canvases as PNG, or its lines, axes, findings and tickets as SVG; the names of the lines stand below. */

import type uPlot from "uplot";
import { FINDING_RADIUS, findingPlaces } from "./annotations";
import { isCrowd, type ChartView } from "./chart-data";
import { crowdAlpha, tracer } from "./crowd";
import type { Palette } from "./palette";
import { positionAxis } from "./position-axis";
import { DASHES, dashOf, lineColour, showsDots } from "./uplot-options";

/** The height of a row of text below the plot, and the width of a character, in pixels. */
const ROW = 18;
const CHARACTER = 7;
const FONT = "12px system-ui, sans-serif";
/** How uPlot marks the side of an axis. */
const LEFT = 3;
/** Lines run off the plot at most this far, in pixels: programs refuse greater numbers. */
const FARTHEST = 1e4;

interface Row {
  text: string;
  colour: string;
}

/** An axis of uPlot, with its ticks and where it stands. */
type DrawnAxis = uPlot.Axis & { _splits: number[] | null; _values: (string | null)[] | null; _pos: number };

/** Below a plot: what all lines share, and the names of the lines in their colours; long ones take several rows. */
export function captionRows(view: Pick<ChartView, "lines">, title: string, colours: Palette, width: number): Row[] {
  const names = isCrowd(view.lines) ? [] : view.lines.map(({ label }, index) => [label, lineColour(colours, index)]);
  const wide = new RegExp(`.{1,${Math.max(20, Math.floor(width / CHARACTER))}}`, "gsu");
  return [[title, colours.ink], ...names].flatMap(([text = "", colour = ""]) =>
    (text.match(wide) ?? []).map((row) => ({ text: row, colour })),
  );
}

/** Draw what a plot shows, and its names, on a canvas of PNG. */
export async function pngOf(view: ChartView, plot: uPlot, colours: Palette, title: string): Promise<Blob> {
  const ratio = devicePixelRatio;
  const { canvas: drawn } = plot.ctx;
  const rows = captionRows(view, title, colours, plot.width);
  const canvas = document.createElement("canvas");
  canvas.width = drawn.width;
  canvas.height = drawn.height + (rows.length + 1) * ROW * ratio;
  const pen = canvas.getContext("2d");
  if (!pen) throw new Error("the browser has no canvas");
  pen.fillStyle = colours.paper;
  pen.fillRect(0, 0, canvas.width, canvas.height);
  pen.drawImage(drawn, 0, 0);
  for (const layer of drawn.parentElement?.querySelectorAll<HTMLCanvasElement>(".crowd-layer") ?? []) {
    pen.globalAlpha = Number(layer.style.opacity || 1);
    pen.drawImage(layer, plot.bbox.left, plot.bbox.top);
  }
  pen.globalAlpha = 1;
  pen.scale(ratio, ratio);
  pen.font = FONT;
  rows.forEach(({ text, colour }, index) => {
    pen.fillStyle = colour;
    pen.fillText(text, 12, plot.height + (index + 1) * ROW);
  });
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("the browser cannot write the picture"))));
  });
}

/** Write the lines, axes, findings and tickets of a plot, and its names, as SVG. */
export function svgOf(view: ChartView, plot: uPlot, colours: Palette, title: string): Blob {
  const ratio = devicePixelRatio;
  const [left, top, width, height] = [plot.bbox.left, plot.bbox.top, plot.bbox.width, plot.bbox.height].map(
    (size) => size / ratio,
  ) as [number, number, number, number];
  const rows = captionRows(view, title, colours, plot.width);
  const caption = rows.map(({ text, colour }, index) => svgWord(12, plot.height + (index + 1) * ROW, text, colour));
  const total = plot.height + (rows.length + 1) * ROW;
  const axes = plot.axes.map((axis, index) => svgAxis(plot, axis as DrawnAxis, index, { left, top, width, height }));
  const { toX } = positionAxis(view);
  const tickets = view.tickets.map(({ position, open }) => {
    const x = plot.valToPos(toX(position), "x") - 4;
    const fill = open ? colours.status.ticket : colours.paper;
    return `<rect x="${x}" y="${height - 26}" width="8" height="8" fill="${fill}" stroke="${colours.status.ticket}"/>`;
  });
  const findings = findingPlaces(view, plot).map(
    ({ x, y, status }) => `<circle cx="${x}" cy="${y}" r="${FINDING_RADIUS}" fill="${colours.status[status]}"/>`,
  );
  const text = `<svg xmlns="http://www.w3.org/2000/svg" width="${plot.width}" height="${total}" font-family="system-ui, sans-serif" font-size="12">
<rect width="100%" height="100%" fill="${colours.paper}"/>
<g fill="${colours.faint}" stroke="none">${axes.join("").replaceAll("GRID", colours.grid)}</g>
<clipPath id="plot"><rect width="${width}" height="${height}"/></clipPath>
<g transform="translate(${left} ${top})" clip-path="url(#plot)">
${[...svgLines(view, plot, colours), ...tickets, ...findings].join("\n")}
</g>
${caption.join("\n")}
</svg>
`;
  return new Blob([text], { type: "image/svg+xml" });
}

function svgLines(view: ChartView, plot: uPlot, colours: Palette): string[] {
  const trace = tracer(view, plot);
  const crowd = isCrowd(view.lines);
  const style = crowd ? `stroke-opacity="${crowdAlpha(view.lines.length)}"` : `stroke-width="1.5"`;
  return view.lines.map((line, index) => {
    const [colour, id] = [lineColour(colours, index), `dot${index}`];
    const dotted = line.positions.length === 1 || (!crowd && showsDots(plot));
    const dot = `<marker id="${id}" markerUnits="userSpaceOnUse" markerWidth="4" markerHeight="4" refX="2" refY="2"><circle cx="2" cy="2" r="2" fill="${colour}"/></marker>`;
    const dashes = crowd ? "" : ` stroke-dasharray="${DASHES[dashOf(index)]?.join(" ") ?? ""}"`;
    return `${dotted ? dot : ""}<path d="${svgPath((pen) => trace(line, pen))}" fill="none" stroke="${colour}"${dashes} ${style}${dotted ? ` style="marker:url(#${id})"` : ""}/>`;
  });
}

/** The text of a path, in pixels of the page. */
function svgPath(draw: (pen: { moveTo: Step; lineTo: Step }) => unknown): string {
  const steps: string[] = [];
  const place = (number: number): string =>
    (Math.max(-FARTHEST, Math.min(number / devicePixelRatio, FARTHEST)) || 0).toFixed(1);
  const step =
    (letter: string): Step =>
    (x, y) =>
      void steps.push(`${letter}${place(x)} ${place(y)}`);
  draw({ moveTo: step("M"), lineTo: step("L") });
  return steps.join("");
}

type Step = (x: number, y: number) => void;

interface Box {
  left: number;
  top: number;
  width: number;
  height: number;
}

/** The ticks of an axis, with the lines of the grid for the first axis of each direction. */
function svgAxis(plot: uPlot, axis: DrawnAxis, index: number, { left, top, width, height }: Box): string {
  const scale = axis.scale ?? "x";
  const parts = (axis._splits ?? []).map((split, tick) => {
    const text = axis._values?.[tick] ?? "";
    const at = plot.valToPos(split, scale);
    const [right, bottom] = [left + width, top + height];
    if (index === 0) {
      return `<path d="M${left + at} ${top}V${bottom}" stroke="GRID"/>${svgWord(left + at, bottom + 18, text, "", "middle")}`;
    }
    const grid = index === 1 ? `<path d="M${left} ${top + at}H${right}" stroke="GRID"/>` : "";
    const onLeft = Number(axis.side) === LEFT;
    return grid + svgWord(axis._pos + (onLeft ? -10 : 10), top + at + 4, text, "", onLeft ? "end" : "start");
  });
  return parts.join("");
}

function svgWord(x: number, y: number, text: string, colour: string, anchor = "start"): string {
  const fill = colour ? ` fill="${colour}"` : "";
  return `<text x="${x}" y="${y}"${fill} text-anchor="${anchor}">${escaped(text)}</text>`;
}

/** XML has no control characters. */
function escaped(text: string): string {
  return text.replace(/\p{Cc}/gu, " ").replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
}
