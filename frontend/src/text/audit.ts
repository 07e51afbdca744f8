/** The kinds of audit entries in words. */

import type { AuditKind } from "../api/client";

/** In the order of the filter; the compiler reports a kind that is missing. */
export const AUDIT_KINDS: Record<AuditKind, string> = {
  "signed-in": "Signed in",
  "sign-in-refused": "Sign-in refused",
  "signed-out": "Signed out",
  "token-created": "Token created",
  "token-revoked": "Token revoked",
  "configuration-changed": "Configuration changed",
  decided: "Decided",
  "boundary-moved": "History boundary moved",
  "missed-marked": "Missed change marked",
  "missed-unmarked": "Mark of a missed change removed",
  "tickets-changed": "Tickets changed",
  "alerts-applied": "Alerts applied",
  "alert-set": "Alert set",
  "alert-removed": "Alert removed",
  "proposal-accepted": "Proposal accepted",
  "proposal-rejected": "Proposal rejected",
  "proposal-undone": "Decision about a proposal taken back",
  "rename-accepted": "Rename accepted",
  "rename-withdrawn": "Rename taken back",
  "quarantine-lifted": "Quarantine lifted",
  "bisection-asked": "Bisection asked for",
  "bisection-stopped": "Bisection stopped",
  "attempts-started": "Session of attempts started",
  "attempt-asked": "Attempt asked for",
  "attempts-stopped": "Session of attempts stopped",
  "deliveries-changed": "Deliveries changed",
  "runs-removed": "Runs removed",
  "entries-deleted": "Old entries deleted",
  restored: "Restored from a backup",
};

/** A kind by the text of a URL; undefined if there is none with this name. */
export function parseAuditKind(text: string | null): AuditKind | undefined {
  return (Object.keys(AUDIT_KINDS) as AuditKind[]).find((kind) => kind === text);
}
