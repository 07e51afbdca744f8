/** Send decisions to the server, show what they did, and take them back. */

import { api, toApiError, type ApiError, type ListFilter, type Status, type Triage } from "../../api/client";
import { showToast } from "../toasts";
import { statusDone } from "../../text/findings";
import { countText } from "../../text/numbers";
import type { FindingPatch } from "./list-patch";
import { toTargets, type Selection } from "./selection";
import { dropLastUndoEntry, lastUndoEntry, pushUndoEntry } from "./undo-stack";
import { visibleList, type VisibleList } from "./visible-list";

/** What a decision did; elements that show findings receive it as the detail of `kp-decided`. */
export interface DecisionResult {
  answer: Triage;
  /** The list that the answer is about. */
  filter: ListFilter;
  /** Ids of the changes as they were listed before. */
  order: readonly string[];
  /** What the decision wrote, and on which findings, if it wrote the same on all of them. */
  written?: { findings: Selection; patch: FindingPatch };
}

export interface DecisionInput {
  findings: Selection;
  /** Without one, each finding keeps its status. */
  status?: Status;
  note?: string;
  ticket?: string;
  /** The tracker in which the server makes the ticket. */
  create?: string;
  /** Who takes care of the findings; "" takes the assignment back. */
  assignee?: string;
}

/** The statuses that keys set, on the triage page and on that of a trace. */
export const STATUS_KEYS: Record<string, Status> = { a: "acknowledged", h: "hidden", r: "new" };

/** Done when the newest change that this page made was answered. */
let lastChange: Promise<unknown> = Promise.resolve();

/**
 * Send a change once all changes before it were answered.
 *
 * Each answer says how the server has the changes after it. Were an older one to come last, the page would show again
 * what the newer one took off the list. An undo takes back the newest decision, so it waits for that as well.
 */
function inTurn<T>(send: () => Promise<T>): Promise<T> {
  const answered = lastChange.then(send);
  lastChange = answered.catch(() => undefined);
  return answered;
}

/** Record a decision, and show a message about it, also if the server does not record it. */
export async function decide(input: DecisionInput): Promise<void> {
  const failure = await recordDecision(input);
  if (failure) reportUnrecorded(failure);
}

/**
 * Record a decision, and show a message if it was recorded. The answer is why it was not.
 *
 * `onAnswer` runs before the result is announced.
 */
export function recordDecision(
  input: DecisionInput,
  onAnswer: () => void = () => undefined,
): Promise<ApiError | undefined> {
  const list = visibleList();
  return inTurn(() => sendDecision(input, list, onAnswer));
}

async function sendDecision(
  { findings, ...patch }: DecisionInput,
  { filter, order }: VisibleList,
  onAnswer: () => void,
): Promise<ApiError | undefined> {
  let answer: Triage;
  try {
    answer = await api.triage({ ...toTargets(findings, filter), ...patch }).finally(onAnswer);
  } catch (thrown) {
    return toApiError(thrown);
  }
  const action = patch.status ? statusDone[patch.status] : assignmentDone(patch.assignee);
  offerUndo(answer, `${action} ${countText(answer.changed, "change point")}`, order);
  announce({ answer, filter, order, written: { findings, patch } });
  return undefined;
}

function assignmentDone(assignee: string | undefined): string {
  if (assignee === undefined) return "Wrote a note on";
  return assignee ? `Assigned to ${assignee}:` : "Assigned to nobody:";
}

/** Show why a decision was not recorded. */
export function reportUnrecorded(error: ApiError): void {
  reportFailure("Nothing was recorded: the changes are as before.", error);
}

/** Split findings off their changes, or merge changes. The answer is whether the server recorded it. */
export function regroup(action: "split" | "merge", findings: Selection, text: string): Promise<boolean> {
  const list = visibleList();
  return inTurn(() => sendRegrouping(action, findings, text, list));
}

async function sendRegrouping(
  action: "split" | "merge",
  findings: Selection,
  text: string,
  { filter, order }: VisibleList,
): Promise<boolean> {
  try {
    const answer = await api.regroup(action, toTargets(findings, filter));
    offerUndo(answer, text, order);
    announce({ answer, filter, order });
    return true;
  } catch (thrown) {
    reportFailure("Nothing was changed.", toApiError(thrown));
    return false;
  }
}

/** Take back the newest decision that this page made. */
export function undoLast(): Promise<void> {
  return inTurn(sendUndo);
}

async function sendUndo(): Promise<void> {
  const last = lastUndoEntry();
  if (!last) {
    showToast({ text: "Nothing to undo. Processed findings can be put back on the Processed tab." });
    return;
  }
  const { filter } = visibleList();
  try {
    const answer = await api.undo({ entries: last.entries }, filter);
    dropLastUndoEntry();
    showToast({ text: `Undone: ${last.text.charAt(0).toLowerCase()}${last.text.slice(1)}.` });
    announce({ answer, filter, order: last.order });
  } catch (thrown) {
    const error = toApiError(thrown);
    // 400: others decided about these findings since. Drop the entry, so that the one before can be taken back.
    if (error.code === 400) dropLastUndoEntry();
    reportFailure("Nothing was undone.", error);
  }
}

/** Take back the newest decision about one finding, whoever made it. */
export function undoFinding(finding: string): Promise<void> {
  const list = visibleList();
  return inTurn(() => sendUndoOf(finding, list));
}

async function sendUndoOf(finding: string, { filter, order }: VisibleList): Promise<void> {
  try {
    const answer = await api.undo({ ids: [finding] }, filter);
    const undone = "Undone: the last decision about this finding.";
    const nothing = "Nothing to undo: there is no decision about this finding.";
    showToast({ text: answer.changed > 0 ? undone : nothing });
    announce({ answer, filter, order });
  } catch (thrown) {
    reportFailure("Nothing was undone.", toApiError(thrown));
  }
}

function announce(result: DecisionResult): void {
  window.dispatchEvent(new CustomEvent("kp-decided", { detail: result }));
}

function offerUndo(answer: Triage, text: string, order: readonly string[]): void {
  if (answer.entries) pushUndoEntry({ entries: answer.entries, text, order });
  showToast({ text: `${text}.`, action: { label: "Undo", key: "u", run: () => void undoLast() } });
}

function reportFailure(consequence: string, error: ApiError): void {
  showToast({ text: `${consequence} ${error.message} ${error.remedy}`, failure: true });
}
