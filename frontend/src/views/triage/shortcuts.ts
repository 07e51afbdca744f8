/** The keys of triage. */

import type { Tab } from "../../routes/routes";
import { undoLast } from "../../state/triage/decisions";
import type { Shortcuts } from "../../state/shortcuts";
import type { Row } from "../../state/triage/rows";
import type { Selection } from "../../state/triage/selection";
import type { Desk } from "./context";

/** What keys do, beyond what buttons do. */
export interface Keyboard extends Desk {
  /** The row that the keyboard is on. */
  readonly current: Row | undefined;
  /** What a decision is about: the selection, else the current row. */
  readonly aimed: Selection;
  step: (by: number) => void;
  turn: (by: number) => void;
  open: (row: Row | undefined) => void;
  why: (row: Row | undefined) => void;
  expand: (opened: boolean) => void;
  show: (tab: Tab) => void;
  querySelector: ParentNode["querySelector"];
}

export function shortcutsOf(view: Keyboard): Shortcuts[] {
  const { tab } = view.address;
  const deciding: Shortcuts["list"] = [
    { keys: ["a"], does: "acknowledge", run: () => void view.decideAbout(view.aimed, "acknowledged") },
    { keys: ["h"], does: "hide as noise", run: () => void view.decideAbout(view.aimed, "hidden") },
    ...(tab === "processed"
      ? [{ keys: ["r"], does: "put back", run: () => void view.decideAbout(view.aimed, "new") }]
      : []),
    { keys: ["t"], does: "link a ticket", run: () => void view.askTicket(view.aimed) },
    { keys: ["n"], does: "write a note", run: () => void view.askNote(view.aimed) },
    {
      keys: ["s"],
      does: "set traces apart from the others of their commit",
      run: () => void view.setApart(view.aimed),
    },
    { keys: ["m"], does: "merge the selected commits into one regression", run: () => void view.merge(view.aimed) },
  ];
  return [
    {
      title: "Move",
      list: [
        { keys: ["j", "ArrowDown"], does: "next row", run: () => view.step(1) },
        { keys: ["k", "ArrowUp"], does: "row before", run: () => view.step(-1) },
        { keys: ["Enter", "o"], does: "open the commit's traces, or the trace", run: () => view.open(view.current) },
        { keys: ["ArrowRight"], does: "show the traces of the commit", run: () => view.expand(true) },
        { keys: ["ArrowLeft"], does: "fold them away", run: () => view.expand(false) },
        { keys: ["w"], does: "why: open the trace, and what its method looked at", run: () => view.why(view.current) },
        { keys: ["]"], does: "next page", run: () => view.turn(1) },
        { keys: ["["], does: "page before", run: () => view.turn(-1) },
      ],
    },
    {
      title: "Decide",
      list: [
        { keys: ["x"], does: "select the row", run: () => tick(view, false) },
        { keys: ["X"], does: "select from the last selected row to here", run: () => tick(view, true) },
        { keys: ["Escape"], does: "clear the selection", run: () => view.clearSelection() },
        ...(tab === "gone" ? [] : deciding),
        { keys: ["u"], does: "undo the last decision", run: () => void undoLast() },
      ],
    },
    {
      title: "Show",
      list: [
        { keys: ["/"], does: "filter", run: () => view.querySelector<HTMLInputElement>("#filter")?.focus() },
        {
          keys: ["p"],
          does: "switch between unprocessed and processed",
          run: () => view.show(tab === "unprocessed" ? "processed" : "unprocessed"),
        },
        { keys: ["H"], does: "history: what the first run found", run: () => view.show("history") },
        { keys: ["G"], does: "findings that are gone", run: () => view.show("gone") },
      ],
    },
  ];
}

function tick(view: Keyboard, ranging: boolean): void {
  if (view.current) view.tickRow(view.current, ranging);
}
