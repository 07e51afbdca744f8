import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";

/** The pages that the styles of a file are for: that of a change has parts of that of a trace. */
const VIEWS = [
  ["explore", "kp-explore"],
  ["trace", "kp-trace, kp-change"],
  ["triage", "kp-triage"],
] as const;

test.each(VIEWS)("the styles of %s reach %s and nothing else", async (view, elements) => {
  const text = await readFile(new URL(`../src/styles/${view}.css`, import.meta.url), "utf8");
  const outermost = text.replace(/\/\*.*?\*\//gs, "").match(/^\S.*$/gm);
  expect(outermost).toEqual([`:where(${elements}) {`, "}"]);
});
