/** Names of traces. */

import { html, nothing, type TemplateResult } from "lit";
import type { Trace } from "../api/client";
import { breakableParts, splitForEllipsis, traceName } from "../text/trace-names";

/** A long name that may break between its parts; its first `faded` characters, which others share, are faint. */
export function longName(name: string, faded = 0): TemplateResult {
  const withBreaks = (text: string): TemplateResult[] => breakableParts(text).map((part) => html`${part}<wbr />`);
  const prefix = html`<span class="common">${withBreaks(name.slice(0, faded))}</span>`;
  return html`${faded > 0 ? prefix : nothing}${withBreaks(name.slice(faded))}`;
}

/** A name on one line, with an ellipsis in its middle if there is little room. */
export function ellipsizedName(name: string): TemplateResult {
  const [head, tail] = splitForEllipsis(name);
  return html`<span class="cut" title=${name}
    ><span class="cut-head">${head}</span>${tail ? html`<span class="cut-tail">${tail}</span>` : nothing}</span
  >`;
}

/** One param of a trace, or one fact of an environment: its name and its value. */
export function param(name: string, value: unknown): TemplateResult {
  return html`<span class="param"><span class="param-key">${name}</span>${value}</span>`;
}

/** The name of a trace, and its other params without those in `omitted`. */
export function traceLabel(trace: Trace, faded = 0, omitted: ReadonlySet<string> = new Set()): TemplateResult {
  const { name, rest } = traceName(trace.params);
  const shown = rest.filter(([key]) => !omitted.has(key));
  return html`<span class="trace-name">${longName(name, faded)}</span>${shown.map(
      ([key, value]) => html` ${param(key, value)}`,
    )}`;
}
