/** Change which traces are plotted. An address holds the whole selection, so nothing is ever left out of it unseen. */

import type { ExploreRoute } from "../../routes/explore";
import { routeUrl } from "../../routes/routes";
import { MAX_TRACES, type Plot, type PlotSelection } from "../../state/plot/plot-loader";
import { countText, grouped } from "../../text/numbers";

/** The longest list of ids in an address, in characters: web servers refuse addresses of more than about 8,000. */
const MAX_IDS_TEXT = 6000;
/** The longest address of several graphs, in characters. */
const MAX_ADDRESS = 7900;

/** The part of the route that changes, or why it does not. */
export type SelectionChange = { route: Partial<ExploreRoute> } | { refusal: string };

/** Add a trace to the plot, or take it out. */
export function toggledTrace(selection: PlotSelection, plot: Plot, id: number): SelectionChange {
  const ids = selection.plotted === undefined ? selection.traces : plot.lines.flatMap((line) => line.trace?.id ?? []);
  const isPlotted = ids.includes(id);
  if (ids.length < plot.selected && selection.plotted !== undefined) {
    return { refusal: `${omittedText(plot)} Narrow it before you add or remove single traces.` };
  }
  if (!isPlotted && ids.length >= MAX_TRACES) {
    return { refusal: `At most ${countText(MAX_TRACES, "trace")} can be plotted. Remove one from the plot first.` };
  }
  const traces = isPlotted ? ids.filter((other) => other !== id) : [...ids, id];
  if (traces.join().length > MAX_IDS_TEXT) {
    return {
      refusal: `An address has no room for ${countText(traces.length, "trace")} chosen by hand. Plot a query instead.`,
    };
  }
  return { route: { traces, formulas: selection.formulas, plotted: undefined, keys: "" } };
}

/** Why the graphs of a route do not go into an address; "" where they do. */
export function addressRefusal(route: ExploreRoute): string {
  if (route.others.length === 0 || routeUrl(route).length <= MAX_ADDRESS) return "";
  return "An address has no room for the chosen traces of all graphs. Plot queries instead, or give it a short address (s).";
}

/** "The plot shows 1,000 of 2,314 traces of its query."; only where it leaves some out. */
export function omittedText({ selected }: Plot): string {
  return `The plot shows ${grouped(MAX_TRACES)} of ${countText(selected, "trace")} of its query.`;
}
