/** An error in a text that a person typed, with a caret below its column. */

import { html } from "lit";
import type { ApiError } from "../api/client";

/** The column that an error names, counted from 1; undefined if it names none. */
export function columnOf(error: ApiError): number | undefined {
  const column = /column (\d+)$/.exec(error.where)?.[1];
  return column === undefined ? undefined : Number(column);
}

export function columnError(text: string, error: ApiError) {
  const column = columnOf(error);
  if (column === undefined) return html`<p class="field-error">${error.message} ${error.remedy}</p>`;
  return html`<pre aria-hidden="true">
${text}
${" ".repeat(column - 1)}^</pre>
    <p class="field-error">${error.message} ${error.remedy} (column ${column})</p>`;
}
