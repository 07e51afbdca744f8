/** The graphs of traces and formulas, with their tools. */

import { html, nothing } from "lit";
import { repeat } from "lit/directives/repeat.js";
import {
  axisUnits,
  differInMagnitude,
  isCrowd,
  MAX_AXES,
  type ChartRange,
  type Hovered,
} from "../../charts/chart-data";
import "../../charts/overview-strip";
import { PUBLISHED } from "../../api/published-data";
import type { Scale } from "../../routes/url";
import { MAX_TRACES } from "../../state/plot/plot-loader";
import { dateRangeFields } from "../../templates/date-range";
import { loadingNotice } from "../../templates/notice";
import { selectField } from "../../templates/select-field";
import { alongField, ownScaleField, scaleField } from "../../templates/scale-field";
import { ticketList } from "../../templates/tickets";
import { countText, grouped } from "../../text/numbers";
import { baseText, renderBaseField } from "./base-field";
import type { ExploreContext } from "./context";
import { renderExport } from "./export";
import { CURSOR_GROUP, wholeRange, type Graph } from "./graph";
import { isEmptyGraph, MAX_GRAPHS } from "./graphs";
import { renderLegend } from "./legend";
import { renderMultiples } from "./multiples";
import { renderPicked } from "./picked";
import { renderPivot } from "./pivot";
import { renderSmoothing } from "./smoothing-field";
import { renderTooltip } from "./tooltip";

function hasTooManyUnits({ plot }: Graph): boolean {
  return axisUnits(plot.lines, "auto").length > MAX_AXES;
}

/** The scale of the values of a graph: percent of the first ones if there are too many units for axes. */
function scaleOf({ graphs, route }: ExploreContext, graph: Graph): Scale {
  if (hasTooManyUnits(graph)) return "ratio";
  return (graphs.length > 1 ? graph.chosen.ownScale : undefined) ?? route.scale;
}

export function renderPlot(context: ExploreContext) {
  const { graph, graphs } = context;
  if (graphs.length > 1) return renderGraphs(context);
  if (isEmptyGraph(graph.chosen)) return nothing;
  if (graph.plot.lines.length === 0 && context.isFailing) return nothing;
  return html`<section class="chart-panel" aria-label="Plot" data-graph="0">
    ${renderTools(context)} ${renderGraph(context, graph)}
  </section>`;
}

/** Several graphs: what they share stands above all of them. */
function renderGraphs(context: ExploreContext) {
  return html`<section class="chart-panel shared" aria-label="All graphs">
      ${renderTools(context)} ${renderStrip(context)}
    </section>
    ${repeat(
      context.graphs,
      (graph) => graph,
      (graph, index) =>
        html`<section
          class="chart-panel graph"
          aria-label="Graph ${index + 1}"
          aria-current=${graph === context.graph ? "true" : "false"}
          data-graph=${index}
        >
          ${renderHead(context, graph, index)} ${renderGraph(context, graph)}
        </section>`,
    )}`;
}

function renderGraph(context: ExploreContext, graph: Graph) {
  return html`${renderLegend(context, graph, scaleOf(context, graph))}
  ${graph.drawnLines.length > 0 ? renderDrawn(context, graph) : renderEmpty(graph)}`;
}

/** The name of one of several graphs, and what is done with it. */
function renderHead(context: ExploreContext, graph: Graph, index: number) {
  const { graphs } = context;
  const others = graphs.flatMap((other, at) => (other === graph ? [] : [[String(at), `to graph ${at + 1}`] as const]));
  const only = others.length === 1 ? others[0] : undefined;
  const move = (event: Event): void => {
    // A button confirms: arrow keys change a closed select at once.
    const chosen = (event.target as Element).closest(".chart-tools")?.querySelector<HTMLSelectElement>(".move select");
    const into = graphs[Number(only?.[0] ?? chosen?.value)];
    if (into) context.edits.move(graph, into);
  };
  return html`<div class="chart-tools">
    <h2>Graph ${index + 1}</h2>
    <span class="faint">${summaryText(context, graph)}</span>
    ${graph.chosen.plotted ? html`<code>${graph.chosen.plotted}</code>` : nothing}
    <span class="spring"></span>
    ${
      graph === context.graph
        ? html`<span class="faint">ticked traces, queries and formulas come here</span>`
        : html`<button
            class="button small"
            aria-label="Plot here: graph ${index + 1}"
            title="Add traces, queries and formulas to this graph (N: next graph)"
            @click=${() => context.edits.use(graph)}
          >
            Plot here
          </button>`
    }
    ${hasTooManyUnits(graph) ? unitsNote(graph) : ownScaleField(index + 1, graph.chosen.ownScale, baseText(context), (scale) => context.edits.scale(graph, scale))}
    ${only ? nothing : html`<span class="move">${selectField(`Where graph ${index + 1} moves`, "", others, () => undefined)}</span>`}
    <button
      class="button small"
      aria-label="Move graph ${index + 1}${only ? ` ${only[1]}` : ""}"
      title="Add what it plots to the other graph, and remove it"
      @click=${move}
    >
      Move ${only?.[1]}
    </button>
    <button class="icon tiny" aria-label="Remove graph ${index + 1}" @click=${() => context.edits.remove(graph)}>
      ×
    </button>
  </div>`;
}

function renderDrawn(context: ExploreContext, graph: Graph) {
  const open = (position: number): void => context.openCommit(graph, position);
  const drawn = context.route.multiples ? renderMultiples : renderChart;
  return html`${drawn(context, graph, scaleOf(context, graph))}
  ${context.graphs.length > 1 ? nothing : renderStrip(context)}
  ${renderPicked(context, graph)}${ticketList(graph.tickets, open)}${renderExport(context, graph)}${renderPivot(context, graph)}`;
}

