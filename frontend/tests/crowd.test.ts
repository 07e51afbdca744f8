import { expect, test } from "vitest";
import { crowdAlpha, nextSegments } from "../src/charts/crowd";

test("more lines are fainter, up to a limit", () => {
  expect([20, 200, 400, 1000].map((lines) => Math.round(crowdAlpha(lines) * 100))).toEqual([68, 48, 25, 25]);
});

test("a slow step is followed by smaller ones, and a quick one by larger ones", () => {
  expect(nextSegments(2000, 90)).toBe(1000);
  expect(nextSegments(2000, 10)).toBe(4000);
  expect(nextSegments(2000, 30)).toBe(2000);
  expect(nextSegments(6000, 1)).toBe(6000);
});
