/** Decide, say so, and offer to take it back. */

import { api, shown, type ApiError, type ListFilter, type Status, type Triage } from "../../api/client";
import { toast } from "../../components/toast";
import { count, statusDone } from "../../text/findings";
import type { Marks } from "./list-patch";
import { targetsOf, type Selection } from "./selection";
import { forgetLast, lastDone, remember, shownList } from "./undo-stack";

/** What a decision did, for whoever shows findings. */
export interface Outcome {
  answer: Triage;
  /** The list that the answer is about. */
  filter: ListFilter;
  /** The groups as they were listed before. */
  order: readonly number[];
  /** What was written on which findings, where it stays the same for all of them. */
  marks?: { findings: Selection; marks: Marks };
}

function announce(outcome: Outcome): void {
  window.dispatchEvent(new CustomEvent("kp-decided", { detail: outcome }));
}

/** The newest decision on its way to the server, so that an undo right after it takes back that one. */
let underWay: Promise<unknown> = Promise.resolve();

export interface Wish {
  findings: Selection;
  /** Without one, each finding keeps its own. */
  status?: Status;
  note?: string;
  ticket?: string;
}

/** One finding, wherever it is shown. */
export function oneFinding(id: number): Selection {
  return new Map([[0, { whole: false, members: new Set([id]) }]]);
}

/** Record a decision. Answers whether it was recorded; a failure is shown. `answered` runs before the outcome is announced. */
export function decide(wish: Wish, answered: () => void = () => undefined): Promise<boolean> {
  const recorded = record(wish, answered);
  underWay = recorded;
  return recorded;
}

async function record({ findings, ...marks }: Wish, answered: () => void): Promise<boolean> {
  const { filter, order } = shownList();
  let answer: Triage;
  try {
    answer = await api.triage({ ...targetsOf(findings, filter), ...marks }).finally(answered);
  } catch (thrown) {
    fail("Nothing was changed, and the list is as before.", shown(thrown));
    return false;
  }
  done(
    answer,
    `${marks.status ? statusDone[marks.status] : "Wrote a note on"} ${count(answer.changed, "finding")}`,
    order,
  );
  announce({ answer, filter, order, marks: { findings, marks } });
  return true;
}

function done(answer: Triage, text: string, order: readonly number[]): void {
  if (answer.entries) remember({ entries: answer.entries, text, order });
  toast({ text: `${text}.`, action: { label: "Undo", key: "u", run: () => void undoLast() } });
}

function fail(what: string, error: ApiError): void {
  toast({ text: `${what} ${error.message} ${error.remedy}`, failure: true });
}

/** Set findings apart, or make one group of several. Answers whether it was done; a failure is shown. */
export async function regroup(how: "split" | "merge", findings: Selection, text: string): Promise<boolean> {
  const { filter, order } = shownList();
  try {
    const answer = await api.regroup(how, targetsOf(findings, filter));
    done(answer, text, order);
    announce({ answer, filter, order });
    return true;
  } catch (thrown) {
    fail("Nothing was changed.", shown(thrown));
    return false;
  }
}

/** Take back the newest decision of this sitting. */
export async function undoLast(): Promise<void> {
  await underWay;
  const last = lastDone();
  if (!last) {
    toast({ text: "Nothing to undo. Processed findings can be put back on the Processed tab." });
    return;
  }
  const { filter } = shownList();
  try {
    const answer = await api.undo({ entries: last.entries }, filter);
    forgetLast();
    toast({ text: `Undone: ${last.text.charAt(0).toLowerCase()}${last.text.slice(1)}.` });
    announce({ answer, filter, order: last.order });
  } catch (thrown) {
    const error = shown(thrown);
    if (error.code === 400) forgetLast(); // others have decided since: the one before can still be taken back
    fail("Nothing was undone.", error);
  }
}

/** Take back the newest decision about one finding, whoever made it. */
export async function undoOne(finding: number): Promise<void> {
  const { filter, order } = shownList();
  try {
    const answer = await api.undo({ ids: [finding] }, filter);
    toast({
      text:
        answer.changed > 0
          ? "Undone: the last decision about this finding."
          : "Nothing to undo: there is no decision about this finding.",
    });
    announce({ answer, filter, order });
  } catch (thrown) {
    fail("Nothing was undone.", shown(thrown));
  }
}

export const STATUS_KEYS: Record<string, Status> = { a: "acknowledged", h: "hidden", r: "new" };
