/** The pages of the audit log. */

import type { AuditEntry } from "../api/client";

export const AUDIT_PAGE_SIZE = 100;

export interface AuditPage {
  entries: readonly AuditEntry[];
  /** The id that the next page begins before; undefined on the last page. */
  older: number | undefined;
}

/** The page of an answer, which was asked for one entry more than a page has. */
export function auditPage(answer: readonly AuditEntry[]): AuditPage {
  const entries = answer.slice(0, AUDIT_PAGE_SIZE);
  return { entries, older: answer.length > AUDIT_PAGE_SIZE ? entries.at(-1)?.id : undefined };
}
