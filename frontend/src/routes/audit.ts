/** The route of the audit log: its filters, and where its page begins. */

import type { AuditKind } from "../api/client";
import { parseAuditKind } from "../text/audit";
import { formatUrl, parseWhole, type RouteFormat } from "./url";

export interface AuditRoute {
  view: "audit";
  /** Only entries of this kind. */
  kind: AuditKind | undefined;
  /** Only entries of this caller; all of them for "". */
  who: string;
  /** Only entries before the one with this id; undefined for the newest ones. */
  before: number | undefined;
}

export const auditRoute: AuditRoute = { view: "audit", kind: undefined, who: "", before: undefined };

export const auditFormat: RouteFormat<AuditRoute> = {
  title: "Audit log",
  parse: ({ pathname, searchParams }) => {
    if (pathname !== "/audit") return undefined;
    return {
      view: "audit",
      kind: parseAuditKind(searchParams.get("kind")),
      who: searchParams.get("who") ?? "",
      before: parseWhole(searchParams.get("before")),
    };
  },
  format: ({ kind, who, before }) =>
    formatUrl("/audit", [
      ["kind", kind],
      ["who", who],
      ["before", before],
    ]),
};
