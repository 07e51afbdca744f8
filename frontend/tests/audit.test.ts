import { expect, test } from "vitest";
import type { AuditEntry } from "../src/api/client";
import { AUDIT_PAGE_SIZE, auditPage } from "../src/state/audit";

function entries(number: number): AuditEntry[] {
  const entry = { time: "2026-03-01T12:00:00Z", kind: "decided", who: "ada", about: "R1", address: "" } as const;
  return Array.from({ length: number }, (_, index) => ({ ...entry, id: 1000 - index }));
}

test("a full answer is the last page", () => {
  const answer = entries(AUDIT_PAGE_SIZE);
  expect(auditPage(answer)).toEqual({ entries: answer, older: undefined });
});

test("one entry more than a page leads to the next page, which begins before the last one shown", () => {
  const answer = entries(AUDIT_PAGE_SIZE + 1);
  const page = auditPage(answer);
  expect(page.entries).toHaveLength(AUDIT_PAGE_SIZE);
  expect(page.older).toBe(page.entries.at(-1)?.id);
});
