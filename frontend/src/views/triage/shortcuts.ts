/** The keyboard shortcuts of the triage page. */

import type { Tab } from "../../routes/triage";
import type { Shortcut, ShortcutGroup } from "../../state/shortcuts";
import { undoLast } from "../../state/triage/decisions";
import { stepCommit, type Row, type stepRow } from "../../state/triage/rows";
import type { Selection } from "../../state/triage/selection";
import type { TriageContext } from "./context";

/** The actions that only keys call. */
export interface KeyboardActions extends TriageContext {
  /** The row that the keyboard is on. */
  readonly currentRow: Row | undefined;
  /** The findings that a decision is about: the selection, else the current row. */
  readonly targets: Selection;
  step: (by: number, from?: typeof stepRow) => void;
  turnPage: (by: number) => void;
  openRow: (row: Row | undefined) => void;
  explainRow: (row: Row | undefined) => void;
  /** Expand or collapse the current row; a finding loads more of its change, or collapses it. */
  togglePanel: () => void;
  expandCurrent: (expanded: boolean) => void;
  showTab: (tab: Tab) => void;
  querySelector: ParentNode["querySelector"];
}

export function triageShortcuts(page: KeyboardActions): ShortcutGroup[] {
  const { tab } = page.route;
  const otherTab = tab === "unprocessed" ? "processed" : "unprocessed";
  return [
    {
      title: "Move",
      shortcuts: [
        { keys: ["j", "ArrowDown"], description: "next row", run: () => page.step(1) },
        { keys: ["k", "ArrowUp"], description: "previous row", run: () => page.step(-1) },
        {
          keys: ["Enter", "o"],
          description: "show the commit's traces, or open the trace",
          run: () => page.openRow(page.currentRow),
        },
        { keys: ["J"], description: "next commit, past all traces of this one", run: () => page.step(1, stepCommit) },
        { keys: ["K"], description: "previous commit", run: () => page.step(-1, stepCommit) },
        {
          keys: ["ArrowRight"],
          description: "show the traces of the commit, or more of them",
          run: () => page.expandCurrent(true),
        },
        { keys: ["ArrowLeft"], description: "hide the traces of the commit", run: () => page.expandCurrent(false) },
        {
          keys: ["w"],
          description: "why: open the trace with the candidates of its method",
          run: () => page.explainRow(page.currentRow),
        },
        {
          keys: ["b"],
          description: "find the commit: build and measure commits of the suspect range",
          run: () => void page.findCommit(page.currentRow),
        },
        { keys: ["]"], description: "next page", run: () => page.turnPage(1) },
        { keys: ["["], description: "previous page", run: () => page.turnPage(-1) },
      ],
    },
    ...(page.decides ? [decisionGroup(page)] : []),
    {
      title: "Show",
      shortcuts: [
        { keys: ["/"], description: "filter", run: () => page.querySelector<HTMLInputElement>("#filter")?.focus() },
        { keys: ["p"], description: "switch between unprocessed and processed", run: () => page.showTab(otherTab) },
        { keys: ["H"], description: "history: what the first run found", run: () => page.showTab("history") },
        { keys: ["A"], description: "all changes, processed or not", run: () => page.showTab("all") },
        { keys: ["v"], description: "picture of the current row at the side", run: () => page.togglePanel() },
        { keys: ["G"], description: "change points that are gone", run: () => page.showTab("gone") },
      ],
    },
  ];
}

function decisionGroup(page: KeyboardActions): ShortcutGroup {
  return {
    title: "Decide",
    shortcuts: [
      { keys: ["x"], description: "select the row", run: () => selectCurrent(page, false) },
      {
        keys: ["X"],
        description: "select from the last selected row to this one",
        run: () => selectCurrent(page, true),
      },
      { keys: ["Escape"], description: "clear the selection", run: () => page.clearSelection() },
      ...(page.route.tab === "gone" ? [] : decisionShortcuts(page)),
      { keys: ["u"], description: "undo the last decision", run: () => void undoLast() },
    ],
  };
}

function decisionShortcuts(page: KeyboardActions): Shortcut[] {
  const putBack: Shortcut = { keys: ["r"], description: "put back", run: () => void page.decide(page.targets, "new") };
  return [
    { keys: ["a"], description: "acknowledge", run: () => void page.decide(page.targets, "acknowledged") },
    { keys: ["h"], description: "hide as noise", run: () => void page.decide(page.targets, "hidden") },
    ...(page.route.tab === "processed" || page.route.tab === "all" ? [putBack] : []),
    { keys: ["t"], description: "link a ticket", run: () => void page.ask("ticket", page.targets) },
    { keys: ["n"], description: "write a note", run: () => void page.ask("note", page.targets) },
    { keys: ["i"], description: "assign", run: () => void page.ask("assignee", page.targets) },
    {
      keys: ["s"],
      description: "split traces off the others of their commit",
      run: () => void page.split(page.targets),
    },
    {
      keys: ["m"],
      description: "merge the selected commits into one change",
      run: () => void page.merge(page.targets),
    },
  ];
}

function selectCurrent(page: KeyboardActions, extend: boolean): void {
  if (page.currentRow) page.selectRow(page.currentRow, extend);
}
