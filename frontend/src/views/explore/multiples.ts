/** A small plot for each line, with a common range and linked cursors, where one plot of all would be crowded. */

import { html, nothing } from "lit";
import { repeat } from "lit/directives/repeat.js";
import { MAX_FULL_LINES, type ChartRange, type Hovered } from "../../charts/chart-data";
import type { Scale } from "../../routes/url";
import type { PlottedLine } from "../../state/plot/plot-loader";
import { countText, grouped } from "../../text/numbers";
import type { ExploreContext } from "./context";
import { CURSOR_GROUP, wholeRange, type Graph } from "./graph";
import { renderRemove } from "./legend";
import { renderTooltip } from "./tooltip";

/** The array of each line: a chart is built anew when it gets another one. */
const alone = new WeakMap<PlottedLine, readonly [PlottedLine]>();

function linesOf(line: PlottedLine): readonly [PlottedLine] {
  const known = alone.get(line) ?? [line];
  alone.set(line, known);
  return known;
}

export function renderMultiples(context: ExploreContext, graph: Graph, scale: Scale) {
  const lines = graph.drawnLines.filter((line) => !graph.isHidden(line));
  // One range for all, also for lines that begin later.
  const range = context.range ?? wholeRange(graph.plot);
  const shown = lines.slice(0, MAX_FULL_LINES);
  return html`<div class="multiples">
      ${repeat(
        shown,
        ({ id, title }) => `${id} ${title}`,
        (line) => renderOne(context, graph, line, { range, scale }),
      )}
    </div>
    ${
      lines.length > shown.length
        ? html`<p class="legend-common faint">
            ${grouped(shown.length)} of ${countText(lines.length, "line")} have a plot; narrow the query for the others.
          </p>`
        : nothing
    }`;
}

function renderOne(
  context: ExploreContext,
  graph: Graph,
  line: PlottedLine,
  { range, scale }: { range: ChartRange; scale: Scale },
) {
  const { plot, marks } = graph;
  return html`<figure>
    <figcaption title=${line.title}>
      ${line.trace ? html`<a href="/trace/${line.id}"><bdi>${line.label}</bdi></a>` : html`<code>${line.label}</code>`}
      ${renderRemove(line.formula || line.title, () => context.edits.removeLine(line, graph))}
    </figcaption>
    <kp-chart
      .lines=${linesOf(line)}
      .times=${plot.times}
      .findings=${marks.findings}
      .total=${plot.times.length}
      .range=${range}
      .scale=${scale}
      .along=${context.route.along}
      .cursorGroup=${CURSOR_GROUP}
      .label=${`Values of ${line.title} over commits`}
      .describe=${(hovered: Hovered) => renderTooltip(context, graph, hovered)}
      @kp-range=${(event: CustomEvent<ChartRange | undefined>) => context.zoomTo(event.detail, "push")}
      @kp-point=${({ detail }: CustomEvent<Hovered>) => context.openCommit(graph, detail.position, detail.line.id)}
    ></kp-chart>
  </figure>`;
}
