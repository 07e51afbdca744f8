/** Callers and permissions in words. */

import type { Caller, Permission } from "../api/client";

/** The order in which permissions are listed. */
export const PERMISSIONS: readonly Permission[] = ["read", "upload", "decide", "measure", "admin"];

/** What a token with this scope may do. */
export const PERMISSION_TEXTS: Record<Permission, string> = {
  read: "read findings, traces and values",
  upload: "upload results",
  decide: "decide about findings; includes read",
  measure: "start and stop bisections; includes read",
  admin: "everything, also tokens; includes the others",
};

const KIND_TEXTS: Record<Caller["kind"], string> = {
  local: "user of this machine, no sign-in",
  person: "signed in",
  token: "token",
  "ci job": "CI job",
  anyone: "not signed in",
};

export const NO_SIGN_IN =
  "There is no sign-in. Everybody who reaches this machine's loopback address acts under this name.";

/** The name to show of a caller. */
export function callerTitle(caller: Caller): string {
  return caller.kind === "anyone" ? "Not signed in" : caller.title || caller.name;
}

/** How a caller is known: "signed in through Company". */
export function callerSource({ kind, provider, sign_in: ways }: Caller): string {
  if (kind !== "person" || !provider) return KIND_TEXTS[kind];
  return `signed in through ${ways.find(({ name }) => name === provider)?.title ?? provider}`;
}

/** A list of permissions: "read, upload and decide"; "everything" for an admin. */
export function permissionsText(permissions: readonly Permission[]): string {
  if (permissions.includes("admin")) return "everything";
  const listed: string[] = PERMISSIONS.filter((permission) => permissions.includes(permission));
  const last = listed.pop();
  if (last === undefined) return "nothing";
  return listed.length > 0 ? `${listed.join(", ")} and ${last}` : last;
}

/** What a caller may do, one entry for all repositories and one for each repository with further permissions. */
export function grantTexts({ permissions }: Caller): (readonly [repositories: string, permissions: string])[] {
  const { everywhere, repositories } = permissions;
  const named = Object.entries(repositories).sort(([a], [b]) => (a < b ? -1 : 1));
  const further = named
    .filter(([, some]) => some.some((permission) => !everywhere.includes(permission)))
    .map(([name, some]) => [name, permissionsText([...everywhere, ...some])] as const);
  if (everywhere.length === 0 && further.length > 0) return further;
  return [["All repositories", permissionsText(everywhere)], ...further];
}
