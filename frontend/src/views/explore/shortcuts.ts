/** The keyboard shortcuts of the explore page. */

import { pan, zoom } from "../../state/plot/zoom";
import type { ShortcutGroup } from "../../state/shortcuts";
import { nextOwnScale, nextScale, otherAlong } from "../../templates/scale-field";
import type { ExploreContext } from "./context";

/** The actions that only keys call. */
export interface KeyboardActions extends ExploreContext {
  step: (by: number) => void;
  focusFormula: () => void;
  openFormulaMenu: () => void;
  querySelector: ParentNode["querySelector"];
}

export function exploreShortcuts(page: KeyboardActions): ShortcutGroup[] {
  const total = page.line.times.length;
  const range = page.range ?? { first: 0, last: Math.max(total - 1, 0) };
  const current = page.data.traces?.traces[page.cursor];
  const next = page.graphs[page.graphs.indexOf(page.graph) + 1] ?? page.graphs[0];
  const focusQuery = (): void => page.querySelector<HTMLInputElement>("#query")?.focus();
  const showNextScale = (): void => page.updateRoute({ scale: nextScale(page.route.scale) }, "replace");
  const showNextOwnScale = (): void => {
    if (page.graphs.length === 1) showNextScale();
    else page.edits.scale(page.graph, nextOwnScale(page.graph.chosen.ownScale));
  };
  const zoomBy = (factor: number): void => page.zoomTo(zoom(range, factor, total));
  const panBy = (fraction: number): void => page.zoomTo(pan(range, fraction, total));
  return [
    {
      title: "Traces",
      shortcuts: [
        { keys: ["/"], description: "query", run: focusQuery },
        { keys: ["q"], description: "build a query from the values of all params", run: () => page.openQueryDialog() },
        { keys: ["j", "ArrowDown"], description: "next trace", run: () => page.step(1) },
        { keys: ["k", "ArrowUp"], description: "previous trace", run: () => page.step(-1) },
        {
          keys: ["x"],
          description: "plot the trace, or remove it from the plot",
          run: () => current && page.edits.toggleTrace(current.id, page.graph),
        },
        { keys: ["p"], description: "plot what the query finds", run: () => page.plotQuery() },
        { keys: ["P"], description: "plot it in a graph of its own", run: () => page.edits.addQuery() },
        { keys: ["Enter", "o"], description: "open the trace", run: () => current && page.openTrace(current) },
      ],
    },
    {
      title: "Plot",
      shortcuts: [
        { keys: ["f"], description: "formula", run: () => page.focusFormula() },
        { keys: ["F"], description: "build a formula", run: () => page.openFormulaMenu() },
        { keys: ["s"], description: "give the plot a short address", run: () => void page.createShortAddress() },
        { keys: ["y"], description: "next scale", run: showNextScale },
        { keys: ["Y"], description: "next scale of the current graph alone", run: showNextOwnScale },
        {
          keys: ["d"],
          description: "by date, by commit",
          run: () => page.updateRoute({ along: otherAlong(page.route.along) }, "replace"),
        },
        {
          keys: ["m"],
          description: "a small plot for each line, or one for all",
          run: () => page.updateRoute({ multiples: !page.route.multiples }, "replace"),
        },
        { keys: ["+", "="], description: "zoom in", run: () => zoomBy(0.5) },
        { keys: ["-"], description: "zoom out", run: () => zoomBy(2) },
        { keys: [">", "."], description: "move right", run: () => panBy(0.25) },
        { keys: ["<", ","], description: "move left", run: () => panBy(-0.25) },
        { keys: ["0"], description: "whole line", run: () => page.zoomTo(undefined) },
        { keys: ["n"], description: "add a graph", run: () => page.edits.add() },
        { keys: ["N"], description: "next graph", run: () => page.edits.use(next ?? page.graph) },
        { keys: ["Escape"], description: "clear the plot, or remove the current graph", run: () => page.clearPlot() },
      ],
    },
  ];
}
