import { expect, test } from "vitest";
import type { Token } from "../src/api/client";
import { expiryTime, tokenOrder, tokenState } from "../src/state/tokens";

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
    ...part,
  };
}

test("a token is valid until the moment at which it expires", () => {
  expect(tokenState(token("a", { expires: "2026-03-01T12:00:01Z" }), NOW)).toBe("valid");
  expect(tokenState(token("a", { expires: "2026-03-01T12:00:00Z" }), NOW)).toBe("expired");
});

test("a revoked token stays revoked after it expired", () => {
  expect(tokenState(token("a", { expires: "2026-02-01T00:00:00Z", revoked: "2026-01-15T00:00:00Z" }), NOW)).toBe(
    "revoked",
  );
});

test("valid tokens come first, each kind by name", () => {
  const revoked = token("a", { revoked: "2026-01-15T00:00:00Z" });
  const expired = token("b", { expires: "2026-02-01T00:00:00Z" });
  const listed = tokenOrder([revoked, expired, token("d"), token("c")], NOW);
  expect(listed.map(({ name }) => name)).toEqual(["c", "d", "b", "a"]);
});

test("a lifetime ends so many days from now, or never", () => {
  expect(expiryTime(30, NOW)).toBe("2026-03-31T12:00:00.000Z");
  expect(expiryTime(0, NOW)).toBeNull();
});
