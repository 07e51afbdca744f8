/** The legend of the plot: what the lines share, and by what each differs. */

import { html, nothing } from "lit";
import { axisUnits, isCrowd } from "../../charts/chart-data";
import { SERIES_COLOURS } from "../../charts/palette";
import type { Scale } from "../../routes/url";
import type { PlottedLine } from "../../state/plot/plot-loader";
import { longName } from "../../templates/trace-name";
import { unitText } from "../../text/units";
import type { ExploreContext } from "./context";
import type { Graph } from "./graph";
import { MAX_GRAPHS } from "./graphs";
import { smoothingText } from "./smoothing-field";

export function renderLegend(context: ExploreContext, graph: Graph, scale: Scale) {
  const { common, lines } = graph.plot;
  const units = scale === "ratio" ? [] : axisUnits(lines, "auto");
  const isEmpty = (formula: string): boolean => lines.length > 0 && !lines.some((line) => line.formula === formula);
  const emptyFormulas = graph.selection.formulas.filter(isEmpty);
  // Lines of traces, which are too many to be listed, come before those of formulas.
  const listed = context.route.multiples ? [] : isCrowd(lines) ? lines.filter((line) => !line.trace) : lines;
  return html`${common ? html`<p class="legend-common"><span class="faint">All lines:</span> ${longName(common)}</p>` : nothing}
    ${smoothingNote(context.route.smooth)}
    ${isCrowd(lines) && !context.route.multiples ? html`<p class="legend-common faint">Point at a line to see its name; click to keep it in front.</p>` : nothing}
    <ul class="legend series" @mouseleave=${() => context.highlightLine(graph, undefined)}>
      ${listed.map((line) =>
        renderLegendEntry(context, graph, line, { colour: (lines.indexOf(line) % SERIES_COLOURS) + 1, units }),
      )}
      ${emptyFormulas.map(
        (formula) =>
          html`<li>
            <code class="legend-name">${formula}</code><span class="faint">no traces</span>
            ${renderRemove(formula, () => context.edits.removeFormula(formula, graph))}
          </li>`,
      )}
    </ul>`;
}

function smoothingNote(count: number) {
  if (count === 1) return nothing;
  return html`<p class="legend-common">
    <strong>${smoothingText(count)}.</strong> Tooltips, CSV and findings have the values as they were measured.
  </p>`;
}

function renderLegendEntry(
  context: ExploreContext,
  graph: Graph,
  line: PlottedLine,
  { colour, units }: { colour: number; units: readonly string[] },
) {
  const axis = `${unitText(line.unit) || "no unit"}, axis ${units.indexOf(line.unit) + 1}`;
  return html`<li
    class=${graph.isHidden(line) ? "hidden-line" : ""}
    @mouseenter=${() => context.highlightLine(graph, line.id)}
    @focusin=${() => context.highlightLine(graph, line.id)}
    @focusout=${() => context.highlightLine(graph, undefined)}
  >
    <i class="key-series s${colour}"></i>${
      line.trace
        ? html`<a class="legend-name" href="/trace/${line.id}" title=${line.title}><bdi>${line.label}</bdi></a>`
        : html`<code class="legend-name" title=${line.title}>${line.label}</code>`
    }
    ${units.length > 1 ? html`<span class="faint">${axis}</span>` : nothing} ${renderLineMenu(context, graph, line)}
    ${renderRemove(line.formula || line.title, () => context.edits.removeLine(line, graph))}
  </li>`;
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
