/** What the tooltip of the plot says of a value. */

import { html, nothing } from "lit";
import type { Hovered } from "../../charts/chart-data";
import { date } from "../../templates/commit";
import { ticketTips } from "../../templates/tickets";
import { grouped } from "../../text/numbers";
import { valueText } from "../../text/units";
import type { ExploreContext } from "./context";

export function renderTooltip(context: ExploreContext, { position, value, line }: Hovered) {
  const start = line.values[0];
  const relative =
    start && start > 0 && line.unit !== "" ? `${((value / start) * 100).toFixed(1)} % of the first value` : "";
  if (Number.isNaN(value))
    return html`${renderCommit(context, position)} ${ticketTips(context.data.tickets, position)}`;
  return html`<div class="tip-value">
      ${valueText(value, line.unit)}${relative ? html` <span class="faint figure">${relative}</span>` : nothing}
    </div>
    <div class="tip-subject">${line.label}</div>
    ${renderCommit(context, position)} ${ticketTips(context.data.tickets, position)}`;
}

/** The commit; its number until its block is loaded, which renders the tooltip again. */
export function renderCommit(context: ExploreContext, position: number) {
  const { commits } = context.data.plot;
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
