/** The parts of a finding that several pages show: its change, its levels, its status. */

import { html, nothing, type TemplateResult } from "lit";
import type { Change, Finding, Mark, Statement, Status } from "../api/client";
import { timestampText } from "../text/dates";
import {
  arrowOf,
  causeText,
  certaintyText,
  comparisonText,
  directedText,
  hazardText,
  intervalText,
  statusWord,
} from "../text/findings";
import { commitHash } from "./commit";

/**
 * "▲ 12 % slower": the size of a change point.
 *
 * The arrow shows where the values went, a word whether that is bad, and the colour repeats the word.
 */
export function pointSize(finding: Pick<Finding, "size" | "size_text" | "direction">): TemplateResult {
  return directed(finding.direction, arrowOf(finding), directedText(finding.size_text, finding.direction));
}

/** "▼ 24 faster by up to 46 %; 1 larger by 0.49 %, mixed": what a change is, with the arrow and colour of the side that leads. */
export function changeHeadline({ statement, members }: Pick<Change, "statement" | "members">): TemplateResult {
  if (!statement) return html`${members.slice(0, 1).map(pointSize)}`;
  const leading = members.find((member) => member.direction === statement.side);
  return statedHeadline(statement, leading ? arrowOf(leading) : "");
}

/** The headline of a statement, with an arrow that shows where the values of its side went. */
export function statedHeadline({ side, headline, direction }: Statement, arrow: string): TemplateResult {
  return directed(`${side} headline`, arrow, directedText(headline, direction));
}

/** What arrow and colour of a change mean. */
export function directionKey(): TemplateResult {
  return html`<span class="faint direction-key"
    >▲ values rose, ▼ values fell; <span class="change regression">worse</span>,
    <span class="change improvement">better</span></span
  >`;
}

/** "R12: 24 faster by up to 46 %; 1 larger by 0.49 %, mixed": the change of a mark on a plot; nothing where the mark says all of it. */
export function markedChange(mark: NonNullable<Mark["finding"]>): TemplateResult | typeof nothing {
  if (mark.headline === mark.size_text && mark.condition === "present") return nothing;
  const condition = mark.condition === "present" ? nothing : html` <span class="tag">${mark.condition}</span>`;
  return html`<div class="tip-note">${mark.change}: ${directedText(mark.headline, mark.stated)}${condition}</div>`;
}

/** The text with each number and its unit on one line. */
function unbroken(text: string): string {
  return text.replaceAll(/(?<=\d) (?=%|×)/g, "\u00a0");
}

function directed(kind: string, arrow: string, text: string): TemplateResult {
  return html`<span class="change ${kind}"
    >${arrow ? html`<span class="arrow" aria-hidden="true">${arrow}</span>` : nothing}<span class="amount"
      >${unbroken(text)}</span
    ></span
  >`;
}

/** Why a commit is named as the cause of a change, with the range beside it; nothing where nothing is known. */
export function causeNote(statement: Statement | null | undefined, suspects: number): TemplateResult | typeof nothing {
  const text = causeText(statement, suspects);
  const title = suspects > 1 ? "Not every commit of the range was measured." : "";
  const kind = { bisected: "tag", only: "faint", suspect: "range", none: "range" }[statement?.likely?.basis ?? "none"];
  return text ? html`<span class=${kind} title=${title}>${text}</span>` : nothing;
}

const CONDITION_TITLES: Record<Statement["condition"], string> = {
  present: "",
  recovered: "Later values are back at the level before the change.",
  fixed: "Later values are back at the level before the change, which a person had confirmed.",
  gone: "Later data no longer show it.",
};

/** That the data of today no longer show a change, or the level before it again, and since when; nothing where they show it. */
export function conditionTag(
  statement: Statement | null | undefined,
  repository: string,
): TemplateResult | typeof nothing {
  if (!statement || statement.condition === "present") return nothing;
  const { condition, undone_at: undone } = statement;
  return html`<span class="tag" title=${CONDITION_TITLES[condition]}>${condition}</span> ${
      undone ? html`<span class="undone">undone at ${commitHash(undone, repository)}</span>` : nothing
    }`;
}

const COMPARISON_TITLE =
  "Median of the 20 values before → median of the 20 values after, their difference, " +
  "and its size in standard deviations of single values (σ).";

/** "12.3 ms → 15.1 ms, +22.8 %, 6.4 σ"; on demand, how well the difference is known. */
export function comparison(finding: Finding): TemplateResult {
  const title = [COMPARISON_TITLE, certaintyText(finding)].filter(Boolean).join(" ");
  return html`<span class="figure" title=${title}>${comparisonText(finding)}</span>`;
}

const RANGE_TITLE = "95 % interval of the change.";

/** "95 %: +20.9 % to +24.7 %"; nothing where that is unknown or exact. */
export function sizeRange(finding: Finding): TemplateResult | typeof nothing {
  const text = intervalText(finding);
  return text ? html`<span class="figure" title=${RANGE_TITLE}>95 %: ${text}</span>` : nothing;
}