function renderEmpty(graph: Graph) {
  const text = isEmptyGraph(graph.chosen)
    ? "Tick traces below, plot what the query finds (p), or write a formula (f)."
    : "No trace matches the query of the plot.";
  return html`<div class="chart-place">
    ${graph.isLoading ? loadingNotice("Loading the values") : html`<div class="notice"><p>${text}</p></div>`}
  </div>`;
}

function renderChart(context: ExploreContext, graph: Graph, scale: Scale) {
  const { plot, marks, drawnLines: lines, tickets } = graph;
  const { times } = plot;
  const isOne = context.graphs.length === 1;
  const crowd = isCrowd(lines);
  const titles = crowd ? "" : `: ${lines.map((line) => line.title).join("; ")}`;
  const onPoint = ({ detail }: CustomEvent<Hovered>): void =>
    crowd ? context.pick(graph, detail) : context.openCommit(graph, detail.position, detail.line.id);
  return html`<kp-chart
    .lines=${lines}
    .times=${times}
    .tickets=${tickets}
    .findings=${marks.findings}
    .notes=${marks.notes}
    .total=${times.length}
    .range=${context.range ?? (isOne ? undefined : wholeRange(plot))}
    .scale=${scale}
    .along=${context.route.along}
    .cursorGroup=${isOne ? "" : CURSOR_GROUP}
    .label=${`Values of ${countText(lines.length, "trace")} over commits${titles}`}
    .selected=${graph.picked?.line.id}
    .describe=${(hovered: Hovered) => renderTooltip(context, graph, hovered)}
    @kp-range=${(event: CustomEvent<ChartRange | undefined>) => context.zoomTo(event.detail, "push")}
    @kp-point=${onPoint}
  ></kp-chart>`;
}

function renderStrip(context: ExploreContext) {
  const { times } = context.line;
  const traces = context.graphs.flatMap(({ plot }) => plot.lines.flatMap((line) => line.trace?.id ?? []));
  return html`<kp-overview-strip
    .traces=${[...new Set(traces)]}
    .whole=${wholeRange(context.line)}
    .range=${context.range}
    .times=${times}
    .along=${context.route.along}
    @kp-range=${(event: CustomEvent<ChartRange | undefined>) => context.zoomTo(event.detail, "push")}
  ></kp-overview-strip>`;
}

function renderTools(context: ExploreContext) {
  const { graph, graphs, range, route } = context;
  const { lines } = graph.plot;
  const isOne = graphs.length === 1;
  const scale = isOne ? scaleOf(context, graph) : route.scale;
  const setScale = (next: Scale): void => context.updateRoute({ scale: next }, "replace");
  return html`<div class="chart-tools">
    <span class="faint">${isOne ? summaryText(context, graph) : countText(graphs.length, "graph")}</span>
    ${
      (scale === "auto" || scale === "zero") && differInMagnitude(lines)
        ? html`<button class="link" @click=${() => setScale("log")}>
            The values differ widely: use a logarithmic scale
          </button>`
        : nothing
    }
    <span class="spring"></span>
    ${dateRangeFields(context.line.times, range, (chosen) => context.zoomTo(chosen, "push"))}
    ${renderSmoothing(context)} ${alongField(route.along, (along) => context.updateRoute({ along }, "replace"))}
    ${isOne && hasTooManyUnits(graph) ? unitsNote(graph) : scaleField(scale, baseText(context), setScale)}
    ${graphs.some((each) => scaleOf(context, each) === "ratio") ? renderBaseField(context) : nothing}
    <button
      class="button small"
      aria-pressed=${route.multiples ? "true" : "false"}
      ?disabled=${isOne && lines.length < 2}
      title="A small plot for each line, or one for all (m)"
      @click=${() => context.updateRoute({ multiples: !route.multiples }, "replace")}
    >
      Small multiples
    </button>
    <button
      class="button small"
      ?disabled=${range === undefined}
      title="Whole line (0)"
      @click=${() => context.zoomTo(undefined)}
    >
      Whole line
    </button>
    ${
      PUBLISHED === undefined
        ? html`<button
            class="button small"
            title="Give the plot a short address (s)"
            ?disabled=${graphs.every(({ chosen }) => chosen.keys !== "")}
            @click=${() => void context.createShortAddress()}
          >
            Short address
          </button>`
        : nothing
    }
    <button
      class="button small"
      title="A graph of its own for other traces, below (n)"
      ?disabled=${graphs.length === MAX_GRAPHS || isEmptyGraph(graph.chosen)}
      @click=${() => context.edits.add()}
    >
      Add a graph
    </button>
    ${
      isOne
        ? html`<button class="button small quiet" title="Clear the plot (Esc)" @click=${() => context.clearPlot()}>
            Clear
          </button>`
        : nothing
    }
  </div>`;
}

function unitsNote({ plot: { lines } }: Graph) {
  return html`<span class="faint">${axisUnits(lines, "auto").length} units: % of each first value</span>`;
}

/** "3 lines, an axis for each of 2 units", and what the plot leaves out. */
function summaryText(context: ExploreContext, graph: Graph): string {
  const { lines, omittedResults, selected } = graph.plot;
  const units = axisUnits(lines, "auto");
  return [
    selected > MAX_TRACES
      ? `${grouped(MAX_TRACES)} of ${countText(selected, "trace")} drawn; narrow the query`
      : countText(lines.length, "line"),
    ...(omittedResults > 0 ? [`${countText(omittedResults, "line")} of formulas not drawn`] : []),
    ...(units.length > 1 && scaleOf(context, graph) !== "ratio" ? [`an axis for each of ${units.length} units`] : []),
  ].join(", ");
}
