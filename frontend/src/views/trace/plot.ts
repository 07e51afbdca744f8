/** The plot of a trace, with its legend and its tools. */

import { html, nothing } from "lit";
import type { ChangePoints } from "../../api/client";
import { sidesOf } from "../../charts/change-interval";
import { spansMagnitudes, type ChartRange, type Hovered } from "../../charts/chart-data";
import "../../charts/overview-strip";
import { pan, zoom } from "../../state/plot/zoom";
import { statusLabel } from "../../templates/finding";
import { dateRangeFields } from "../../templates/date-range";
import { loadingNotice } from "../../templates/notice";
import { alongField, scaleField } from "../../templates/scale-field";
import { selectField } from "../../templates/select-field";
import { causeOf, causeText, standingText } from "../../text/findings";
import { countText, grouped } from "../../text/numbers";
import { traceText } from "../../text/trace-names";
import type { TraceContext } from "./context";
import { missedText } from "./missed";
import { renderModes } from "./patterns";
import { renderTooltip } from "./tooltip";

export function renderPlot(context: TraceContext, changes: ChangePoints) {
  return html`<section class="chart-panel" aria-label="Values over commits">
    <div class="chart-tools">
      ${renderLegend(context, changes)}
      <span class="spring"></span>
      ${renderTools(context, changes)}
    </div>
    ${renderModes(context.patterns)}
    ${
      context.series
        ? renderChart(context, changes)
        : html`<div class="chart-place">${context.error ? nothing : loadingNotice("Loading the values")}</div>`
    }
  </section>`;
}

function renderChart(context: TraceContext, changes: ChangePoints) {
  const { route } = context;
  return html`<kp-chart
      .lines=${context.lines}
      .levels=${changes.regions}
      .patterns=${context.patterns}
      .marks=${context.marks}
      .notes=${context.environments}
      .candidates=${context.candidates}
      .failures=${context.failures}
      .quarantined=${context.quarantined}
      .remeasured=${context.remeasured}
      .tickets=${context.tickets}
      .times=${context.times}
      .total=${changes.commits}
      .range=${context.range}
      .scale=${route.scale}
      .along=${route.along}
      .pinned=${route.commit}
      .label=${plotText(context, changes)}
      .describe=${(hovered: Hovered) => renderTooltip(context, changes, hovered)}
      @kp-range=${(event: CustomEvent<ChartRange | undefined>) => context.zoomTo(event.detail, "push")}
      @kp-pick=${(event: CustomEvent<number>) => context.updateRoute({ commit: event.detail })}
    ></kp-chart>
    <kp-overview-strip
      .traces=${[changes.trace.id]}
      .line=${route.line}
      .summary=${context.plotted?.summary ?? ""}
      .whole=${context.wholeRange}
      .range=${context.range}
      .times=${context.times}
      .along=${route.along}
      @kp-range=${(event: CustomEvent<ChartRange | undefined>) => context.zoomTo(event.detail, "push")}
    ></kp-overview-strip>`;
}

/** The choice between medians and what changes were found in, where that is something else. */
function summaryField(context: TraceContext, summaries: ChangePoints["summaries"]) {
  if (summaries.length === 0) return nothing;
  const options = ["median", ...summaries.map(({ summary }) => summary)];
  return selectField(
    "Statistic of the samples",
    context.plotted?.summary ?? "median",
    options.map((name) => [name, `${name} of the samples`]),
    (summary) => context.updateRoute({ summary }),
  );
}

function renderTools(context: TraceContext, { commits: total, summaries }: ChangePoints) {
  const { range, route } = context;
  const shown = range ?? context.wholeRange;
  const button = (label: string, name: string, run: () => void, disabled = false) =>
    html`<button class="button small square" title=${name} aria-label=${name} ?disabled=${disabled} @click=${run}>
      ${label}
    </button>`;
  return html`<span class="faint figure"
      >commits ${grouped(shown.first + 1)} to ${grouped(shown.last + 1)} of ${grouped(total)}</span
    >
    ${
      (route.scale === "auto" || route.scale === "zero") && spansMagnitudes(context.lines)
        ? html`<button class="link" @click=${() => context.updateRoute({ scale: "log" })}>
            The values differ widely: use a logarithmic scale
          </button>`
        : nothing
    }
    ${dateRangeFields(context.times, range, (chosen) => context.zoomTo(chosen, "push"))}
    ${summaryField(context, summaries)} ${alongField(route.along, (along) => context.updateRoute({ along }))}
    ${scaleField(route.scale, "first level", (scale) => context.updateRoute({ scale }))}
    <div class="button-row">
      ${button("‹", "Move left (,)", () => context.zoomTo(pan(shown, -0.25, total)), shown.first === 0)}
      ${button("+", "Zoom in (+)", () => context.zoomTo(zoom(shown, 0.5, total)))}
      ${button("−", "Zoom out (−)", () => context.zoomTo(zoom(shown, 2, total)), range === undefined)}
      ${button("›", "Move right (.)", () => context.zoomTo(pan(shown, 0.25, total)), shown.last >= total - 1)}
      <button
        class="button small"
        title="Whole line (0)"
        ?disabled=${range === undefined}
        @click=${() => context.zoomTo(undefined)}
      >
        Whole line
      </button>
    </div>`;
}