export const HAZARD_TITLE =
  "Hazard level: log(mean before / mean after) of the stable regions. " +
  "Changes that cancel each other have the same magnitude.";

export function hazard(value: number | null): TemplateResult {
  return html`<span class="faint figure hazard-level" title=${HAZARD_TITLE}>${hazardText(value)}</span>`;
}

/** The shape and the word of a status. */
export function statusLabel(status: Status): TemplateResult {
  return html`<span class="status ${status}">${statusShape(status)}${statusWord[status]}</span>`;
}

/** The status of a finding; one that is gone or history says so. */
export function standing(finding: Finding): TemplateResult {
  if (finding.condition === "gone") return html`<span class="tag">gone</span>`;
  if (!finding.history) return statusLabel(finding.status);
  return finding.status === "new" ? historyTag() : html`${statusLabel(finding.status)} ${historyTag()}`;
}

const HISTORY_TITLE = "The change lies before the history boundary. It needs no triage.";

export function historyTag(): TemplateResult {
  return html`<span class="tag" title=${HISTORY_TITLE}>history</span>`;
}

/** That a finding is provisional, with the reason; nothing where it is settled. */
export function provisionalTag(
  finding: Pick<Finding, "certainty" | "certainty_reason" | "held">,
): TemplateResult | typeof nothing {
  if (finding.certainty === "settled" || finding.held) return nothing;
  return html`<span class="tag" title="Later values may still move or remove it: ${finding.certainty_reason}."
    >provisional</span
  >`;
}

/** That later values undid the change. */
export function recoveredTag({ condition }: Pick<Finding, "condition">): TemplateResult | typeof nothing {
  if (condition !== "recovered") return nothing;
  return html`<span class="tag" title="Later values are back at the level before the change.">recovered</span>`;
}

/** That a finding joined its change after the run that found the first one; nothing where it did not. */
export function joinedTag(finding: Pick<Finding, "found">, first: string | null): TemplateResult | typeof nothing {
  if (!finding.found || !first || Date.parse(finding.found) <= Date.parse(first)) return nothing;
  return html`<span
    class="tag"
    title="Found on ${timestampText(finding.found)}, after the first change points of this commit."
    >joined later</span
  >`;
}

/** Why a finding is held back, as a line; nothing where it is not. */
export function heldLine(held: string): TemplateResult | typeof nothing {
  if (!held) return nothing;
  return html`<div
    class="held indent"
    title="Results at its commit are quarantined. It is not announced before their outcome."
  >
    <span class="tag">held</span> <span>${held}</span>
  </div>`;
}

/** The kind of a finding; nothing for a step, which most are. */
export function kindTag(finding: Pick<Finding, "kind">): TemplateResult | typeof nothing {
  return finding.kind === "step" ? nothing : html`<span class="tag">${finding.kind}</span>`;
}

const ALERT_KIND_TITLES: Record<Finding["alert_kind"], string> = {
  work: "",
  informational: "Only informational alerts found it: it is not work, and is not announced.",
  canary: "Only canary alerts found it: it says that a machine moved, and is not work.",
};

/** The kind of the alerts that found it, if it is not work, and their severity, if it is not normal. */
export function alertTags(
  finding: Pick<Finding, "alert_kind">,
  severity: Finding["alert_severity"],
): TemplateResult | typeof nothing {
  const kind = finding.alert_kind;
  return html`${kind === "work" ? nothing : html`<span class="tag" title=${ALERT_KIND_TITLES[kind]}>${kind}</span>`}
  ${
    severity === "normal"
      ? nothing
      : html`<span class="tag ${severity}" title="Severity of the alerts that found it">${severity} severity</span>`
  }`;
}

/** The shapes of the statuses; plots draw the same ones. */
const STATUS_SHAPES: Record<Status, TemplateResult> = {
  new: html`<svg viewBox="0 0 12 12" aria-hidden="true"><path d="M6 .8 11.2 6 6 11.2.8 6Z" /></svg>`,
  acknowledged: html`<svg viewBox="0 0 12 12" aria-hidden="true"><circle cx="6" cy="6" r="4.6" /></svg>`,
  hidden: html`<svg viewBox="0 0 12 12" aria-hidden="true"><circle class="hollow" cx="6" cy="6" r="4" /></svg>`,
  ticket: html`<svg viewBox="0 0 12 12" aria-hidden="true">
    <rect x="1.6" y="1.6" width="8.8" height="8.8" rx="1" />
  </svg>`,
};

function statusShape(status: Status): TemplateResult {
  return STATUS_SHAPES[status];
}

/** The ticket that a person linked, else one that an import matched; nothing without one. */
export function ticketOf(finding: Pick<Finding, "ticket" | "matched_ticket">): string {
  return finding.ticket || finding.matched_ticket;
}

export function ticketLink(ticket: string): TemplateResult {
  if (!/^https?:\/\//.test(ticket)) return html`${ticket}`;
  return html`<a href=${ticket} target="_blank" rel="noreferrer">${ticket}</a>`;
}
