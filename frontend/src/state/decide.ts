/** Decide, say so, and offer to take it back. */

import { api, shown, type Decided, type Regrouped, type Status } from "../api/client";
import { toast } from "../parts/toast";
import { count, statusDone } from "../text/words";
import { forgetLast, lastDone, remember } from "./undo";

function changed(): void {
  window.dispatchEvent(new Event("kp-decided"));
}

/** The newest decision on its way to the server, so that an undo right after it takes back that one. */
let underWay: Promise<unknown> = Promise.resolve();

/** Record a decision. Answers whether it was recorded; a failure is shown. `answered` runs before anybody is told. */
export function decide(decided: Decided, answered: () => void = () => undefined): Promise<boolean> {
  const recorded = record(decided, answered);
  underWay = recorded;
  return recorded;
}

async function record(decided: Decided, answered: () => void): Promise<boolean> {
  try {
    await api.triage(decided).finally(answered);
  } catch (thrown) {
    const error = shown(thrown);
    toast({ text: `Nothing was changed. ${error.message} ${error.remedy}`, failure: true });
    return false;
  }
  const text = `${statusDone[decided.status]} ${count(decided.ids.length, "finding")}`;
  remember({ ids: decided.ids, text });
  toast({ text: `${text}.`, action: { label: "Undo", key: "u", run: () => void undoLast() } });
  changed();
  return true;
}

/** Set findings apart, or make one group of several. Answers whether it was done; a failure is shown. */
export async function regroup(how: "split" | "merge", what: Regrouped, text: string): Promise<boolean> {
  let ids: number[];
  try {
    const answer = await api.regroup(how, what);
    ids = Object.keys(answer.regressions).map(Number);
  } catch (thrown) {
    const error = shown(thrown);
    toast({ text: `Nothing was changed. ${error.message} ${error.remedy}`, failure: true });
    return false;
  }
  remember({ ids, text });
  toast({ text: `${text}.`, action: { label: "Undo", key: "u", run: () => void undoLast() } });
  changed();
  return true;
}

/** Take back the newest decision of this sitting. */
export async function undoLast(): Promise<void> {
  await underWay;
  const last = lastDone();
  if (!last) {
    toast({ text: "Nothing to undo. Processed findings can be put back on the Processed tab." });
    return;
  }
  try {
    await api.undo(last.ids);
  } catch (thrown) {
    const error = shown(thrown);
    toast({ text: `Nothing was undone. ${error.message} ${error.remedy}`, failure: true });
    return;
  }
  forgetLast();
  toast({ text: `Undone: ${last.text.charAt(0).toLowerCase()}${last.text.slice(1)}.` });
  changed();
}

/** Take back the newest decision about one finding, whoever made it. */
export async function undoOne(finding: number): Promise<void> {
  try {
    const { changed: number } = await api.undo([finding]);
    toast({ text: number > 0 ? "Undone: the last decision about this finding." : "Nothing to undo: nobody has decided anything about this finding." });
  } catch (thrown) {
    const error = shown(thrown);
    toast({ text: `Nothing was undone. ${error.message} ${error.remedy}`, failure: true });
    return;
  }
  changed();
}

export const STATUS_KEYS: Record<string, Status> = { a: "acknowledged", h: "hidden", r: "new" };
