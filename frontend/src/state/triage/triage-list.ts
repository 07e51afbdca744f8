/** The list of findings as the page has it: read once, then changed by what decisions did to it. */

import {
  api,
  type ApiError,
  type Direction,
  type Group,
  type ListFilter,
  type Member,
  type Regressions,
  type Status,
} from "../../api/client";
import { writeAddress, type Tab, type TriageAddress } from "../../routes/routes";
import { decide, type Outcome, type Wish } from "./decisions";
import { Latest } from "../latest";
import { marked, patched, sameAsBefore, withoutFindings } from "./list-patch";
import type { Selection } from "./selection";

const FIRST_MEMBERS = 5;
export const MEMBERS_AT_ONCE = 200;

/** What of the list an address asks for. */
export function filterOf(address: TriageAddress): ListFilter {
  return {
    repository: address.repository,
    processed: address.tab === "processed",
    history: address.tab === "history",
    gone: address.tab === "gone",
    filter: address.filter,
    direction: (address.direction || null) as Direction | null,
    status: (address.status || null) as Status | null,
    alert: "",
    assignee: "",
    ticket: "",
    minimum_hazard: 0,
    minimum_effect: address.least / 100,
  };
}

/** What of an address decides which rows the server is asked for. */
export function asked(address: TriageAddress): string {
  return writeAddress({ ...address, open: [], at: "" });
}

export class FindingList {
  /** The last answer of the server, with what decisions did to it since. */
  private known: Regressions | undefined;
  /** The list that is shown: what is known, without what is on its way off the list. */
  data: Regressions | undefined;
  error: ApiError | undefined;
  busy = false;
  /** The groups of which more members are being read, or could not be. */
  readonly paging = new Map<number, "reading" | ApiError>();
  private address: TriageAddress | undefined;
  /** The address whose rows are known: while others are being read, not the one that was asked for last. */
  private answered: TriageAddress | undefined;
  private readonly reading = new Latest();
  private readonly pages = new Map<number, Latest>();
  /** Findings whose decision is on its way to the server. */
  private readonly leaving = new Set<Selection>();

  /** `changed` runs whenever there is something else to show. */
  constructor(private readonly changed: () => void) {}

  /** Which list the rows that are shown belong to, and so what a decision about them may reach. */
  get filter(): ListFilter | undefined {
    return this.answered && filterOf(this.answered);
  }

  /** The groups in their order, those included whose decision is on its way. */
  get order(): number[] {
    return this.known?.groups.map((group) => group.id) ?? [];
  }

  /** Whether nothing is listed only because decisions are on their way, or because the list is being read. */
  get pending(): boolean {
    return this.leaving.size > 0 || (this.busy && (this.data?.groups_total ?? 0) > 0);
  }

  /** Read the list that an address asks for; where it is another one, show nothing of the one before. */
  async load(address: TriageAddress, another = false): Promise<void> {
    this.address = address;
    if (another) this.forgetRows();
    this.busy = true;
    this.show(this.known);
    const { sort, page, size } = address;
    await this.reading.run(
      async (signal, present) => {
        const found = present(
          await api.regressions({ ...filterOf(address), sort, page, size, members: FIRST_MEMBERS }, signal),
        );
        this.error = undefined;
        this.busy = false;
        this.answered = address;
        this.show({ ...found, groups: sameAsBefore(found.groups, this.known?.groups ?? []) });
      },
      (error) => {
        this.error = error;
        this.busy = false;
        if (this.answered && asked(this.answered) !== asked(address)) this.forgetRows(); // they answer another question
        this.show(this.known);
      },
    );
  }

  /** Show no rows until a list has been read, so that no key decides about rows of another one. */
  private forgetRows(): void {
    this.known = undefined;
    this.answered = undefined;
    this.forgetPages();
  }

  stop(): void {
    this.reading.stop();
    this.forgetPages();
  }

  private forgetPages(): void {
    for (const page of this.pages.values()) page.stop();
    this.paging.clear();
  }

  private show(known: Regressions | undefined): void {
    this.known = known;
    this.data = known && {
      ...known,
      groups: [...this.leaving].reduce((left, gone) => withoutFindings(left, gone), known.groups),
    };
    this.changed();
  }

  /** Decide about findings that leave the list by it: they leave at once, and come back as they were if that fails. */
  async takeOff(wish: Wish): Promise<void> {
    this.leaving.add(wish.findings);
    this.show(this.known);
    if (!(await decide(wish, () => this.leaving.delete(wish.findings)))) this.show(this.known);
  }

  /** Show what a decision did, whoever asked for it on this page. */
  take({ answer, filter, order, marks }: Outcome): void {
    const { address, known } = this;
    if (!address || !known) return;
    if (JSON.stringify(filter) !== JSON.stringify(this.filter)) {
      void this.load(address);
      return;
    }
    const before = marks ? marked(known.groups, marks.findings, marks.marks) : known.groups;
    const staying =
      marks && leavesList(address.tab, marks.marks.status) ? withoutFindings(before, marks.findings) : before;
    const now = patched({ ...known, groups: staying }, answer, address.tab, order);
    this.show({ ...now, pages: Math.max(1, Math.ceil(now.groups_total / address.size)) });
    const few = 2 * now.groups.length < Math.min(address.size, now.groups_total);
    if (this.busy || few) void this.load(address); // what is under way may be from before the decision
  }

  /** Read the members that follow those of a group that are there. */
  async more(id: number): Promise<void> {
    const { filter } = this;
    const last = (): Member | undefined => this.known?.groups.find((group) => group.id === id)?.members.at(-1);
    const after = last()?.id;
    if (!filter) return;
    const page = this.pages.get(id) ?? new Latest();
    this.pages.set(id, page);
    this.paging.set(id, "reading");
    this.changed();
    await page.run(
      async (signal, present) => {
        const { members } = present(await api.members(id, after, MEMBERS_AT_ONCE, filter, signal));
        this.paging.delete(id);
        const groups = this.known?.groups ?? [];
        const added = groups.map((group) =>
          group.id === id && last()?.id === after ? { ...group, members: [...group.members, ...members] } : group,
        );
        if (this.known) this.show({ ...this.known, groups: added });
      },
      (error) => {
        this.paging.set(id, error);
        this.changed();
      },
    );
  }

  /** Read the first members of the opened groups. */
  fill(opened: (group: Group) => boolean): void {
    for (const group of this.known?.groups ?? []) {
      const few = group.members.length < Math.min(group.traces, MEMBERS_AT_ONCE);
      if (few && opened(group) && !this.paging.has(group.id)) void this.more(group.id);
    }
  }
}

/** Whether a finding that gets this status is on a tab no longer. */
export function leavesList(tab: Tab, status: Status | undefined): boolean {
  return status !== undefined && (tab === "processed" ? status === "new" : status !== "new");
}
