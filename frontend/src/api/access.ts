/** Report requests that the server refused because of who asks, and ask again who that is. */

const REFUSALS = [401, 403];

/** Send `kp-refused` to the window if a status means that the caller may not do what was asked for. */
export function reportRefusal(status: number): void {
  if (REFUSALS.includes(status)) window.dispatchEvent(new Event("kp-refused"));
}

/** Run a function each time a request was refused. Returns a function that unsubscribes. */
export function onRefusal(run: () => void): () => void {
  window.addEventListener("kp-refused", run);
  return () => window.removeEventListener("kp-refused", run);
}