/** A key for each kind of mark that the plot has. */
function renderLegend(context: TraceContext, changes: ChangePoints) {
  const { marks, patterns, environments, failures, quarantined, remeasured, tickets, candidates, route } = context;
  const present = marks.filter((mark) => !mark.gone && !mark.missed);
  const processed = changes.change_points.filter((finding) => !finding.history || finding.status !== "new");
  const statuses = [...new Set(processed.map((finding) => finding.status))];
  const entry = (shown: boolean, key: string, text: string, symbol = "") =>
    shown ? html`<span><i class="key-${key}">${symbol}</i>${text}</span>` : nothing;
  return html`<div class="legend" aria-hidden="true">
      ${entry(true, "level", "stable region and 80 % of its values")} ${statuses.map((status) => statusLabel(status))}
      ${entry(
        present.some((mark) => mark.history),
        "history",
        "history",
      )}
      ${entry(
        present.some((mark) => sidesOf(mark, context.lines[0]?.positions ?? [], changes.regions).length > 0),
        "sides",
        "level next to a change",
      )}
      ${entry(
        present.some((mark) => mark.suspects > 1),
        "suspect",
        "suspect range, not measured",
      )}
      ${entry(patterns.drifts.length > 0, "drift", "drift and its interval")}
      ${entry(patterns.modes.length > 0, "modes", "levels between which it flips")}
      ${entry(environments.length > 0, "note", "environment changed")}
      ${entry(
        failures.some(({ failed }) => failed),
        "failed",
        "failed",
        "×",
      )}
      ${entry(
        failures.some(({ failed }) => !failed),
        "skipped",
        "skipped",
      )}
      ${entry(quarantined.length > 0, "quarantined", "quarantined, in no level")}
      ${entry(
        remeasured.some(({ counts }) => counts),
        "remeasured counts",
        "re-measured by a bisection",
      )}
      ${entry(
        remeasured.some(({ counts }) => !counts),
        "remeasured",
        "re-measured on another device, in no level",
      )}
      ${entry(
        marks.some((mark) => mark.missed),
        "missed",
        "missed, by a person",
        "?",
      )}
      ${entry(tickets.length > 0, "ticket", "ticket")} ${entry(candidates.length > 0, "candidate", "candidate")}
    </div>
    ${
      changes.gone.length > 0
        ? html`<label class="choice" title="Show changes that later data no longer show (G)"
            ><input
              type="checkbox"
              .checked=${route.gone}
              @change=${() => context.updateRoute({ gone: !route.gone })}
            />× ${changes.gone.length} gone</label
          >`
        : nothing
    }`;
}

/** The plot in words, for screen readers. */
function plotText(context: TraceContext, changes: ChangePoints): string {
  const { findings, patterns, environments, failures, quarantined, remeasured, tickets, plotted } = context;
  const values = `${plotted ? `The ${plotted.summary} of the samples` : "Values"} of ${traceText(changes.trace.params)} over ${countText(changes.measured, "measured commit")}.`;
  const texts = findings.map((finding) => {
    const statement = context.statementOf(finding);
    const { short } = causeOf({ statement, commit: finding.commit });
    const facts = [causeText(statement, finding.suspect_range.commits), standingText(finding)].filter(Boolean);
    return `${finding.size_text} at ${short}, ${facts.join(", ")}`;
  });
  return [
    values,
    texts.length > 0 ? `Changes: ${texts.join("; ")}.` : "No changes.",
    ...patterns.modes.map(({ texts }) => `It flips between levels: ${texts.join("; ")}.`),
    ...(environments.length > 0 ? [`${countText(environments.length, "change")} of environment.`] : []),
    ...(failures.length > 0 ? [`${countText(failures.length, "run")} failed or skipped.`] : []),
    ...(quarantined.length > 0 ? [`${countText(quarantined.length, "value")} quarantined.`] : []),
    ...(remeasured.length > 0 ? [`${countText(remeasured.length, "value")} re-measured by a bisection.`] : []),
    ...missedText(context.missed),
    ...(tickets.length > 0 ? [`Tickets: ${tickets.map(({ name }) => name).join(", ")}.`] : []),
  ].join(" ");
}
