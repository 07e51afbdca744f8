/** The plot of a trace: its tools, its legend, and what the pointer tells. */

import { html, nothing } from "lit";
import type { Changes, Environment } from "../../api/client";
import type { ChartRange, Hovered } from "../../charts/chart-data";
import { change, date, standing, state, waiting } from "../../templates/finding";
import type { Scale } from "../../routes/routes";
import { pan, zoom } from "../../state/plot/zoom";
import { grouped } from "../../text/numbers";
import { traceText } from "../../text/trace-names";
import { valueText } from "../../text/units";
import { changeInWords, comparison, count, percent, standingInWords, times } from "../../text/findings";
import { changeAt, environmentsUntil, type Desk, type Regions } from "./context";

const SCALES: readonly [Scale, string][] = [
  ["auto", "fit"],
  ["zero", "from zero"],
  ["log", "logarithmic"],
  ["ratio", "% of first level"],
];

/** The scale after this one, the first after the last. */
export function nextScale(scale: Scale): Scale {
  const all = SCALES.map(([own]) => own);
  return all[(all.indexOf(scale) + 1) % all.length] ?? "auto";
}

export function renderPlot(desk: Desk, changes: Changes) {
  const { address, range } = desk;
  const total = changes.commits;
  const now = range ?? desk.whole;
  const button = (label: string, name: string, run: () => void, off = false) =>
    html`<button class="button small square" title=${name} aria-label=${name} ?disabled=${off} @click=${run}>
      ${label}
    </button>`;
  return html`<section class="chart-panel" aria-label="Values over commits">
    <div class="chart-tools">
      ${renderLegend(desk, changes)}
      <span class="spring"></span>
      <span class="faint figure"
        >commits ${grouped(now.first + 1)} to ${grouped(now.last + 1)} of ${grouped(total)}</span
      >
      <label class="select"
        ><span class="sr-only">Scale of the values</span>
        <select
          title="Scale of the values (y)"
          @change=${(event: Event) => desk.go({ scale: (event.target as HTMLSelectElement).value as Scale })}
        >
          ${SCALES.map(([scale, label]) => html`<option value=${scale} ?selected=${scale === address.scale}>${label}</option>`)}
        </select></label
      >
      <div class="button-row">
        ${button("‹", "Move left (,)", () => desk.look(pan(now, -0.25, total)), now.first === 0)}
        ${button("+", "Look closer (+)", () => desk.look(zoom(now, 0.5, total)))}
        ${button("−", "Look from further away (−)", () => desk.look(zoom(now, 2, total)), range === undefined)}
        ${button("›", "Move right (.)", () => desk.look(pan(now, 0.25, total)), now.last >= total - 1)}
        <button
          class="button small"
          title="Whole line (0)"
          ?disabled=${range === undefined}
          @click=${() => desk.look(undefined)}
        >
          Whole line
        </button>
      </div>
    </div>
    ${
      desk.series
        ? html`<kp-chart
            .lines=${desk.lines}
            .levels=${changes.regions}
            .marks=${desk.marks}
            .notes=${desk.environments}
            .candidates=${desk.candidates}
            .failures=${desk.failures}
            .times=${desk.times}
            .total=${total}
            .range=${range}
            .scale=${address.scale}
            .pinned=${address.commit}
            .label=${chartText(desk, changes)}
            .describe=${(hovered: Hovered) => describe(desk, changes, hovered)}
            @kp-range=${(event: CustomEvent<ChartRange | undefined>) => desk.look(event.detail, "push")}
            @kp-pick=${(event: CustomEvent<number>) => desk.go({ commit: event.detail })}
          ></kp-chart>`
        : html`<div class="chart-place">${desk.error ? nothing : waiting("Reading the values")}</div>`
    }
  </section>`;
}

