/** A field for a formula; an error points at its column. */

import { html, nothing } from "lit";
import type { ApiError } from "../api/client";
import { Part } from "./page-element";

/** The column that an error names, counted from 1; undefined where it names none. */
export function columnOf(error: ApiError): number | undefined {
  const found = /column (\d+)$/.exec(error.where)?.[1];
  return found === undefined ? undefined : Number(found);
}

export class FormulaPart extends Part {
  static override properties = { error: { attribute: false }, formula: { attribute: false } };
  declare error: ApiError | undefined;
  /** The formula that the error is about. */
  declare formula: string;

  override updated(changed: Map<string, unknown>): void {
    if (!changed.has("error") || !this.error) return;
    const column = columnOf(this.error);
    const { input } = this;
    if (!input) return;
    input.value = this.formula;
    input.focus();
    if (column !== undefined) input.setSelectionRange(column - 1, column);
  }

  override focus(): void {
    this.input?.focus();
  }

  private get input(): HTMLInputElement | null {
    return this.querySelector("input");
  }

  override render() {
    const { error } = this;
    const column = error && columnOf(error);
    return html`<form class="formula" @submit=${(event: SubmitEvent) => this.submit(event)}>
      <label class="search wide"
        ><span class="sr-only">Formula</span>
        <input
          id="formula"
          type="text"
          placeholder='ave(filter("os=linux")) / ave(filter("os=mac"))'
          maxlength="10000"
          autocomplete="off"
          spellcheck="false"
          aria-invalid=${error ? "true" : "false"}
          aria-describedby="formula-error"
          @keydown=${(event: KeyboardEvent) => event.key === "Escape" && this.input?.blur()}
        /><kbd aria-hidden="true">f</kbd></label
      >
      <button class="button">Plot the formula</button>
      <div id="formula-error" class="formula-error" role="alert">
        ${
          error
            ? html`${
                  column === undefined
                    ? nothing
                    : html`<pre aria-hidden="true">
${this.formula}
${" ".repeat(column - 1)}^</pre>`
                }
                <p class="field-error">
                  ${error.message} ${error.remedy}${column === undefined ? "" : ` (column ${column})`}
                </p>`
            : nothing
        }
      </div>
    </form>`;
  }

  private submit(event: SubmitEvent): void {
    event.preventDefault();
    const formula = this.input?.value.trim() ?? "";
    if (formula) this.dispatchEvent(new CustomEvent("kp-formula", { detail: formula }));
  }

  /** Empty the field, once its formula is plotted. */
  clear(): void {
    if (!this.input) return;
    this.input.value = "";
    this.input.blur();
  }
}

customElements.define("kp-formula", FormulaPart);
