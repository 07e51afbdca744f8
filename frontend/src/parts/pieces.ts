/** Small pieces that several views show alike. */

import { html, nothing, type TemplateResult } from "lit";
import type { ApiError, Commit, Direction, Member, Status, Trace } from "../api/client";
import { ago, day, moment } from "../text/numbers";
import { changeInWords, directionWord, hazardText, statusWord, traceName } from "../text/words";

/** "▲ 12 % slower": the arrow says where the values went, the word and the colour whether that is bad. */
export function change(member: Member): TemplateResult {
  return html`<span class="change ${member.direction}">
    <span class="arrow" aria-hidden="true">${member.size > 0 ? "▲" : "▼"}</span
    ><span class="amount">${changeInWords(member)}</span>
  </span>`;
}

export function directionTag(direction: Direction): TemplateResult {
  return html`<span class="tag ${direction}">${directionWord[direction]}</span>`;
}

export function hazard(value: number | null): TemplateResult {
  return html`<span class="faint figure" title="Hazard level: the natural logarithm of mean before / mean after.">${hazardText(value)}</span>`;
}

/** The shape and the word of a triage state. */
export function state(status: Status): TemplateResult {
  return html`<span class="state ${status}">${stateShape(status)}${statusWord[status]}</span>`;
}

export function stateShape(status: Status): TemplateResult {
  const shapes: Record<Status, TemplateResult> = {
    new: html`<svg viewBox="0 0 12 12" aria-hidden="true"><path d="M6 .8 11.2 6 6 11.2.8 6Z" /></svg>`,
    acknowledged: html`<svg viewBox="0 0 12 12" aria-hidden="true"><circle cx="6" cy="6" r="4.6" /></svg>`,
    hidden: html`<svg viewBox="0 0 12 12" aria-hidden="true"><circle class="hollow" cx="6" cy="6" r="4" /></svg>`,
    ticket: html`<svg viewBox="0 0 12 12" aria-hidden="true"><rect x="1.6" y="1.6" width="8.8" height="8.8" rx="1" /></svg>`,
  };
  return shapes[status];
}

/** The name of a trace, the params that are not in the name after it. */
export function traceLabel(trace: Trace): TemplateResult {
  const { name, rest } = traceName(trace.params);
  return html`<span class="trace-name">${name}</span>${rest.map(
      ([key, value]) => html` <span class="param"><span class="param-key">${key}</span>${value}</span>`,
    )}`;
}

export function hash(commit: Commit): TemplateResult {
  const text = html`<code class="hash">${commit.short}</code>`;
  return commit.url && /^https?:/.test(commit.url)
    ? html`<a href=${commit.url} target="_blank" rel="noreferrer" title="Open the commit where it is published">${text}</a>`
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
    ${error.where ? html`<p class="faint">${error.where}</p>` : nothing} ${error.remedy ? html`<p>${error.remedy}</p>` : nothing}
    ${again ? html`<button class="button" @click=${again}>Try again</button>` : nothing}
  </div>`;
}

export function waiting(what: string): TemplateResult {
  return html`<div class="waiting" role="status"><span class="spinner" aria-hidden="true"></span>${what}</div>`;
}
