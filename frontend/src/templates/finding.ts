/** Small pieces that several views show alike. */

import { html, nothing, type TemplateResult } from "lit";
import type { ApiError, Commit, Member, Status, Trace } from "../api/client";
import { headAndTail, pieces, traceName } from "../text/trace-names";
import { ago, day, moment } from "../text/units";
import { changeInWords, comparison, directionWord, hazardText, saysItself, statusWord } from "../text/findings";

/** "▲ 12 % slower": the arrow says where the values went, a word whether that is bad, and the colour says it again. */
export function change(member: Member): TemplateResult {
  const judged = member.direction === "unknown" || saysItself(member.trace.dimension);
  return html`<span class="change ${member.direction}">
    <span class="arrow" aria-hidden="true">${member.size > 0 ? "▲" : "▼"}</span
    ><span class="amount"
      >${changeInWords(member)}${judged ? nothing : html`, ${directionWord[member.direction]}`}</span
    >
  </span>`;
}

/** "12.3 ms → 15.1 ms, +22.8 %, 6.4 σ", with what it means for those who ask. */
export function compared(member: Member): TemplateResult {
  return html`<span
    class="figure"
    title="Median of the 20 values before → median of the 20 values after, their difference, and how many standard deviations of single values (σ) it is."
    >${comparison(member)}</span
  >`;
}

export const HAZARD = "Hazard level: the natural logarithm of mean before / mean after, over the whole levels.";

export function hazard(value: number | null): TemplateResult {
  return html`<span class="faint figure" title=${HAZARD}>${hazardText(value)}</span>`;
}

/** The shape and the word of a triage state. */
export function state(status: Status): TemplateResult {
  return html`<span class="state ${status}">${stateShape(status)}${statusWord[status]}</span>`;
}

/** What a list says of a finding that is no work. */
export function historyTag(): TemplateResult {
  return html`<span
    class="tag"
    title="It lies before the history boundary: the first run found it, and it needs no triage."
    >history</span
  >`;
}

/** Whether a finding is gone, history, or what was decided about it. */
export function standing(member: Member): TemplateResult {
  if (member.condition === "gone") return html`<span class="tag">gone</span>`;
  if (!member.history) return state(member.status);
  return member.status === "new" ? historyTag() : html`${state(member.status)} ${historyTag()}`;
}

export function stateShape(status: Status): TemplateResult {
  const shapes: Record<Status, TemplateResult> = {
    new: html`<svg viewBox="0 0 12 12" aria-hidden="true"><path d="M6 .8 11.2 6 6 11.2.8 6Z" /></svg>`,
    acknowledged: html`<svg viewBox="0 0 12 12" aria-hidden="true"><circle cx="6" cy="6" r="4.6" /></svg>`,
    hidden: html`<svg viewBox="0 0 12 12" aria-hidden="true"><circle class="hollow" cx="6" cy="6" r="4" /></svg>`,
    ticket: html`<svg viewBox="0 0 12 12" aria-hidden="true">
      <rect x="1.6" y="1.6" width="8.8" height="8.8" rx="1" />
    </svg>`,
  };
  return shapes[status];
}

/** A long name that may break where its parts meet; what others have in common with it may be `faded`. */
export function longName(name: string, faded = 0): TemplateResult {
  const broken = (text: string): TemplateResult[] => pieces(text).map((piece) => html`${piece}<wbr />`);
  return html`${faded > 0 ? html`<span class="common">${broken(name.slice(0, faded))}</span>` : nothing}${broken(name.slice(faded))}`;
}

/** A name on one line, cut in its middle where there is little room. */
export function cutName(name: string): TemplateResult {
  const [head, tail] = headAndTail(name);
  return html`<span class="cut" title=${name}
    ><span class="cut-head">${head}</span>${tail ? html`<span class="cut-tail">${tail}</span>` : nothing}</span
  >`;
}

/** The name of a trace, the params that are not in the name after it. */
export function traceLabel(trace: Trace, faded = 0): TemplateResult {
  const { name, rest } = traceName(trace.params);
  return html`<span class="trace-name">${longName(name, faded)}</span>${rest.map(
      ([key, value]) => html` <span class="param"><span class="param-key">${key}</span>${value}</span>`,
    )}`;
}

export function ticketLink(ticket: string): TemplateResult {
  return /^https?:\/\//.test(ticket)
    ? html`<a href=${ticket} target="_blank" rel="noreferrer">${ticket}</a>`
    : html`${ticket}`;
}

export function hash(commit: Commit): TemplateResult {
  const text = html`<code class="hash">${commit.short}</code>`;
  return commit.url && /^https?:/.test(commit.url)
    ? html`<a href=${commit.url} target="_blank" rel="noreferrer" title="Open the commit where it is published"
        >${text}</a
      >`
    : text;
}

export function date(time: string | null): TemplateResult {
  if (time === null) return html`<span class="faint">no date</span>`;
  return html`<time datetime=${time} title="${moment(time)}, ${ago(time)}">${day(time)}</time>`;
}

export function key(name: string): TemplateResult {
  return html`<kbd>${name}</kbd>`;
}

/** Something went wrong: what, where, and what to do; with a way to try again. */
export function failed(error: ApiError, again?: () => void): TemplateResult {
  return html`<div class="notice failure" role="alert">
    <h2>${error.message}</h2>
    ${error.where ? html`<p class="faint">${error.where}</p>` : nothing}
    ${error.remedy ? html`<p>${error.remedy}</p>` : nothing}
    ${again ? html`<button class="button" @click=${again}>Try again</button>` : nothing}
  </div>`;
}

export function waiting(what: string): TemplateResult {
  return html`<div class="waiting" role="status"><span class="spinner" aria-hidden="true"></span>${what}</div>`;
}
