/** The keys of the trace page. */

import { decide, oneFinding, STATUS_KEYS, undoLast } from "../../state/triage/decisions";
import type { Shortcuts } from "../../state/shortcuts";
import { around, pan, zoom } from "../../state/plot/zoom";
import { changeAt, type Desk } from "./context";
import { nextScale } from "./plot";

const VALUES_AROUND = 30;

export function shortcutsOf(desk: Desk): Shortcuts[] {
  const total = desk.times.length;
  const range = desk.range ?? desk.whole;
  const { gone, scale, why } = desk.address;
  return [
    {
      title: "Move",
      list: [
        { keys: ["j"], does: "next change", run: () => stepChange(desk, 1) },
        { keys: ["k"], does: "change before", run: () => stepChange(desk, -1) },
        { keys: ["ArrowRight"], does: "next commit that was run", run: () => step(desk, ran(desk), 1) },
        { keys: ["ArrowLeft"], does: "commit before that was run", run: () => step(desk, ran(desk), -1) },
        { keys: ["e"], does: "next change of environment", run: () => stepEnvironment(desk) },
        { keys: ["Escape"], does: "unpin the commit", run: () => desk.go({ commit: undefined }) },
      ],
    },
    {
      title: "Decide",
      list: [
        { keys: ["a"], does: "acknowledge the change", run: () => decideKey(desk, "a") },
        { keys: ["h"], does: "hide the change as noise", run: () => decideKey(desk, "h") },
        { keys: ["r"], does: "put the change back", run: () => decideKey(desk, "r") },
        { keys: ["u"], does: "undo the last decision", run: () => void undoLast() },
      ],
    },
    {
      title: "Show",
      list: [
        { keys: ["w"], does: "why", run: () => desk.openWhy(!why) },
        { keys: ["G"], does: "changes that are gone", run: () => desk.go({ gone: !gone }) },
        { keys: ["y"], does: "another scale of the values", run: () => desk.go({ scale: nextScale(scale) }) },
        { keys: ["z"], does: "look at the pinned commit closely", run: () => lookClosely(desk) },
        { keys: ["+", "="], does: "look closer", run: () => desk.look(zoom(range, 0.5, total)) },
        { keys: ["-"], does: "look from further away", run: () => desk.look(zoom(range, 2, total)) },
        { keys: [">", "."], does: "move right", run: () => desk.look(pan(range, 0.25, total)) },
        { keys: ["<", ","], does: "move left", run: () => desk.look(pan(range, -0.25, total)) },
        { keys: ["0"], does: "whole line", run: () => desk.look(undefined) },
      ],
    },
  ];
}

/** The commits that have a value, or a run without one. */
function ran(desk: Desk): number[] {
  const places = [...(desk.series?.positions ?? []), ...desk.failures.map((own) => own.position)];
  return places.sort((a, b) => a - b);
}

function step(desk: Desk, all: readonly number[], by: number): void {
  const now = desk.address.commit ?? (by > 0 ? -1 : Infinity);
  const next = by > 0 ? all.find((place) => place > now) : all.findLast((place) => place < now);
  if (next !== undefined) desk.go({ commit: next });
}

/** Show the values around the pinned commit; the whole line again where they are shown already. */
export function lookClosely(desk: Desk): void {
  const { commit } = desk.address;
  if (commit === undefined) return;
  const range = around(desk.series?.positions ?? [], commit, VALUES_AROUND, desk.times.length);
  const shown = desk.range?.first === range?.first && desk.range?.last === range?.last;
  desk.look(shown ? undefined : range, "push");
}

function stepChange(desk: Desk, by: number): void {
  const places = desk.members.flatMap((member) => member.place.position ?? []);
  step(
    desk,
    places.sort((a, b) => a - b),
    by,
  );
}

function stepEnvironment(desk: Desk): void {
  const places = desk.environments.map((own) => own.position);
  const next = places.find((place) => place > (desk.address.commit ?? -1)) ?? places[0];
  if (next !== undefined) desk.go({ commit: next });
}

function decideKey(desk: Desk, key: string): void {
  const member = changeAt(desk, desk.address.commit);
  const status = STATUS_KEYS[key];
  if (member && member.condition !== "gone" && status) void decide({ findings: oneFinding(member.id), status });
}
