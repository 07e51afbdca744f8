/** What the parts of the triage view know of it, and what they may ask it to do. */

import type { ApiError, Member, Regressions, Repository, Status } from "../../api/client";
import { traceAt, type TraceAddress, type TriageAddress } from "../../routes/routes";
import type { Freshness } from "../../state/freshness";
import type { GroupRow, Row } from "../../state/triage/rows";
import type { Selection } from "../../state/triage/selection";

export interface Desk {
  readonly address: TriageAddress;
  readonly repositories: readonly Repository[];
  readonly data: Regressions | undefined;
  readonly selected: Selection;
  readonly busy: boolean;
  readonly freshness: Freshness | undefined;
  /** The groups of which more members are being read, or could not be. */
  readonly paging: ReadonlyMap<number, "reading" | ApiError>;
  change: (part: Partial<TriageAddress>, how?: "push" | "replace") => void;
  decideAbout: (findings: Selection, status: Status) => Promise<void>;
  askTicket: (findings: Selection) => Promise<void>;
  askNote: (findings: Selection) => Promise<void>;
  setApart: (findings: Selection) => Promise<void>;
  merge: (findings: Selection) => Promise<void>;
  select: (rows: readonly Row[]) => void;
  tickRow: (row: Row, ranging: boolean) => void;
  clearSelection: () => void;
  fold: (row: GroupRow, opened: boolean) => void;
  moreMembers: (group: number) => void;
  sortBy: (sort: string, first: string) => void;
  typeFilter: (text: string) => void;
}

/** Where a member is looked at closely. */
export function memberAddress(member: Member, more: Partial<TraceAddress> = {}): TraceAddress {
  const { trace, place, condition } = member;
  return traceAt(trace.id, {
    line: place.line,
    commit: place.position ?? undefined,
    gone: condition === "gone",
    ...more,
  });
}
