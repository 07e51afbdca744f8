/** The decisions of this sitting, newest last, so that they can be taken back one by one. */

export interface Done {
  ids: number[];
  text: string;
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
