/** What an element shows instead of data: an error, or that the data are loading. */

import { html, nothing, type TemplateResult } from "lit";
import type { ApiError } from "../api/client";

/** An error: what went wrong, where, and what to do about it; with a button if it can be tried again. */
export function errorNotice(error: ApiError, retry?: () => void): TemplateResult {
  return html`<div class="notice failure" role="alert">
    <h2>${error.message}</h2>
    ${error.where ? html`<p class="faint">${error.where}</p>` : nothing}
    ${error.remedy ? html`<p>${error.remedy}</p>` : nothing}
    ${retry ? html`<button class="button" @click=${retry}>Try again</button>` : nothing}
  </div>`;
}

export function loadingNotice(text: string): TemplateResult {
  return html`<div class="waiting" role="status"><span class="spinner" aria-hidden="true"></span>${text}</div>`;
}
