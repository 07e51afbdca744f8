/** Tokens: their order, and the request that makes one. */

import type { Token } from "../api/client";

const RANKS: Record<Token["state"], number> = { valid: 0, expired: 1, revoked: 2 };

/** The valid tokens first, then the expired and the revoked ones; each kind by name. */
export function tokenOrder(tokens: readonly Token[]): Token[] {
  return [...tokens].sort((a, b) => RANKS[a.state] - RANKS[b.state] || (a.name < b.name ? -1 : 1));
}

/** The lifetimes that the form offers, in days; 0 for a token that does not expire. */
export const LIFETIMES: readonly (readonly [days: number, text: string])[] = [
  [30, "in 30 days"],
  [90, "in 90 days"],
  [365, "in a year"],
  [0, "never"],
];

const DAY_MS = 86_400_000;

/** When a token with a lifetime expires; null for one that does not. */
export function expiryTime(days: number, now = Date.now()): string | null {
  return days > 0 ? new Date(now + days * DAY_MS).toISOString() : null;
}
