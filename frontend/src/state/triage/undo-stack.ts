/** The decisions that this page made since it was opened, so that undo takes them back one by one. */

import type { Entries } from "../../api/client";

export interface UndoEntry {
  /** The entries of the triage log that the decision made. */
  entries: Entries;
  /** What the decision did, for the message after the undo. */
  text: string;
  /** Ids of the changes as they were listed before the decision. */
  order: readonly string[];
}

const stack: UndoEntry[] = [];

export function pushUndoEntry(entry: UndoEntry): void {
  stack.push(entry);
}

export function lastUndoEntry(): UndoEntry | undefined {
  return stack.at(-1);
}

export function dropLastUndoEntry(): void {
  stack.pop();
}
