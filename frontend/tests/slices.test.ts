import { expect, test } from "vitest";
import { inSlices } from "../src/state/slices";

/** Work that takes longer than a slice. */
function work(item: number): number {
  const began = performance.now();
  while (performance.now() - began < 35);
  return 2 * item;
}

test("long work is done in order, and other tasks run in between", async () => {
  let others = 0;
  const count = (): void => {
    others++;
    if (others < 10) setTimeout(count);
  };
  setTimeout(count);
  expect(await inSlices([1, 2, 3], work, new AbortController().signal)).toEqual([2, 4, 6]);
  expect(others).toBeGreaterThan(0);
});

test("work that is no longer wanted ends", async () => {
  const controller = new AbortController();
  const done: number[] = [];
  setTimeout(() => controller.abort());
  const sliced = inSlices([1, 2, 3, 4], (item) => done.push(work(item)), controller.signal);
  await expect(sliced).rejects.toThrow();
  expect(done).toHaveLength(1);
});
