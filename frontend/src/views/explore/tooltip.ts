/** What the tooltip of the plot says of a value. */

import { html, nothing } from "lit";
import type { Hovered } from "../../charts/chart-data";
import { valueAt } from "../../charts/smoothing";
import { date } from "../../templates/commit";
import { markedChange, pointSize, statusLabel } from "../../templates/finding";
import { ticketTips } from "../../templates/tickets";
import { grouped } from "../../text/numbers";
import { valueText } from "../../text/units";
import { baseText } from "./base-field";
import type { ExploreContext } from "./context";
import type { Graph } from "./graph";

export function renderTooltip(context: ExploreContext, graph: Graph, hovered: Hovered) {
  const { position } = hovered;
  const line = graph.plot.lines.find(({ id }) => id === hovered.line.id) ?? hovered.line;
  const value = Number.isNaN(hovered.value) ? NaN : (valueAt(line, position) ?? hovered.value);
  const drawn =
    value === hovered.value ? nothing : html` <span class="faint">drawn ${valueText(hovered.value, line.unit)}</span>`;
  const start = line.base ?? line.values[0];
  const relative =
    start && start > 0 && line.unit !== ""
      ? `${((value / start) * 100).toFixed(1)} % of ${line.base === undefined ? "the first value" : baseText(context)}`
      : "";
  if (Number.isNaN(value)) return html`${renderCommit(context, position)} ${ticketTips(graph.tickets, position)}`;
  return html`<div class="tip-value">
      ${valueText(value, line.unit)}${drawn}${relative ? html` <span class="faint figure">${relative}</span>` : nothing}
    </div>
    <div class="tip-subject">${line.label}</div>
    ${renderOrigin(context, line.id, position)} ${markTips(graph, line.id, position)} ${renderCommit(context, position)}
    ${ticketTips(graph.tickets, position)}`;
}

/** "median of 3 samples", below the value; a line that a formula made has a negative id, and no samples. */
export function renderOrigin(context: ExploreContext, trace: number, position: number) {
  const commit = context.line.commits?.peek(position)?.hash;
  const refresh = (): void => {
    context.refreshTooltip();
    context.refreshPicked();
  };
  const text = trace < 0 || !commit ? "" : context.data.origins.textOf(trace, commit, refresh);
  return text ? html`<div class="faint">${text}</div>` : nothing;
}

/** The finding on a line at a commit, and what changed in its environment there. */
export function markTips({ marks: { all } }: Graph, line: number, position: number) {
  const marks = all.filter((mark) => mark.trace === line && mark.position === position);
  return marks.map(({ finding, facts }) =>
    finding
      ? html`<div class="tip-note">${statusLabel(finding.status)} ${pointSize(finding)}</div>
          ${markedChange(finding)}`
      : facts.map(
          ({ name, before, after }) =>
            html`<div class="tip-note"><i class="key-note"></i>${name}: ${before} → ${after}</div>`,
        ),
  );
}

/** The commit; its number until its block is loaded, which renders the tooltip again. */
export function renderCommit(context: ExploreContext, position: number) {
  const { commits } = context.line;
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
