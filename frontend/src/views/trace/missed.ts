/** Changes that people marked as missed: on the plot, in its tooltip, and as a list below the changes. */

import { html, nothing, type TemplateResult } from "lit";
import { api, type MissedChange } from "../../api/client";
import type { ChartMark } from "../../charts/chart-data";
import { showToast } from "../../state/toasts";
import { date } from "../../templates/commit";
import { grouped } from "../../text/numbers";
import type { TraceContext } from "./context";
import { changeMark } from "../../components/missed-button";

const DIRECTION_TEXTS: Record<MissedChange["direction"], string> = {
  regression: "worse",
  improvement: "better",
  unknown: "changed",
};

/** How the plot shows the marks that no finding stands for by now. */
export function missedMarks(missed: readonly MissedChange[]): ChartMark[] {
  return missed.flatMap((each) => {
    const { position } = each;
    if (position === null || each.finding !== null) return [];
    const previous = each.previous_position ?? position - 1;
    return {
      id: each.id,
      position,
      previous,
      suspects: position - previous,
      status: "new" as const,
      direction: each.direction,
      text: `${arrow(each)} missed`,
      sides: undefined,
      interval: undefined,
      gone: false,
      history: false,
      missed: true,
    };
  });
}

/** The marks at a commit, for the tooltip of the plot. */
export function missedTips(missed: readonly MissedChange[], position: number): TemplateResult[] {
  return missed
    .filter((each) => each.position === position)
    .map((each) => html`<div class="tip-note">${arrow(each)} missed change, marked by ${each.who} ${each.note}</div>`);
}

/** The marks in words, for screen readers. */
export function missedText(missed: readonly MissedChange[]): string[] {
  if (missed.length === 0) return [];
  return [`Missed changes: ${missed.map((each) => each.commit.slice(0, 10)).join(", ")}.`];
}

/** The marks, each with who made it and the way to take it back. */
export function renderMissedList(context: TraceContext) {
  const { missed } = context;
  if (missed.length === 0) return nothing;
  return html`<h3 id="missed-title">Missed changes</h3>
    <ul class="ticket-list" aria-labelledby="missed-title">
      ${missed.map((each) => renderMissed(context, each))}
    </ul>`;
}

function renderMissed(context: TraceContext, each: MissedChange) {
  const { position } = each;
  const pick = (): void => context.updateRoute({ commit: position ?? undefined });
  return html`<li>
    <span>${arrow(each)} ${DIRECTION_TEXTS[each.direction]}</span>
    <span class="faint">marked by <bdi>${each.who}</bdi> ${date(each.time)}</span>
    ${position === null ? nothing : html`<button class="link" @click=${pick}>commit ${grouped(position + 1)}</button>`}
    ${each.finding === null ? nothing : html`<span class="tag">found by now as ${each.finding}</span>`}
    ${each.note ? html`<span class="note"><bdi>${each.note}</bdi></span>` : nothing}
    ${
      context.mayDecide
        ? html`<button class="button small quiet" @click=${() => void takeBack(each)}>Take back</button>`
        : nothing
    }
  </li>`;
}

/** The button that marks the pinned commit, where no change is known there. */
export function renderMissedButton(context: TraceContext, position: number, hash: string) {
  const isKnown = [...context.findings, ...context.missed].some((each) =>
    "suspect_range" in each
      ? each.suspect_range.position === position && each.condition !== "gone"
      : each.position === position,
  );
  if (!context.mayDecide || isKnown) return nothing;
  return html`<kp-missed-button .trace=${context.route.id} .commit=${hash} .position=${position}></kp-missed-button>`;
}

async function takeBack({ id, trace, commit, movement, note }: MissedChange): Promise<void> {
  if (!(await changeMark(() => api.unmarkMissed(id)))) return;
  const again = (): void => void changeMark(() => api.markMissed({ trace, commit, direction: movement, note }));
  showToast({ text: "Removed the mark.", action: { label: "Mark again", run: again } });
}

function arrow({ movement }: MissedChange): string {
  return movement === "up" ? "▲" : "▼";
}
