/** The keys of the explore page. */

import type { FormulaPart } from "../../components/formula-field";
import type { Shortcuts } from "../../state/shortcuts";
import { pan, zoom } from "../../state/plot/zoom";
import type { Desk } from "./context";
import { nextScale } from "./plot";

/** What keys do, beyond what buttons do. */
export interface Keyboard extends Desk {
  readonly field: FormulaPart | null;
  step: (by: number) => void;
  querySelector: ParentNode["querySelector"];
}

export function shortcutsOf(view: Keyboard): Shortcuts[] {
  const total = view.times.length;
  const range = view.range ?? { first: 0, last: Math.max(total - 1, 0) };
  const current = view.found?.traces[view.cursor];
  return [
    {
      title: "Traces",
      list: [
        { keys: ["/"], does: "query", run: () => view.querySelector<HTMLInputElement>("#query")?.focus() },
        { keys: ["j", "ArrowDown"], does: "next trace", run: () => view.step(1) },
        { keys: ["k", "ArrowUp"], does: "trace before", run: () => view.step(-1) },
        { keys: ["x"], does: "plot the trace, or take it out", run: () => current && view.toggleTrace(current.id) },
        { keys: ["Enter", "o"], does: "open the trace", run: () => current && view.openTrace(current) },
      ],
    },
    {
      title: "Plot",
      list: [
        { keys: ["f"], does: "formula", run: () => view.field?.focus() },
        { keys: ["s"], does: "a short address of the plot", run: () => void view.keep() },
        {
          keys: ["y"],
          does: "another scale of the values",
          run: () => view.change({ scale: nextScale(view) }, "replace"),
        },
        { keys: ["+", "="], does: "look closer", run: () => view.look(zoom(range, 0.5, total)) },
        { keys: ["-"], does: "look from further away", run: () => view.look(zoom(range, 2, total)) },
        { keys: [">", "."], does: "move right", run: () => view.look(pan(range, 0.25, total)) },
        { keys: ["<", ","], does: "move left", run: () => view.look(pan(range, -0.25, total)) },
        { keys: ["0"], does: "whole line", run: () => view.look(undefined) },
        { keys: ["Escape"], does: "clear the plot", run: () => view.clear() },
      ],
    },
  ];
}
