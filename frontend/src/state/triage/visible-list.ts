/** The list that the page shows, for decisions that are made anywhere on it: the server answers what they do to it. */

import type { ListFilter } from "../../api/client";

export interface VisibleList {
  filter: ListFilter;
  /** Ids of the changes, in their order. */
  order: readonly string[];
}

/** All unprocessed findings, as without any parameter: what a decision is answered for on a page without a list. */
const UNPROCESSED = {} as ListFilter;

const noList = (): VisibleList => ({ filter: UNPROCESSED, order: [] });
let current = noList;

/** Register the list that is shown. Returns a function that unregisters it. */
export function registerVisibleList(list: () => VisibleList): () => void {
  current = list;
  return () => {
    if (current === list) current = noList;
  };
}

export function visibleList(): VisibleList {
  return current();
}
