import { expect, test } from "vitest";
import type { Token } from "../src/api/client";
import { expiryTime, tokenOrder } from "../src/state/tokens";

const NOW = Date.parse("2026-03-01T12:00:00Z");

function token(name: string, part: Partial<Token> = {}): Token {
  return {
    name,
    scopes: ["upload"],
    repositories: [],
    created: "2026-01-01T00:00:00Z",
    created_by: "ada",
    expires: null,
    last_used: null,
    revoked: null,
    state: "valid",
    ...part,
  };
}

test("valid tokens come first, each kind by name", () => {
  const revoked = token("a", { state: "revoked" });
  const expired = token("b", { state: "expired" });
  const listed = tokenOrder([revoked, expired, token("d"), token("c")]);
  expect(listed.map(({ name }) => name)).toEqual(["c", "d", "b", "a"]);
});

test("a lifetime ends so many days from now, or never", () => {
  expect(expiryTime(30, NOW)).toBe("2026-03-31T12:00:00.000Z");
  expect(expiryTime(0, NOW)).toBeNull();
});
