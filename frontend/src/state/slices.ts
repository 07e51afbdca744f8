/** Work that takes longer than a page may stand still. */

/** The browser draws and answers at least this often, in milliseconds. */
const SLICE_MS = 30;

async function pause(signal: AbortSignal): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve));
  signal.throwIfAborted();
}

/**
 * Do some work for each item, in slices between which the browser draws and answers; an abort ends it.
 *
 * What the caller does with the results is a slice of its own as well.
 */
export async function inSlices<T, R>(items: readonly T[], work: (item: T) => R, signal: AbortSignal): Promise<R[]> {
  const results: R[] = [];
  let began = performance.now();
  for (const item of items) {
    if (performance.now() - began > SLICE_MS) {
      await pause(signal);
      began = performance.now();
    }
    results.push(work(item));
  }
  await pause(signal);
  return results;
}
