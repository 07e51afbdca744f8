/** Commits and their dates. */

import { html, type TemplateResult } from "lit";
import type { Commit } from "../api/client";
import { routeUrl } from "../routes/routes";
import { ageText, dayText, timestampText } from "../text/dates";

/** Digits of a hash where the API gives the full one. */
export const HASH_DIGITS = 10;

/** The short hash of a commit, linked to its page where the repository is given, else to where it is published. */
export function commitHash(commit: Commit, repository?: string): TemplateResult {
  const text = html`<code class="hash">${commit.short}</code>`;
  if (repository !== undefined) {
    const url = routeUrl({ view: "commit", hash: commit.hash, repository });
    return html`<a href=${url} title="Open the page of the commit">${text}</a>`;
  }
  return commit.url && /^https?:/.test(commit.url)
    ? html`<a href=${commit.url} target="_blank" rel="noreferrer" title="Open the commit on its website">${text}</a>`
    : text;
}

/** The day of a time; its tooltip has the time of day and the age. */
export function date(time: string | null): TemplateResult {
  if (time === null) return html`<span class="faint">no date</span>`;
  return html`<time datetime=${time} title="${timestampText(time)}, ${ageText(time)}">${dayText(time)}</time>`;
}

/** A time to the minute; its tooltip has the age. */
export function timestamp(time: string): TemplateResult {
  return html`<time datetime=${time} title=${ageText(time)}>${timestampText(time)}</time>`;
}
