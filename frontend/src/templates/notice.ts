/** What an element shows instead of data: an error, or that the data are loading. */

import { html, nothing, type TemplateResult } from "lit";
import { NEEDS_SERVER, type ApiError } from "../api/client";
import { PUBLISHED } from "../api/published-data";

/** The code of a request that stays wrong however often it is sent. */
const INVALID = 422;

/** An error: what went wrong, where, and what to do about it; with a button if it can be tried again. */
export function errorNotice(error: ApiError, retry?: () => void): TemplateResult {
  // On published pages, what needs a server is no failure, and does not come back.
  if (PUBLISHED !== undefined && error.code === NEEDS_SERVER)
    return html`<div class="notice">
      <p>${error.message}</p>
      <p class="faint">${error.remedy}</p>
    </div>`;
  return html`<div class="notice failure" role="alert">
    <h2>${error.message}</h2>
    ${error.where ? html`<p class="faint">${error.where}</p>` : nothing}
    ${error.remedy ? html`<p>${error.remedy}</p>` : nothing}
    ${retry && error.code !== INVALID ? html`<button class="button" @click=${retry}>Try again</button>` : nothing}
  </div>`;
}

export function loadingNotice(text: string): TemplateResult {
  return html`<div class="waiting" role="status"><span class="spinner" aria-hidden="true"></span>${text}</div>`;
}
