/** The keyboard shortcuts of the trace page. */

import { PUBLISHED } from "../../api/published-data";
import { pan, rangeAround, zoom } from "../../state/plot/zoom";
import type { ShortcutGroup } from "../../state/shortcuts";
import { patchOf, type DecisionQuestion } from "../../components/decision-dialog";
import { decide, recordDecision, STATUS_KEYS, undoLast } from "../../state/triage/decisions";
import { selectById } from "../../state/triage/selection";
import { nextScale, otherAlong } from "../../templates/scale-field";
import { changeAt, type TraceContext } from "./context";

const VALUES_AROUND = 30;

export function traceShortcuts(context: TraceContext): ShortcutGroup[] {
  const total = context.times.length;
  const range = context.range ?? context.wholeRange;
  const { along, gone, scale, why } = context.route;
  const zoomBy = (factor: number): void => context.zoomTo(zoom(range, factor, total));
  const panBy = (fraction: number): void => context.zoomTo(pan(range, fraction, total));
  return [
    {
      title: "Move",
      shortcuts: [
        { keys: ["j"], description: "next change", run: () => stepChange(context, 1) },
        { keys: ["k"], description: "previous change", run: () => stepChange(context, -1) },
        { keys: ["ArrowRight"], description: "next commit with a run", run: () => stepRun(context, 1) },
        { keys: ["ArrowLeft"], description: "previous commit with a run", run: () => stepRun(context, -1) },
        { keys: ["e"], description: "next change of environment", run: () => nextEnvironment(context) },
        { keys: ["Escape"], description: "unpin the commit", run: () => context.updateRoute({ commit: undefined }) },
      ],
    },
    ...(context.mayDecide ? [decisionGroup(context)] : []),
    {
      title: "Show",
      shortcuts: [
        ...(PUBLISHED === undefined
          ? [{ keys: ["w"], description: "why", run: () => context.openExplanation(!why) }]
          : []),
        { keys: ["G"], description: "changes that are gone", run: () => context.updateRoute({ gone: !gone }) },
        { keys: ["y"], description: "next scale", run: () => context.updateRoute({ scale: nextScale(scale) }) },
        {
          keys: ["d"],
          description: "by date, by commit",
          run: () => context.updateRoute({ along: otherAlong(along) }),
        },
        { keys: ["z"], description: "zoom in on the pinned commit, and back", run: () => zoomToCommit(context) },
        { keys: ["+", "="], description: "zoom in", run: () => zoomBy(0.5) },
        { keys: ["-"], description: "zoom out", run: () => zoomBy(2) },
        { keys: [">", "."], description: "move right", run: () => panBy(0.25) },
        { keys: ["<", ","], description: "move left", run: () => panBy(-0.25) },
        { keys: ["0"], description: "whole line", run: () => context.zoomTo(undefined) },
      ],
    },
  ];
}

function decisionGroup(context: TraceContext): ShortcutGroup {
  return {
    title: "Decide",
    shortcuts: [
      { keys: ["a"], description: "acknowledge the change", run: () => decideByKey(context, "a") },
      { keys: ["h"], description: "hide the change as noise", run: () => decideByKey(context, "h") },
      { keys: ["r"], description: "put the change back", run: () => decideByKey(context, "r") },
      { keys: ["t"], description: "link a ticket", run: () => ask(context, "ticket") },
      { keys: ["n"], description: "write a note", run: () => ask(context, "note") },
      { keys: ["i"], description: "assign", run: () => ask(context, "assignee") },
      { keys: ["u"], description: "undo the last decision", run: () => void undoLast() },
    ],
  };
}

/** Show the values around the pinned commit; the whole line if they are shown already. */
export function zoomToCommit(context: TraceContext): void {
  const { commit } = context.route;
  if (commit === undefined) return;
  const range = rangeAround(context.series?.positions ?? [], commit, VALUES_AROUND, context.times.length);
  const zoomed = context.range?.first === range?.first && context.range?.last === range?.last;
  context.zoomTo(zoomed ? undefined : range, "push");
}

/** Pin the next or previous one of some positions. */
function step(context: TraceContext, positions: readonly number[], by: number): void {
  const sorted = [...positions].sort((a, b) => a - b);
  const pinned = context.route.commit ?? (by > 0 ? -1 : Infinity);
  const isAfter = (position: number): boolean => position > pinned;
  const next = by > 0 ? sorted.find(isAfter) : sorted.findLast((position) => position < pinned);
  if (next !== undefined) context.updateRoute({ commit: next });
}

/** Step through the commits with a run, also those without a value. */
function stepRun(context: TraceContext, by: number): void {
  const failed = context.failures.map(({ position }) => position);
  step(context, [...(context.series?.positions ?? []), ...failed], by);
}

function stepChange(context: TraceContext, by: number): void {
  const positions = context.findings.flatMap((finding) => finding.suspect_range.position ?? []);
  step(context, positions, by);
}

function nextEnvironment(context: TraceContext): void {
  const positions = context.environments.map(({ position }) => position);
  const next = positions.find((position) => position > (context.route.commit ?? -1)) ?? positions[0];
  if (next !== undefined) context.updateRoute({ commit: next });
}

/** Ask for the ticket, the note or the assignee of a change, by default the one at the pinned commit. */
export function ask(
  context: TraceContext,
  kind: DecisionQuestion["kind"],
  finding = changeAt(context, context.route.commit),
): void {
  if (!finding || finding.condition === "gone") return;
  const { dialog, trackers, caller } = context;
  const held = finding.held ? [finding.held] : [];
  const question = { kind, findings: 1, held, trackers, assignee: caller.name };
  const findings = selectById(finding.id);
  void dialog?.ask(question, (reply) => recordDecision({ findings, ...patchOf(kind, reply) }));
}

function decideByKey(context: TraceContext, key: string): void {
  const finding = changeAt(context, context.route.commit);
  const status = STATUS_KEYS[key];
  if (finding && finding.condition !== "gone" && status) void decide({ findings: selectById(finding.id), status });
}
