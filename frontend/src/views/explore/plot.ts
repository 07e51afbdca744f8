/** The plot of several traces and formulas, with its legend, its tools and its tooltip. */

import { html, nothing } from "lit";
import { axisUnits, differInMagnitude, MAX_AXES, type ChartRange, type Hovered } from "../../charts/chart-data";
import { SERIES_COLOURS } from "../../charts/palette";
import type { Scale } from "../../routes/url";
import { MAX_LINES, type PlottedLine } from "../../state/plot/plot-loader";
import { date } from "../../templates/commit";
import { loadingNotice } from "../../templates/notice";
import { alongField, scaleField } from "../../templates/scale-field";
import { ticketList, ticketTips } from "../../templates/tickets";
import { countText, grouped } from "../../text/numbers";
import { unitText, valueText } from "../../text/units";
import type { ExploreContext } from "./context";

/** The scale of the values: percent of the first ones if there are too many units for axes. */
function scaleOf({ plot, route }: ExploreContext): Scale {
  return axisUnits(plot.lines, "auto").length > MAX_AXES ? "ratio" : route.scale;
}

export function renderPlot(context: ExploreContext) {
  const { traces, formulas } = context.plotSelection;
  const { lines } = context.plot;
  if (traces.length + formulas.length === 0 && !context.route.keys) return nothing;
  if (lines.length === 0 && context.isFailing) return nothing;
  return html`<section class="chart-panel" aria-label="Plot">
    ${renderTools(context)} ${renderLegend(context)}
    ${lines.length > 0 ? html`${renderChart(context)}${ticketList(context.tickets, (position) => context.openCommit(position))}` : html`<div class="chart-place">${loadingNotice("Loading the values")}</div>`}
  </section>`;
}

function renderChart(context: ExploreContext) {
  const { route } = context;
  const { lines, times } = context.plot;
  const titles = lines.map((line) => line.title).join("; ");
  return html`<kp-chart
    .lines=${lines}
    .times=${times}
    .tickets=${context.tickets}
    .total=${times.length}
    .range=${context.range}
    .scale=${scaleOf(context)}
    .along=${route.along}
    .label=${`Values of ${countText(lines.length, "trace")} over commits: ${titles}`}
    .describe=${(hovered: Hovered) => renderTooltip(context, hovered)}
    @kp-range=${(event: CustomEvent<ChartRange | undefined>) => context.zoomTo(event.detail, "push")}
    @kp-point=${(event: CustomEvent<Hovered>) => context.openCommit(event.detail.position, event.detail.line.id)}
  ></kp-chart>`;
}

function renderTools(context: ExploreContext) {
  const { range, route } = context;
  const { lines } = context.plot;
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
    ${alongField(route.along, (along) => context.updateRoute({ along }, "replace"))}
    ${
      units.length > MAX_AXES
        ? html`<span class="faint">${units.length} units: % of each first value</span>`
        : scaleField(scale, "first value", setScale)
    }
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

/** "3 lines, an axis for each of 2 units". */
function summaryText(context: ExploreContext): string {
  const { lines, omitted } = context.plot;
  const units = axisUnits(lines, "auto");
  return [
    countText(lines.length, "line"),
    ...(omitted > 0 ? [`${omitted} more not drawn (at most ${MAX_LINES})`] : []),
    ...(units.length > 1 && scaleOf(context) !== "ratio" ? [`an axis for each of ${units.length} units`] : []),
  ].join(", ");
}

function renderLegend(context: ExploreContext) {
  const { lines } = context.plot;
  const units = scaleOf(context) === "ratio" ? [] : axisUnits(lines, "auto");
  const isEmpty = (formula: string): boolean => lines.length > 0 && !lines.some((line) => line.formula === formula);
  const emptyFormulas = context.plotSelection.formulas.filter(isEmpty);
  return html`<ul class="legend series" @mouseleave=${() => context.highlightLine(undefined)}>
    ${lines.map((line, index) => renderLegendEntry(context, line, { colour: (index % SERIES_COLOURS) + 1, units }))}
    ${emptyFormulas.map(
      (formula) =>
        html`<li>
          <code class="legend-name">${formula}</code><span class="faint">no traces</span>
          ${renderRemove(formula, () => context.removeFormula(formula))}
        </li>`,
    )}
  </ul>`;
}

function renderLegendEntry(
  context: ExploreContext,
  line: PlottedLine,
  { colour, units }: { colour: number; units: readonly string[] },
) {
  const remove = (): void => (line.trace ? context.toggleTrace(line.id) : context.removeFormula(line.formula));
  const axis = `${unitText(line.unit) || "no unit"}, axis ${units.indexOf(line.unit) + 1}`;
  return html`<li
    @mouseenter=${() => context.highlightLine(line.id)}
    @focusin=${() => context.highlightLine(line.id)}
    @focusout=${() => context.highlightLine(undefined)}
  >
    <i class="key-series s${colour}"></i>${
      line.trace
        ? html`<a class="legend-name" href="/trace/${line.id}" title=${line.title}>${line.label}</a>`
        : html`<code class="legend-name" title=${line.title}>${line.label}</code>`
    }
    ${units.length > 1 ? html`<span class="faint">${axis}</span>` : nothing}
    ${renderRemove(line.formula || line.title, remove)}
  </li>`;
}

function renderRemove(name: string, remove: () => void) {
  return html`<button class="icon tiny" aria-label="Remove ${name} from the plot" @click=${remove}>×</button>`;
}

function renderTooltip(context: ExploreContext, { position, value, line }: Hovered) {
  const start = line.values[0];
  const relative =
    start && start > 0 && line.unit !== "" ? `${((value / start) * 100).toFixed(1)} % of the first value` : "";
  if (Number.isNaN(value)) return html`${renderCommit(context, position)} ${ticketTips(context.tickets, position)}`;
  return html`<div class="tip-value">
      ${valueText(value, line.unit)}${relative ? html` <span class="faint figure">${relative}</span>` : nothing}
    </div>
    <div class="tip-subject">${line.label}</div>
    ${renderCommit(context, position)} ${ticketTips(context.tickets, position)}`;
}

/** The commit; its number until its block is loaded, which renders the tooltip again. */
function renderCommit(context: ExploreContext, position: number) {
  const { commits } = context.plot;
  const commit = commits?.peek(position);
  if (!commit) {
    void commits?.at(position).then(
      () => context.refreshTooltip(),
      () => undefined,
    );
    return html`<div class="faint">commit ${grouped(position + 1)}</div>`;
  }
  return html`<div>${commit.subject}</div>
    <div class="second">
      <code class="hash">${commit.short}</code><span>${commit.author}</span>${date(commit.time)}
    </div>`;
}
