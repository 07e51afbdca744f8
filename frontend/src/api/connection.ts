/** Detect that the server does not answer, and poll until it answers again. */

const FIRST_POLL_MS = 1000;
const LONGEST_POLL_MS = 15_000;

let polling = false;

/** Poll the server from now on, and send `kp-reconnect` to the window once it answers. */
export function reportLostConnection(): void {
  if (polling) return;
  polling = true;
  poll(FIRST_POLL_MS);
}

function poll(delay: number): void {
  window.setTimeout(() => {
    fetch("/api/v1/version", { cache: "no-store" })
      // A server that refuses a sign-in that ended answers as well.
      .then((response) => response.status < 500)
      .catch(() => false)
      .then(
        (answers) => (answers ? reportRecovery() : poll(Math.min(2 * delay, LONGEST_POLL_MS))),
        () => undefined,
      );
  }, delay);
}

/** Send `kp-reconnect` to the window: requests that failed can be sent again. */
export function reportRecovery(): void {
  polling = false;
  window.dispatchEvent(new Event("kp-reconnect"));
}

/** Run a function each time the server answers again. Returns a function that unsubscribes. */
export function onReconnect(run: () => void): () => void {
  window.addEventListener("kp-reconnect", run);
  return () => window.removeEventListener("kp-reconnect", run);
}
