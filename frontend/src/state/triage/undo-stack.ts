/** The decisions of this sitting, newest last, so that they can be taken back one by one. */

import type { Entries, ListFilter } from "../../api/client";

export interface Done {
  /** The entries of the triage log that it made. */
  entries: Entries;
  text: string;
  /** The groups as they were listed before it. */
  order: readonly number[];
}

const done: Done[] = [];

export function remember(decision: Done): void {
  done.push(decision);
}

/** The decision that an undo takes back. */
export function lastDone(): Done | undefined {
  return done.at(-1);
}

export function forgetLast(): void {
  done.pop();
}

/** A list that is on the page: what the server is asked to say of a decision, and its groups. */
export interface ShownList {
  filter: ListFilter;
  order: readonly number[];
}

const EVERYTHING: ListFilter = {
  repository: "",
  processed: false,
  history: false,
  gone: false,
  filter: "",
  direction: null,
  status: null,
  alert: "",
  assignee: "",
  ticket: "",
  minimum_hazard: 0,
  minimum_effect: 0,
};
const none = (): ShownList => ({ filter: EVERYTHING, order: [] });
let current = none;

/** Say which list is shown for as long as it is; call the answer to stop. */
export function showList(list: () => ShownList): () => void {
  current = list;
  return () => {
    if (current === list) current = none;
  };
}

/** The list that is shown; that of all unprocessed findings where none is. */
export function shownList(): ShownList {
  return current();
}
