import { expect, test } from "vitest";
import { nextLook, parseLook } from "../src/state/last-look";

const HOUR = 3_600_000;
const NOW = 1_700_000_000_000;

test("who looks for the first time sees the last week", () => {
  expect(nextLook(undefined, NOW)).toEqual({ since: NOW - 7 * 24 * HOUR, seen: NOW });
});

test("a look soon after the last one shows the same news", () => {
  const before = { since: NOW - 9 * HOUR, seen: NOW - HOUR / 2 };
  expect(nextLook(before, NOW)).toEqual({ since: before.since, seen: NOW });
});

test("after a pause, what happened since the last look is new", () => {
  expect(nextLook({ since: NOW - 90 * HOUR, seen: NOW - 20 * HOUR }, NOW).since).toBe(NOW - 20 * HOUR);
});

test.each(["", "x", "1", "NaN 3"])("%j is not a look", (text) => {
  expect(parseLook(text)).toBeUndefined();
});
