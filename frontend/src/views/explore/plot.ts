/** The plot of traces and formulas, with its tools. */

import { html, nothing } from "lit";
import {
  axisUnits,
  differInMagnitude,
  isCrowd,
  MAX_AXES,
  type ChartRange,
  type Hovered,
} from "../../charts/chart-data";
import "../../charts/overview-strip";
import type { Scale } from "../../routes/url";
import { MAX_TRACES } from "../../state/plot/plot-loader";
import { loadingNotice } from "../../templates/notice";
import { alongField, scaleField } from "../../templates/scale-field";
import { ticketList } from "../../templates/tickets";
import { countText, grouped } from "../../text/numbers";
import type { ExploreContext } from "./context";
import { renderExport } from "./export";
import { renderLegend } from "./legend";
import { renderMultiples } from "./multiples";
import { renderPicked } from "./picked";
import { renderPivot } from "./pivot";
import { renderSmoothing } from "./smoothing-field";
import { renderTooltip } from "./tooltip";

/** The scale of the values: percent of the first ones if there are too many units for axes. */
function scaleOf({ data, route }: ExploreContext): Scale {
  return axisUnits(data.plot.lines, "auto").length > MAX_AXES ? "ratio" : route.scale;
}

export function renderPlot(context: ExploreContext) {
  const { traces, formulas, plotted } = context.data.plotSelection;
  const { lines } = context.data.plot;
  if (traces.length + formulas.length === 0 && plotted === undefined && !context.route.keys) return nothing;
  if (lines.length === 0 && context.isFailing) return nothing;
  return html`<section class="chart-panel" aria-label="Plot">
    ${renderTools(context)} ${renderLegend(context, scaleOf(context))}
    ${lines.length > 0 ? renderDrawn(context) : renderEmpty(context)}
  </section>`;
}

function renderDrawn(context: ExploreContext) {
  const open = (position: number): void => context.openCommit(position);
  return html`${context.route.multiples ? renderMultiples(context, scaleOf(context)) : renderChart(context)}${renderStrip(context)}${renderPicked(context)}${ticketList(context.data.tickets, open)}${renderExport(context)}${renderPivot(context)}`;
}

function renderEmpty({ data }: ExploreContext) {
  return html`<div class="chart-place">
    ${
      data.isPlotLoading
        ? loadingNotice("Loading the values")
        : html`<div class="notice"><p>No trace matches the query of the plot.</p></div>`
    }
  </div>`;
}

function renderChart(context: ExploreContext) {
  const { route } = context;
  const { times } = context.data.plot;
  const lines = context.drawnLines;
  const crowd = isCrowd(lines);
  const titles = crowd ? "" : `: ${lines.map((line) => line.title).join("; ")}`;
  const onPoint = ({ detail }: CustomEvent<Hovered>): void =>
    crowd ? context.pick(detail) : context.openCommit(detail.position, detail.line.id);
  return html`<kp-chart
    .lines=${lines}
    .times=${times}
    .tickets=${context.data.tickets}
    .findings=${context.data.marks.findings}
    .notes=${context.data.marks.notes}
    .total=${times.length}
    .range=${context.range}
    .scale=${scaleOf(context)}
    .along=${route.along}
    .label=${`Values of ${countText(lines.length, "trace")} over commits${titles}`}
    .selected=${context.picked?.line.id}
    .describe=${(hovered: Hovered) => renderTooltip(context, hovered)}
    @kp-range=${(event: CustomEvent<ChartRange | undefined>) => context.zoomTo(event.detail, "push")}
    @kp-point=${onPoint}
  ></kp-chart>`;
}

function renderStrip(context: ExploreContext) {
  const { lines, times } = context.data.plot;
  return html`<kp-overview-strip
    .traces=${lines.flatMap((line) => line.trace?.id ?? [])}
    .whole=${{ first: 0, last: times.length - 1 }}
    .range=${context.range}
    .times=${times}
    .along=${context.route.along}
    @kp-range=${(event: CustomEvent<ChartRange | undefined>) => context.zoomTo(event.detail, "push")}
  ></kp-overview-strip>`;
}

function renderTools(context: ExploreContext) {
  const { range, route } = context;
  const { lines } = context.data.plot;
  const scale = scaleOf(context);
  const units = axisUnits(lines, "auto");
  const setScale = (next: Scale): void => context.updateRoute({ scale: next }, "replace");
  return html`<div class="chart-tools">
    <span class="faint">${summaryText(context)}</span>
    ${
      (scale === "auto" || scale === "zero") && differInMagnitude(lines)
        ? html`<button class="link" @click=${() => setScale("log")}>
            The values differ widely: use a logarithmic scale
          </button>`
        : nothing
    }
    <span class="spring"></span>
    ${renderSmoothing(context)} ${alongField(route.along, (along) => context.updateRoute({ along }, "replace"))}
    ${
      units.length > MAX_AXES
        ? html`<span class="faint">${units.length} units: % of each first value</span>`
        : scaleField(scale, baseText(context), setScale)
    }
    ${scale === "ratio" ? renderBaseField(context) : nothing}
    <button
      class="button small"
      aria-pressed=${route.multiples ? "true" : "false"}
      ?disabled=${lines.length < 2}
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
    <button
      class="button small"
      title="Give the plot a short address (s)"
      ?disabled=${route.keys !== ""}
      @click=${() => void context.createShortAddress()}
    >
      Short address
    </button>
    <button class="button small quiet" title="Clear the plot (Esc)" @click=${() => context.clearPlot()}>Clear</button>
  </div>`;
}

/** The short hash of the commit that values on a relative scale refer to; "" until it is loaded. */
function baseHash(context: ExploreContext): string {
  const { data, route } = context;
  const { commits } = data.plot;
  if (route.base === undefined || !commits) return "";
  const known = commits.peek(route.base)?.short;
  if (!known)
    void commits.at(route.base).then(
      (found) => found && context.refreshPicked(),
      () => undefined,
    );
  return known ?? "";
}

/** What values on a relative scale are percent of. */
export function baseText(context: ExploreContext): string {
  return context.route.base === undefined ? "first value" : `commit ${baseHash(context)}`;
}

function renderBaseField(context: ExploreContext) {
  const onChange = (event: Event): void => void context.findBase((event.target as HTMLInputElement).value.trim());
  return html`<input
    class="base"
    type="search"
    aria-label="Percent of the values at the commit"
    title="Hash or number of a commit; empty for the first value of each line"
    placeholder="of commit …"
    .value=${baseHash(context)}
    @change=${onChange}
  />`;
}

/** "3 lines, an axis for each of 2 units", and what the plot leaves out. */
function summaryText(context: ExploreContext): string {
  const { lines, omittedResults, selected } = context.data.plot;
  const units = axisUnits(lines, "auto");
  return [
    selected > MAX_TRACES
      ? `${grouped(MAX_TRACES)} of ${countText(selected, "trace")} drawn; narrow the query`
      : countText(lines.length, "line"),
    ...(omittedResults > 0 ? [`${countText(omittedResults, "line")} of formulas not drawn`] : []),
    ...(units.length > 1 && scaleOf(context) !== "ratio" ? [`an axis for each of ${units.length} units`] : []),
  ].join(", ");
}
