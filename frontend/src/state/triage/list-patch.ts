/** Change a list by what a decision did to it, without reading the list again. */

import type { Group, Member, Regressions, Triage } from "../../api/client";
import type { Tab } from "../../routes/routes";
import { isPicked, pickedOf, type Selection } from "./selection";

/** The groups without the findings of a selection, and without the groups that have no others. */
export function withoutFindings(groups: readonly Group[], gone: Selection): Group[] {
  return groups.flatMap((group) => {
    const number = pickedOf(group, gone);
    if (number === 0) return [group];
    const members = group.members.filter((member) => !isPicked(group, member.id, gone));
    const traces = group.traces - number;
    const lead = members.some((member) => member.id === group.lead) ? group.lead : (members[0]?.id ?? group.lead);
    return traces > 0 ? [{ ...group, members, traces, lead }] : [];
  });
}

export type Marks = Partial<Pick<Member, "status" | "note" | "ticket" | "assignee">>;

/** The groups with what was decided about the findings of a selection written on them. */
export function marked(groups: readonly Group[], decided: Selection, marks: Marks): Group[] {
  return groups.map((group) => {
    if (pickedOf(group, decided) === 0) return group;
    return {
      ...group,
      members: group.members.map((member) => (isPicked(group, member.id, decided) ? { ...member, ...marks } : member)),
    };
  });
}

/** The groups with others put back where they were: before the first group that followed them in `order`. */
export function putBack(groups: readonly Group[], others: readonly Group[], order: readonly number[]): Group[] {
  const place = new Map(order.map((id, index) => [id, index]));
  const next = [...groups];
  for (const other of others) {
    const former = place.get(other.id) ?? Infinity;
    const at = next.findIndex((group) => (place.get(group.id) ?? -1) > former);
    next.splice(at < 0 ? next.length : at, 0, other);
  }
  return next;
}

/** A group as the server has it now, with the members that were loaded already where they still are its first ones. */
function renewed(before: Group, now: Group): Group {
  const begin = before.members.slice(0, now.members.length);
  if (begin.length !== now.members.length || begin.some((member, index) => member.id !== now.members[index]?.id))
    return now;
  return { ...now, members: [...now.members, ...before.members.slice(now.members.length)] };
}

/** The list after a decision. `order` are the groups as they were listed before it, for those that come back. */
export function patched(data: Regressions, answer: Triage, tab: Tab, order: readonly number[]): Regressions {
  const now = new Map(answer.groups.map((group) => [group.id, group]));
  const left = new Set(answer.left);
  const stay = data.groups.filter((group) => !left.has(group.id));
  const known = new Set(stay.map((group) => group.id));
  const groups = stay.map((group) => {
    const fresh = now.get(group.id);
    return fresh ? renewed(group, fresh) : group;
  });
  const total = answer[tab];
  return {
    ...data,
    groups: putBack(
      groups,
      answer.groups.filter((group) => !known.has(group.id)),
      order,
    ),
    groups_total: total,
    unprocessed: answer.unprocessed,
    history: answer.history,
    processed: answer.processed,
    gone: answer.gone,
  };
}

/** A list that was read again, with the members that were loaded already; groups that did not change stay the same objects. */
export function sameAsBefore(groups: readonly Group[], before: readonly Group[]): Group[] {
  const known = new Map(before.map((group) => [group.id, group]));
  return groups.map((group) => {
    const old = known.get(group.id);
    if (!old) return group;
    const begin = { ...old, members: old.members.slice(0, group.members.length) };
    return JSON.stringify(begin) === JSON.stringify(group) ? old : group;
  });
}
