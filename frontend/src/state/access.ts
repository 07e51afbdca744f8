/** Who uses the page, what they may do, and what happens when their sign-in ends. */

import type { Caller, Permission } from "../api/client";

/** Whether a caller has a permission for a repository. */
export function isAllowed(caller: Caller, permission: Permission, repository: string): boolean {
  const { everywhere, repositories } = caller.permissions;
  if (everywhere.includes(permission)) return true;
  return Object.hasOwn(repositories, repository) && (repositories[repository] ?? []).includes(permission);
}

/** Whether a caller has a permission for at least one repository. */
export function isAllowedSomewhere(caller: Caller, permission: Permission): boolean {
  const { everywhere, repositories } = caller.permissions;
  return everywhere.includes(permission) || Object.values(repositories).some((some) => some.includes(permission));
}

/** Whether a caller has a permission for all repositories, also those to come. */
export function isAllowedEverywhere(caller: Caller, permission: Permission): boolean {
  return caller.permissions.everywhere.includes(permission);
}

/** The caller with no permission but to read: what a page in a frame of another website may do. */
export function reader(caller: Caller): Caller {
  const only = (some: readonly Permission[]): Permission[] => (some.length > 0 ? ["read"] : []);
  const { everywhere, repositories } = caller.permissions;
  const each = Object.entries(repositories).map(([name, some]) => [name, only(some)] as const);
  return { ...caller, permissions: { everywhere: only(everywhere), repositories: Object.fromEntries(each) } };
}

/** The caller that a page was made for, and whether their sign-in ended since. */
export interface Session {
  /** Undefined until the server has answered who asks. */
  caller: Caller | undefined;
  /** The page keeps its content and what was typed, and asks to sign in again. */
  ended: boolean;
}

export const NO_SESSION: Session = { caller: undefined, ended: false };

/**
 * The session after the server answered who asks now; undefined for an answer that there is no valid sign-in.
 *
 * A known caller who is unknown now stays the caller of the page: what they began is not taken from them. What they send
 * is refused until they sign in again.
 */
export function nextSession(before: Session, answer: Caller | undefined): Session {
  const known = before.caller !== undefined && before.caller.kind !== "anyone";
  if (known && (answer === undefined || answer.kind === "anyone")) return { caller: before.caller, ended: true };
  return { caller: answer, ended: false };
}

/** Where to sign in and come back to this page; `address` is one of several ways to sign in. */
export function signInUrl(address = "/sign-in", here: Pick<Location, "pathname" | "search"> = location): string {
  return `${address}?next=${encodeURIComponent(here.pathname + here.search)}`;
}
