/** The legend of the plot: what the lines share, and by what each differs. */

import { html, nothing, svg } from "lit";
import { repeat } from "lit/directives/repeat.js";
import { axisUnits, isCrowd } from "../../charts/chart-data";
import { SERIES_COLOURS } from "../../charts/palette";
import { DASHES, dashOf } from "../../charts/uplot-options";
import { routeUrl } from "../../routes/routes";
import { traceRoute } from "../../routes/trace";
import type { Scale } from "../../routes/url";
import type { PlottedLine } from "../../state/plot/plot-loader";
import { longName } from "../../templates/trace-name";
import { lineStats, nextOrder, orderLines, type LegendColumn, type LineStats } from "../../text/line-stats";
import { countText, grouped, percentText, signedPercentText } from "../../text/numbers";
import { unitText, valueText } from "../../text/units";
import type { ExploreContext } from "./context";
import type { Graph } from "./graph";
import { MAX_GRAPHS } from "./graphs";
import { smoothingText } from "./smoothing-field";

export function renderLegend(context: ExploreContext, graph: Graph, scale: Scale) {
  const { common, lines } = graph.plot;
  const units = scale === "ratio" ? [] : axisUnits(lines, "auto");
  const isEmpty = (formula: string): boolean => lines.length > 0 && !lines.some((line) => line.formula === formula);
  const emptyFormulas = graph.selection.formulas.filter(isEmpty);
  const crowd = isCrowd(lines) && !context.route.multiples;
  // Lines of traces come before those of formulas. Of a crowd, the table of traces is made once it is opened.
  const listed = context.route.multiples ? [] : crowd ? lines.filter((line) => !line.trace) : lines;
  const open = (event: Event): void => context.expandLegend((event.target as HTMLDetailsElement).open);
  return html`${common ? html`<p class="legend-common"><span class="faint">All lines:</span> ${longName(common)}</p>` : nothing}
  ${smoothingNote(context.route.smooth)}
  ${crowd ? html`<p class="legend-common faint">Hover over a line to see its name; click to keep it in front.</p>` : nothing}
  ${listed.length + emptyFormulas.length > 0 ? renderTable(context, graph, { listed, units, emptyFormulas }) : nothing}
  ${
    crowd
      ? html`<details class="legend-crowd" @toggle=${open}>
          <summary>Table of ${countText(lines.length, "line")}</summary>
          ${context.isLegendExpanded ? renderTable(context, graph, { listed: lines, units, emptyFormulas: [] }) : nothing}
        </details>`
      : nothing
  }`;
}

const COLUMNS: readonly [LegendColumn, string, string][] = [
  ["name", "Line", "Params that tell it from the others"],
  ["newest", "Newest", "The newest value in the shown range"],
  ["change", "Change", "The median of the last five values in the shown range over that of the first five"],
  ["noise", "Noise", "The standard deviation of single values over their level; changes of the level do not count"],
];
/** Rows of the table of a crowd that are drawn. */
const MOST_ROWS = 100;

interface TableLines {
  listed: readonly PlottedLine[];
  units: readonly string[];
  emptyFormulas: readonly string[];
}

function renderTable(context: ExploreContext, graph: Graph, { listed, units, emptyFormulas }: TableLines) {
  const { lines } = graph.plot;
  const order = context.legendOrder;
  const rows = orderLines(
    listed.map((line) => ({ line, index: lines.indexOf(line), stats: lineStats(line, context.range) })),
    order,
  ).slice(0, MOST_ROWS);
  const head = ([by, name, title]: (typeof COLUMNS)[number]) => {
    const sorted = order?.by === by ? (order.descending ? "descending" : "ascending") : "none";
    return html`<th scope="col" class=${by} aria-sort=${sorted} title=${title}>
      <button class="sort" @click=${() => context.sortLegend(nextOrder(order, by))}>
        ${name} <span aria-hidden="true">${{ none: "", ascending: "▲", descending: "▼" }[sorted]}</span>
      </button>
    </th>`;
  };
  return html`<div class="legend-place">
    <table class="legend series" aria-label="Lines" @mouseleave=${() => context.highlightLine(graph, undefined)}>
      <thead>
        <tr>
          <td></td>
          ${COLUMNS.map(head)}
          <td></td>
        </tr>
      </thead>
      <tbody>
        ${repeat(
          rows,
          ({ line }) => line.id,
          (row) => renderRow(context, graph, row, units),
        )}
        ${emptyFormulas.map(
          (formula) =>
            html`<tr>
              <td></td>
              <th scope="row"><code class="legend-name">${formula}</code> <span class="faint">no traces</span></th>
              <td colspan="3"></td>
              <td>${renderRemove(formula, () => context.edits.removeFormula(formula, graph))}</td>
            </tr>`,
        )}
      </tbody>
    </table>
    ${listed.length > rows.length ? html`<p class="faint">${grouped(rows.length)} of ${countText(listed.length, "line")}: sort by what you look for, or narrow the query.</p>` : nothing}
  </div>`;
}

