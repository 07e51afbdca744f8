/** Filter, sort and page the published changes, as the server does. */

import type { Finding, FindingPage, Change, ChangeList } from "./objects";

const PARTS = ["unprocessed", "history", "processed"] as const;

type Tab = (typeof PARTS)[number] | "all" | "gone";
/** All changes by the list that they are on, each with all members, the worst first; of `all`, their ids. */
export type Lists = Record<Exclude<Tab, "all">, Change[]> & { all: string[] };

const KEYS: Record<string, (change: Change) => string | number> = {
  hazard: ({ hazard }) => Math.abs(hazard ?? 0),
  date: ({ commit }) => commit.position ?? -1,
  traces: ({ traces }) => traces,
  author: ({ commit }) => commit.author.toLowerCase(),
  subject: ({ commit }) => commit.subject.toLowerCase(),
  found: ({ found }) => found ?? "",
};

function tabOf(search: URLSearchParams): Tab {
  return (["gone", "all", "history", "processed"] as const).find((tab) => search.get(tab) === "true") ?? "unprocessed";
}

function accepts(search: URLSearchParams): (finding: Finding) => boolean {
  const get = (name: string): string => search.get(name) ?? "";
  const words = get("filter").toLowerCase().split(/\s+/).filter(Boolean);
  const kind = get("alert_kind") || (get("alert") ? "any" : "work");
  return (finding) => {
    const { commit, trace, hazard, relative_size: share, size, deviation } = finding;
    const texts = [trace.key, commit.hash, commit.author, commit.subject].map((text) => text.toLowerCase());
    return (
      (!get("repository") || trace.repository === get("repository")) &&
      (kind === "any" || finding.alert_kind === kind) &&
      (["status", "certainty", "kind"] as const).every((name) => !get(name) || finding[name] === get(name)) &&
      (!get("since") || (commit.time ?? "") >= get("since")) &&
      (!get("until") || (commit.time ?? "9").slice(0, 10) <= get("until")) &&
      (!get("assignee") || finding.assignee === get("assignee")) &&
      (!get("alert") || finding.alerts.includes(get("alert"))) &&
      (!get("ticket") || [finding.ticket, finding.matched_ticket].includes(get("ticket"))) &&
      words.every((word) => texts.some((text) => text.includes(word))) &&
      Math.abs(hazard ?? 0) >= Number(get("minimum_hazard")) &&
      Math.abs(share ?? Infinity) >= Number(get("minimum_effect")) &&
      (Number(get("minimum_sigma")) === 0 || Math.abs(size) >= Number(get("minimum_sigma")) * (deviation ?? Infinity))
    );
  };
}

function filtered(changes: readonly Change[], search: URLSearchParams): Change[] {
  const accept = accepts(search);
  const stated = (["direction", "condition"] as const).flatMap((name) => {
    const wanted = search.get(name);
    return wanted ? [[name, wanted] as const] : [];
  });
  return changes.flatMap((change) => {
    if (stated.some(([name, wanted]) => change.statement?.[name] !== wanted)) return [];
    const members = change.members.filter(accept);
    const lead = members[0];
    if (!lead) return [];
    const directions: Change["directions"] = {};
    for (const { direction } of members) directions[direction] = (directions[direction] ?? 0) + 1;
    return [{ ...change, members, directions, traces: members.length, lead: lead.id }];
  });
}

/** The changes of a list. Members of one may be on several lists, and are together on that of all. */
function changesOf(lists: Lists, tab: Tab): readonly Change[] {
  if (tab !== "all") return lists[tab];
  const parts = PARTS.map((part) => new Map(lists[part].map((change) => [change.id, change])));
  return lists.all.flatMap((id) => {
    const changes = parts.flatMap((part) => part.get(id) ?? []);
    return changes.slice(0, 1).map((change) => ({ ...change, members: changes.flatMap(({ members }) => members) }));
  });
}

function sorted(changes: Change[], sort: string): Change[] {
  const isReversed = sort.startsWith("-");
  const key = KEYS[sort.replace(/^-/, "")];
  if (!key) return isReversed ? changes : changes.reverse();
  const sign = isReversed ? -1 : 1;
  return changes.sort((a, b) => {
    const [left, right] = [key(a), key(b)];
    return left === right ? 0 : left < right ? -sign : sign;
  });
}

/** One page of a list. */
export function listChanges(lists: Lists, search: URLSearchParams): ChangeList {
  const tab = tabOf(search);
  const changes = sorted(filtered(changesOf(lists, tab), search), search.get("sort") ?? "-change");
  const size = Number(search.get("size") ?? 50);
  const pages = Math.max(1, Math.ceil(changes.length / size));
  const page = Math.min(Number(search.get("page") ?? 1), pages);
  const members = Number(search.get("members") ?? 5);
  const count = (name: Tab): number => filtered(changesOf(lists, name), search).length;
  return {
    page,
    pages,
    total: changes.length,
    unprocessed: count("unprocessed"),
    processed: count("processed"),
    history: count("history"),
    all: count("all"),
    gone: count("gone"),
    changes: changes
      .slice((page - 1) * size, page * size)
      .map((change) => ({ ...change, members: change.members.slice(0, members) })),
  };
}

/** One page of the members of a change. */
export function membersOf(lists: Lists, search: URLSearchParams): FindingPage {
  const change = search.get("change") ?? "";
  const found = filtered(changesOf(lists, tabOf(search)), search).find(({ id }) => id === change);
  const all = found?.members ?? [];
  const after = search.get("after");
  const begin = after === null ? 0 : all.findIndex(({ id }) => id === after) + 1;
  const members = all.slice(begin, begin + Number(search.get("size") ?? 200));
  const last = members.at(-1);
  return { change, members, after: last && begin + members.length < all.length ? last.id : null };
}
