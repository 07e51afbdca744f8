/** The plot of several traces and formulas: its legend, its tools, and what the pointer tells. */

import { html, nothing } from "lit";
import { areFarApart, axisUnits, MOST_AXES, type ChartRange, type Hovered } from "../../charts/chart-data";
import { date, waiting } from "../../templates/finding";
import type { Scale } from "../../routes/routes";
import { MOST_LINES, type PlottedLine } from "../../state/plot/plot-lines";
import { grouped } from "../../text/numbers";
import { unitText, valueText } from "../../text/units";
import { count } from "../../text/findings";
import type { Desk } from "./context";

const SCALES: readonly [Scale, string][] = [
  ["auto", "fit"],
  ["zero", "from zero"],
  ["log", "logarithmic"],
  ["ratio", "% of first value"],
];

/** The scale of the values: percent of the first where there are too many units for axes. */
export function scaleOf(desk: Desk): Scale {
  return axisUnits(desk.lines, "auto").length > MOST_AXES ? "ratio" : desk.address.scale;
}

/** The scale after the one that is shown, the first after the last. */
export function nextScale(desk: Desk): Scale {
  const all = SCALES.map(([own]) => own);
  return all[(all.indexOf(desk.address.scale) + 1) % all.length] ?? "auto";
}

export function renderPlot(desk: Desk) {
  const { address, chosen, lines } = desk;
  const { traces, formulas } = chosen;
  if (traces.length + formulas.length === 0 && !address.keys) return nothing;
  if (lines.length === 0 && desk.failing) return nothing;
  const scale = scaleOf(desk);
  const units = axisUnits(lines, "auto");
  return html`<section class="chart-panel" aria-label="Plot">
    <div class="chart-tools">
      <span class="faint"
        >${count(lines.length, "line")}${desk.omitted > 0 ? `, ${desk.omitted} more not drawn: at most ${MOST_LINES} can be` : ""}${units.length > 1 && scale !== "ratio" ? `, an axis for each of ${units.length} units` : ""}</span
      >
      ${
        (scale === "auto" || scale === "zero") && areFarApart(lines)
          ? html`<button class="link" @click=${() => desk.change({ scale: "log" }, "replace")}>
              The lines are far apart: show them on a logarithmic scale
            </button>`
          : nothing
      }
      <span class="spring"></span>
      ${
        units.length > MOST_AXES
          ? html`<span class="faint">${units.length} units: % of each first value</span>`
          : html`<label class="select"
              ><span class="sr-only">Scale of the values</span>
              <select
                title="Scale of the values (y)"
                @change=${(event: Event) => desk.change({ scale: (event.target as HTMLSelectElement).value as Scale }, "replace")}
              >
                ${SCALES.map(([own, label]) => html`<option value=${own} ?selected=${own === scale}>${label}</option>`)}
              </select></label
            >`
      }
      <button
        class="button small"
        ?disabled=${desk.range === undefined}
        title="Whole line (0)"
        @click=${() => desk.look(undefined)}
      >
        Whole line
      </button>
      <button
        class="button small"
        title="A short address of what is plotted (s)"
        ?disabled=${address.keys !== ""}
        @click=${() => void desk.keep()}
      >
        Short address
      </button>
      <button class="button small quiet" title="Clear the plot (Esc)" @click=${() => desk.clear()}>Clear</button>
    </div>
    <ul class="legend series" @mouseleave=${() => desk.hint(undefined)}>
      ${lines.map((line, index) => renderLine(desk, line, { index, axes: scale === "ratio" ? [] : units }))}
      ${formulas
        .filter((formula) => lines.length > 0 && !lines.some((line) => line.formula === formula))
        .map(
          (formula) =>
            html`<li>
              <code class="legend-name">${formula}</code><span class="faint">no traces</span>
              <button
                class="icon tiny"
                aria-label="Take ${formula} out of the plot"
                @click=${() => desk.dropFormula(formula)}
              >
                ×
              </button>
            </li>`,
        )}
    </ul>
    ${
      lines.length > 0
        ? html`<kp-chart
            .lines=${lines}
            .times=${desk.times}
            .total=${desk.times.length}
            .range=${desk.range}
            .scale=${scale}
            .label=${`Values of ${count(lines.length, "trace")} over commits: ${lines.map((line) => line.title).join("; ")}`}
            .describe=${(hovered: Hovered) => describe(desk, hovered)}
            @kp-range=${(event: CustomEvent<ChartRange | undefined>) => desk.look(event.detail, "push")}
            @kp-pick=${(event: CustomEvent<number>) => desk.pick(event.detail)}
          ></kp-chart>`
        : html`<div class="chart-place">${waiting("Reading the values")}</div>`
    }
  </section>`;
}

function renderLine(desk: Desk, line: PlottedLine, { index, axes }: { index: number; axes: readonly string[] }) {
  const take = (): void => (line.trace ? desk.toggleTrace(line.id) : desk.dropFormula(line.formula));
  return html`<li
    @mouseenter=${() => desk.hint(line.id)}
    @focusin=${() => desk.hint(line.id)}
    @focusout=${() => desk.hint(undefined)}
  >
    <i class="key-series s${(index % 8) + 1}"></i>${
      line.trace
        ? html`<a class="legend-name" href="/trace/${line.id}" title=${line.title}>${line.label}</a>`
        : html`<code class="legend-name" title=${line.title}>${line.label}</code>`
    }
    ${axes.length > 1 ? html`<span class="faint">${unitText(line.unit) || "no unit"}, axis ${axes.indexOf(line.unit) + 1}</span>` : nothing}
    <button class="icon tiny" aria-label="Take ${line.formula || line.title} out of the plot" @click=${take}>×</button>
  </li>`;
}

function describe(desk: Desk, { position, value, line }: Hovered) {
  const commit = desk.commits?.peek(position);
  if (!commit) void desk.commits?.at(position).then(desk.refreshTip, () => undefined);
  const start = line.values[0];
  const relative =
    start && start > 0 && line.unit !== ""
      ? html` <span class="faint figure">${((value / start) * 100).toFixed(1)} % of its first</span>`
      : nothing;
  return html`<div class="tip-value">${valueText(value, line.unit)}${relative}</div>
    <div class="tip-subject">${line.label}</div>
    ${
      commit
        ? html`<div>${commit.subject}</div>
            <div class="second">
              <code class="hash">${commit.short}</code><span>${commit.author}</span>${date(commit.time)}
            </div>`
        : html`<div class="faint">commit ${grouped(position + 1)}</div>`
    }`;
}