function smoothingNote(count: number) {
  if (count === 1) return nothing;
  return html`<p class="legend-common">
    <strong>${smoothingText(count)}.</strong> Tooltips, CSV and findings have the values as they were measured.
  </p>`;
}

/** The line as the plot draws it: its colour and its strokes. */
function renderKey(index: number, isOne: boolean) {
  const dashes = DASHES[dashOf(index)]?.join(" ") ?? "";
  return html`<svg class="key-line s${(index % SERIES_COLOURS) + 1}" viewBox="0 0 28 8" aria-hidden="true">
    ${isOne ? svg`<circle cx="14" cy="4" r="3"></circle>` : svg`<path d="M0 4H28" stroke-dasharray=${dashes || nothing}></path>`}
  </svg>`;
}

function renderRow(
  context: ExploreContext,
  graph: Graph,
  { line, index, stats: { newest, change, noise } }: { line: PlottedLine; index: number; stats: LineStats },
  units: readonly string[],
) {
  const axis = `${unitText(line.unit) || "no unit"}, axis ${units.indexOf(line.unit) + 1}`;
  return html`<tr
    class=${graph.isHidden(line) ? "hidden-line" : ""}
    @mouseenter=${() => context.highlightLine(graph, line.id)}
    @focusin=${() => context.highlightLine(graph, line.id)}
    @focusout=${() => context.highlightLine(graph, undefined)}
  >
    <td>${renderKey(index, graph.plot.lines.length === 1)}</td>
    <th scope="row">
      ${
        line.trace
          ? html`<a class="legend-name" href=${routeUrl(traceRoute(line.id))} title=${line.title}
              ><bdi>${longName(line.label)}</bdi></a
            >`
          : html`<code class="legend-name" title=${line.title}>${line.label}</code>`
      }
      ${units.length > 1 ? html`<span class="faint">${axis}</span>` : nothing}
    </th>
    <td class="figure newest">${newest === undefined ? "–" : valueText(newest, line.unit)}</td>
    <td class="figure">${change === undefined ? "–" : signedPercentText(change)}</td>
    <td class="figure">${noise === undefined ? "–" : percentText(noise)}</td>
    <td class="legend-acts">
      ${renderLineMenu(context, graph, line)}
      ${renderRemove(line.formula || line.title, () => context.edits.removeLine(line, graph))}
    </td>
  </tr>`;
}

/** What is done with one line: hide it, or move it to another graph. A formula moves with all its lines. */
export function renderLineMenu({ edits, graphs }: ExploreContext, graph: Graph, line: PlottedLine) {
  const item = (text: string, run: () => void) =>
    html`<button
      class="button small"
      @click=${(event: Event) => {
        (event.target as Element).closest("details")?.removeAttribute("open");
        run();
      }}
    >
      ${text}
    </button>`;
  return html`<details class="line-menu">
    <summary class="icon tiny" aria-label="Hide or move ${line.formula || line.title}" title="Hide or move">⋯</summary>
    <div>
      ${item(graph.isHidden(line) ? "Show" : "Hide", () => edits.toggleHidden(line, graph))}
      ${graphs.map((into, at) => (into === graph ? nothing : item(`Move to graph ${at + 1}`, () => edits.moveLine(line, graph, into))))}
      ${
        graph.plot.lines.length > 1 && graphs.length < MAX_GRAPHS
          ? item("Move to a new graph", () => edits.moveLine(line, graph))
          : nothing
      }
    </div>
  </details>`;
}

export function renderRemove(name: string, remove: () => void) {
  return html`<button class="icon tiny" aria-label="Remove ${name} from the plot" @click=${remove}>×</button>`;
}
