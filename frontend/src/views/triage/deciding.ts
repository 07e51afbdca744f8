/** The decisions of the triage page: what is asked before, what leaves the list, and where the keyboard goes on. */

import type { ApiError, Caller, ChangeList, Status } from "../../api/client";
import { patchOf, type DecisionDialog, type DecisionQuestion } from "../../components/decision-dialog";
import type { HistoryMode } from "../../routes/navigation";
import type { TriageRoute } from "../../routes/triage";
import { showToast } from "../../state/toasts";
import { recordDecision, regroup, reportUnrecorded, type DecisionInput } from "../../state/triage/decisions";
import { cursorIndex, layOutRows, nextRemainingRow, toggleRows, type Row } from "../../state/triage/rows";
import {
  countSelected,
  heldReasons,
  NOTHING,
  selectedChanges,
  selectionWithin,
  withoutSelection,
  type Selection,
} from "../../state/triage/selection";
import { leavesTab, type TriageList } from "../../state/triage/triage-list";
import { countText } from "../../text/numbers";

/** What decisions read and change of the page. */
export interface DecidingPage {
  readonly route: TriageRoute;
  readonly data: ChangeList | undefined;
  readonly rows: readonly Row[];
  readonly list: TriageList;
  readonly dialog: DecisionDialog | null;
  readonly trackers: readonly string[];
  readonly caller: Caller;
  readonly updateComplete: Promise<unknown>;
  readonly isConnected: boolean;
  selection: Selection;
  updateRoute: (part: Partial<TriageRoute>, mode?: HistoryMode) => void;
  focusRow: (id: string) => void;
  clearSelection: () => void;
}

export class Deciding {
  constructor(private readonly page: DecidingPage) {}

  private countOf(findings: Selection): number {
    return countSelected(this.page.data?.changes ?? [], findings);
  }

  async decide(findings: Selection, status: Status): Promise<void> {
    const failure = await this.decideWith({ findings, status });
    if (failure) reportUnrecorded(failure);
  }

  /** Record a decision; the answer is why it was not recorded. */
  private async decideWith(input: DecisionInput): Promise<ApiError | undefined> {
    const { findings, status } = input;
    if (findings.size === 0) return undefined;
    if (!leavesTab(this.page.route.tab, status)) return recordDecision(input);
    const { page } = this;
    const { selection } = page;
    const at = page.rows[cursorIndex(page.rows, page.route.at)]?.id ?? "";
    const next = nextRemainingRow(page.rows, at, findings);
    page.selection = withoutSelection(selection, findings);
    const recorded = page.list.decideAndRemove(input);
    this.moveTo(next);
    const failure = await recorded;
    if (failure && page.isConnected) {
      // The rows are back, and with them the selection. Whoever has moved on since stays there.
      if (page.selection.size === 0) page.selection = selection;
      if (page.route.at === next) this.moveTo(at);
    }
    return failure;
  }

  private moveTo(at: string): void {
    if (at) this.page.updateRoute({ at }, "replace");
    void this.page.updateComplete.then(() => this.page.focusRow(at));
  }

  /** Ask for the ticket, the note or the assignee of a decision. */
  async ask(kind: DecisionQuestion["kind"], findings: Selection): Promise<void> {
    if (findings.size === 0) return;
    const { data, trackers, caller, dialog } = this.page;
    const held = heldReasons(data?.changes ?? [], findings);
    await dialog?.ask({ kind, findings: this.countOf(findings), held, trackers, assignee: caller.name }, (reply) =>
      this.decideWith({ findings, ...patchOf(kind, reply) }),
    );
  }

  async split(findings: Selection): Promise<void> {
    if (findings.size === 0) return;
    const { partial } = selectedChanges(this.page.data?.changes ?? [], findings);
    if (partial.length === 0) {
      showToast({ text: "Open a commit and select some of its traces: they are split off the others." });
      return;
    }
    const traces = selectionWithin(findings, partial);
    if (await regroup("split", traces, `Split off ${countText(this.countOf(traces), "trace")}`))
      this.page.clearSelection();
  }

  async merge(findings: Selection): Promise<void> {
    if (findings.size === 0) return;
    const { whole, partial } = selectedChanges(this.page.data?.changes ?? [], findings);
    const changes = [...whole, ...partial];
    if (changes.length < 2) {
      showToast({ text: "Select two or more commits: they become one change." });
      return;
    }
    // A merge takes changes as a whole, also those of which only some findings are selected.
    const all = toggleRows(NOTHING, layOutRows(changes, []), true);
    const text = `Merged ${countText(changes.length, "change")} into one`;
    if (await regroup("merge", all, text)) this.page.clearSelection();
  }
}
