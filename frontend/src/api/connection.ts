/** Notice that the server does not answer, and look until it answers again. */

const FIRST_MS = 1000;
const LONGEST_MS = 15_000;

let waiting = false;

/** Look for the server from now on; `kp-back` is sent to the window once it answers. */
export function lostConnection(): void {
  if (waiting) return;
  waiting = true;
  look(FIRST_MS);
}

function look(after: number): void {
  window.setTimeout(() => {
    fetch("/api/v1/version", { cache: "no-store" })
      .then((response) => response.ok)
      .catch(() => false)
      .then(
        (answers) => (answers ? found() : look(Math.min(2 * after, LONGEST_MS))),
        () => undefined,
      );
  }, after);
}

function found(): void {
  waiting = false;
  window.dispatchEvent(new Event("kp-back"));
}

/** Run something each time the server is back; call the answer to stop. */
export function whenBack(run: () => void): () => void {
  window.addEventListener("kp-back", run);
  return () => window.removeEventListener("kp-back", run);
}
