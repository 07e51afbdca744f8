/** A select field whose label only screen readers see: its options say what it is. */

import { html, nothing } from "lit";

type Option = readonly [value: string, text: string];

export function selectField(
  label: string,
  selected: string,
  options: readonly Option[],
  onChange: (value: string) => void,
  title?: string,
) {
  return html`<label class="select"
    ><span class="sr-only">${label}</span>
    <select title=${title ?? nothing} @change=${(event: Event) => onChange((event.target as HTMLSelectElement).value)}>
      ${options.map(([value, text]) => html`<option value=${value} ?selected=${value === selected}>${text}</option>`)}
    </select></label
  >`;
}
