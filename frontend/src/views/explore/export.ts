/** Take the plot elsewhere: its values as CSV, its picture, its address. */

import { html, nothing } from "lit";
import type { Commit } from "../../api/client";
import type { Chart } from "../../charts/chart";
import type { ExploreRoute } from "../../routes/explore";
import { copyText, saveFile } from "../../state/handover";
import type { Plot } from "../../state/plot/plot-loader";
import { pointsCsv, positionsIn } from "../../text/points-csv";
import type { ExploreContext, ExportFormat } from "./context";
import type { Graph } from "./graph";
import { smoothingText } from "./smoothing-field";

export function renderExport(context: ExploreContext, graph: Graph) {
  const save = (format: ExportFormat, what: string) =>
    html`<button
      class="link"
      aria-label="Save ${what} as ${format.toUpperCase()}"
      @click=${() => void context.savePlot(format, graph)}
    >
      ${format.toUpperCase()}
    </button>`;
  return html`<p class="second export">
    <span>Save the plot:</span>${save("csv", "the values shown")}
    ${context.route.multiples ? nothing : html`${save("png", "the plot")}${save("svg", "the plot")}`}
    <button class="link" @click=${() => void copyText(location.href, "Copied the address of this page.")}>
      Copy link
    </button>
  </p>`;
}

/** Save what a chart shows of a plot. */
export async function savePlot(format: ExportFormat, chart: Chart, plot: Plot, route: ExploreRoute) {
  const content =
    format === "csv"
      ? new Blob([await shownValues(plot, route)], { type: "text/csv" })
      : chart.picture(format, [plot.common, smoothingText(route.smooth)].filter(Boolean).join(" · "));
  const file = await content;
  if (file) saveFile(`plot.${format}`, file);
}

/** The values as they were measured, also where the plot draws them smoothed. */
async function shownValues({ lines, commits, times }: Plot, route: ExploreRoute): Promise<string> {
  const { first = 0, last = times.length } = route;
  const known = new Map<number, Commit>();
  for (const position of positionsIn(lines, first, last)) {
    const commit = await commits?.at(position);
    if (commit) known.set(position, commit);
  }
  return pointsCsv(lines, known, first, last);
}