function renderLegend(desk: Desk, changes: Changes) {
  const decided = changes.changes.filter((member) => !member.history || member.status !== "new");
  const used = [...new Set(decided.map((member) => member.status))];
  return html`<div class="legend" aria-hidden="true">
      <span><i class="key-level"></i>stable level and its spread</span>
      ${used.map((status) => state(status))}
      ${desk.marks.some((mark) => mark.history && !mark.gone) ? html`<span><i class="key-history"></i>history</span>` : nothing}
      ${desk.marks.some((mark) => mark.suspects > 1 && !mark.gone) ? html`<span><i class="key-suspect"></i>not measured, change lies in here</span>` : nothing}
      ${desk.environments.length > 0 ? html`<span><i class="key-note"></i>environment changed</span>` : nothing}
      ${desk.failures.some((own) => own.failed) ? html`<span><i class="key-failed">×</i>failed</span>` : nothing}
      ${desk.failures.some((own) => !own.failed) ? html`<span><i class="key-skipped"></i>skipped</span>` : nothing}
      ${desk.candidates.length > 0 ? html`<span><i class="key-candidate"></i>looked at</span>` : nothing}
    </div>
    ${
      changes.gone.length > 0
        ? html`<label class="choice" title="Changes that later data no longer show (G)"
            ><input
              type="checkbox"
              .checked=${desk.address.gone}
              @change=${() => desk.go({ gone: !desk.address.gone })}
            />× ${changes.gone.length} gone</label
          >`
        : nothing
    }`;
}

/** The plot in words, for those who do not see it. */
function chartText(desk: Desk, changes: Changes): string {
  const parts = desk.members.map(
    (member) => `${changeInWords(member)} at ${member.commit.short}, ${standingInWords(member)}`,
  );
  return `Values of ${traceText(changes.trace.params)} over ${count(changes.measured, "measured commit")}. ${
    parts.length > 0 ? `Changes: ${parts.join("; ")}.` : "No changes."
  }${desk.environments.length > 0 ? ` ${count(desk.environments.length, "change")} of environment.` : ""}${
    desk.failures.length > 0 ? ` ${count(desk.failures.length, "run")} failed or skipped.` : ""
  }`;
}

function describe(desk: Desk, changes: Changes, hovered: Hovered) {
  const { position, value, line } = hovered;
  const commit = desk.commits?.peek(position);
  if (!commit) void desk.commits?.at(position).then(desk.refreshTip, () => undefined);
  const mark = changeAt(desk, position);
  return html`${
    Number.isNaN(value)
      ? renderFailure(desk, position)
      : html`<div class="tip-value">
          ${valueText(value, line.unit)} ${renderDelta(changes.regions, position, value)}
        </div>`
  }
  ${
    commit
      ? html`<div class="tip-subject">${commit.subject}</div>
          <div class="second">
            <code class="hash">${commit.short}</code><span>${commit.author}</span>${date(commit.time)}<span
              >commit ${grouped(position + 1)}</span
            >
          </div>`
      : html`<div class="faint">commit ${grouped(position + 1)}</div>`
  }
  ${
    mark
      ? html`<div class="tip-mark">
          ${change(mark)} ${standing(mark)}
          <span class="tip-line figure">${comparison(mark)}</span>
          ${mark.place.suspects > 1 ? html`<span class="faint">in one of ${mark.place.suspects} commits</span>` : nothing}
        </div>`
      : nothing
  }
  ${environmentsUntil(desk, position).map((own) => html`<div class="tip-note">Environment changed: ${renderFacts(own)}</div>`)}
  ${desk.address.commit === position ? nothing : html`<div class="tip-hint">click for its runs and links</div>`}`;
}

function renderFailure(desk: Desk, position: number) {
  const run = desk.failures.find((own) => own.position === position)?.run;
  return html`<div class="tip-value outcome ${run?.outcome}">${run?.outcome ?? "no value"}</div>
    ${run?.message ? html`<div class="tip-subject">${run.message}</div>` : nothing}`;
}

export function renderFacts(own: Environment) {
  return own.facts.map(
    ({ name, before, after }) =>
      html`<span class="param"><span class="param-key">${name}</span>${before} → ${after}</span> `,
  );
}

/** How a value compares with its level, or with the level before where a new one begins. */
export function renderDelta(regions: Regions, position: number, value: number) {
  const own = regions.findIndex((region) => position >= region.first && position <= region.last);
  const begins = regions[own]?.first === position;
  const level = regions[begins && own > 0 ? own - 1 : own];
  if (!level || level.median === 0) return nothing;
  const delta = value / level.median - 1;
  const sign = delta > 0 ? "+" : delta < 0 ? "−" : "";
  const than = begins && own > 0 ? "level before" : "median of its level";
  return html`<span class="faint figure"
    >${delta >= 3 ? `${times(1 + delta)}× the ${than}` : `${sign}${percent(delta)} to the ${than}`}</span
  >`;
}
