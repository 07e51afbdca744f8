import { expect, test } from "vitest";
import { Latest } from "../src/state/latest";

/** An answer that comes when it is told to. */
function later<T>(): { promise: Promise<T>; come: (answer: T) => void } {
  let come: (answer: T) => void = () => undefined;
  const promise = new Promise<T>((resolve) => (come = resolve));
  return { promise, come };
}

test("an answer that comes after the next question has no effect, and is no failure", async () => {
  const latest = new Latest();
  const seen: string[] = [];
  const ask = (answer: Promise<string>): Promise<void> =>
    latest.run(
      async (_, present) => void seen.push(present(await answer)),
      (error) => void seen.push(error.message),
    );
  const [slow, quick] = [later<string>(), later<string>()];
  const both = [ask(slow.promise), ask(quick.promise)];
  quick.come("second");
  slow.come("first");
  await Promise.all(both);
  expect(seen).toEqual(["second"]);
});

test("a failure of the newest question is told, one of an older question is not", async () => {
  const latest = new Latest();
  const failures: string[] = [];
  const fail = (message: string): Promise<void> =>
    latest.run(
      () => Promise.reject(new Error(message)),
      (error) => void failures.push(error.message),
    );
  await Promise.all([fail("old"), fail("new")]);
  expect(failures).toEqual(["new"]);
});
