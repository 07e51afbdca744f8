import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";

const VIEWS = ["explore", "trace", "triage"] as const;

test.each(VIEWS)("the styles of %s reach that view and nothing else", async (view) => {
  const text = await readFile(new URL(`../src/styles/${view}.css`, import.meta.url), "utf8");
  const outermost = text.replace(/\/\*.*?\*\//gs, "").match(/^\S.*$/gm);
  expect(outermost).toEqual([`:where(kp-${view}) {`, "}"]);
});
