/** What the parts of the triage view know of it, and what they may ask it to do. */

import type { Member, Regressions, Repository, Status } from "../../api/client";
import { traceAt, type TraceAddress, type TriageAddress } from "../../state/address";
import type { Freshness } from "../../state/freshness";
import type { GroupRow, Row } from "../../state/rows";

export interface Desk {
  readonly address: TriageAddress;
  readonly repositories: readonly Repository[];
  readonly data: Regressions | undefined;
  readonly selected: ReadonlySet<number>;
  readonly busy: boolean;
  readonly freshness: Freshness | undefined;
  change: (part: Partial<TriageAddress>, how?: "push" | "replace") => void;
  decideAbout: (ids: number[], status: Status) => Promise<void>;
  askTicket: (ids: number[]) => Promise<void>;
  askNote: (ids: number[]) => Promise<void>;
  setApart: (ids: number[]) => Promise<void>;
  merge: (ids: number[]) => Promise<void>;
  select: (rows: readonly Row[]) => void;
  tickRow: (row: Row, ranging: boolean) => void;
  clearSelection: () => void;
  fold: (row: GroupRow, opened: boolean) => void;
  showAll: () => void;
  sortBy: (sort: string, first: string) => void;
  typeFilter: (text: string) => void;
}

/** Where a member is looked at closely. */
export function memberAddress(member: Member, more: Partial<TraceAddress> = {}): TraceAddress {
  const { trace, place, condition } = member;
  return traceAt(trace.id, { line: place.line, commit: place.position ?? undefined, gone: condition === "gone", ...more });
}
