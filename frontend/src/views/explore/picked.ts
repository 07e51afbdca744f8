/** The value that was clicked among many lines: its line, its commit, and the commits since the value before. */

import { html, nothing } from "lit";
import type { Commit } from "../../api/client";
import { valueAt } from "../../charts/smoothing";
import { routeUrl } from "../../routes/routes";
import { traceRoute } from "../../routes/trace";
import { longName } from "../../templates/trace-name";
import { compareUrl } from "../../text/compare-url";
import { countText, lowerBound } from "../../text/numbers";
import { valueText } from "../../text/units";
import type { ExploreContext } from "./context";
import type { Graph } from "./graph";
import { renderLineMenu } from "./legend";
import { markTips, renderCommit, renderOrigin } from "./tooltip";

export function renderPicked(context: ExploreContext, graph: Graph) {
  const { picked } = graph;
  const line = picked && graph.plot.lines.find(({ id }) => id === picked.line.id);
  if (!line) return nothing;
  const { position } = picked;
  const value = valueAt(line, position) ?? picked.value;
  const previous = line.positions[lowerBound(line.positions, position) - 1];
  return html`<div class="picked" role="status">
    <div class="picked-line">
      <strong class="figure">${valueText(value, line.unit)}</strong>
      ${
        line.trace
          ? html`<a href=${routeUrl(traceRoute(line.id, { commit: position }))}>${longName(line.label)}</a>`
          : html`<code>${line.label}</code>`
      }
      <button class="icon tiny" aria-label="Stop highlighting the line" @click=${() => context.pick(graph, undefined)}>
        ×
      </button>
      ${renderLineMenu(context, graph, line)}
      <button class="link" @click=${() => context.edits.relate(graph, position)}>% of this commit</button>
    </div>
    ${renderOrigin(context, line.id, position)} ${markTips(graph, line.id, position)} ${renderCommit(context, position)}
    ${previous === undefined ? nothing : renderSince(context, previous, position)}
  </div>`;
}

function renderSince(context: ExploreContext, previous: number, position: number) {
  const text = `${countText(position - previous, "commit")} since the value before`;
  const { commits } = context.line;
  const [before, commit] = [commits?.peek(previous), commits?.peek(position)];
  for (const missing of [...(before ? [] : [previous]), ...(commit ? [] : [position])]) {
    void commits?.at(missing).then(
      (loaded) => loaded && context.refreshPicked(),
      () => undefined,
    );
  }
  return html`<div class="second">${before && commit ? renderComparison(before, commit, text) : text}</div>`;
}

function renderComparison(before: Commit, commit: Commit, text: string) {
  const url = compareUrl(before, commit);
  const range = html`<code class="hash">${before.short}</code>…<code class="hash">${commit.short}</code>`;
  return html`<span>${text}</span>
    ${url ? html`<a href=${url} rel="noreferrer">${range}</a>` : html`<span>${range}</span>`}`;
}
