/** What the plot says about the hovered commit: its value, its change, its environment. */

import { html, nothing } from "lit";
import type { ChangePoints, Environment } from "../../api/client";
import type { Hovered } from "../../charts/chart-data";
import { date } from "../../templates/commit";
import { causeNote, conditionTag, pointSize, standing } from "../../templates/finding";
import { ticketTips } from "../../templates/tickets";
import { param } from "../../templates/trace-name";
import { comparisonText } from "../../text/findings";
import { grouped, percentText, ratioText } from "../../text/numbers";
import { valueText } from "../../text/units";
import { missedTips } from "./missed";
import { quarantinedTips } from "./quarantined";
import { remeasuredTips } from "./remeasured";
import { changeAt, environmentsAt, type Regions, type TraceContext } from "./context";

export function renderTooltip(context: TraceContext, changes: ChangePoints, { position, value, line }: Hovered) {
  const pinned = context.route.commit === position;
  return html`${
    Number.isNaN(value)
      ? renderFailure(context, position)
      : html`<div class="tip-value">
          ${context.plotted?.summary} ${valueText(value, line.unit)} ${renderDelta(changes.regions, position, value)}
        </div>`
  }
  ${renderCommit(context, position)} ${renderChange(context, position)}
  ${environmentsAt(context, position).map(
    (environment) => html`<div class="tip-note">Environment changed: ${renderEnvironmentFacts(environment)}</div>`,
  )}
  ${remeasuredTips(context.remeasured, position, line.unit)} ${quarantinedTips(context.quarantined, position)}
  ${missedTips(context.missed, position)} ${ticketTips(context.tickets, position)}
  ${pinned ? nothing : html`<div class="tip-hint">Click for its runs and links</div>`}`;
}

function renderFailure({ failures, quarantined, tickets }: TraceContext, position: number) {
  const run = failures.find((failure) => failure.position === position)?.run;
  if (!run && [...tickets, ...quarantined].some((mark) => mark.position === position)) return nothing;
  return html`<div class="tip-value outcome ${run?.outcome}">${run?.outcome ?? "no value"}</div>
    ${run?.message ? html`<div class="tip-subject">${run.message}</div>` : nothing}`;
}

/** The commit; its number until its block is loaded, which renders the tooltip again. */
function renderCommit(context: TraceContext, position: number) {
  const commit = context.commits?.peek(position);
  const number = `commit ${grouped(position + 1)}`;
  if (!commit) {
    void context.commits?.at(position).then(
      () => context.refreshTooltip(),
      () => undefined,
    );
    return html`<div class="faint">${number}</div>`;
  }
  return html`<div class="tip-subject">${commit.subject}</div>
    <div class="second">
      <code class="hash">${commit.short}</code><span>${commit.author}</span>${date(commit.time)}<span>${number}</span>
    </div>`;
}

function renderChange(context: TraceContext, position: number) {
  const finding = changeAt(context, position);
  if (!finding) return nothing;
  const statement = context.statementOf(finding);
  const likely = statement?.likely?.commit;
  return html`<div class="tip-mark">
    ${pointSize(finding)} ${standing(finding)} ${conditionTag(statement, finding.trace.repository)}
    <span class="tip-line figure">${comparisonText(finding)}</span>
    ${likely && likely.hash !== finding.commit.hash ? html`<code class="hash">${likely.short}</code>` : nothing}
    ${causeNote(statement, finding.suspect_range.commits)}
  </div>`;
}

export function renderEnvironmentFacts({ facts }: Environment) {
  return facts.map(({ name, before, after }) => html`${param(name, `${before} → ${after}`)} `);
}

/** From this relative difference on, a ratio reads better than percent. */
const RATIO_FROM = 3;

/** How a value compares with the median of its stable region; the first value of a region, with the region before. */
export function renderDelta(regions: Regions, position: number, value: number) {
  const index = regions.findIndex((region) => position >= region.first && position <= region.last);
  const isFirst = index > 0 && regions[index]?.first === position;
  const region = regions[isFirst ? index - 1 : index];
  if (!region || region.median === 0) return nothing;
  const delta = value / region.median - 1;
  const sign = delta > 0 ? "+" : delta < 0 ? "−" : "";
  const base = isFirst ? "level before" : "median of its level";
  const text =
    delta >= RATIO_FROM ? `${ratioText(1 + delta)}× the ${base}` : `${sign}${percentText(delta)} to the ${base}`;
  return html`<span class="faint figure">${text}</span>`;
}
