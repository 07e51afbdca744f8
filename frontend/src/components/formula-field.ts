/** The field for a formula. An error in the formula selects its column. */

import { html, nothing, type PropertyValues } from "lit";
import { customElement, property, query } from "lit/decorators.js";
import type { ApiError } from "../api/client";
import { PageElement } from "../page-element";
import { columnError, columnOf } from "../templates/column-error";

/** Sends the formula as the detail of `kp-formula`, and `kp-menu` when the menu of formulas is asked for. */
@customElement("kp-formula-field")
export class FormulaField extends PageElement {
  @property({ attribute: false }) error: ApiError | undefined;
  /** The formula that the error is about. */
  @property({ attribute: false }) formula = "";
  @query("input") private readonly input!: HTMLInputElement | null;

  override updated(changed: PropertyValues<this>): void {
    const { error, input } = this;
    if (!changed.has("error") || !error || !input) return;
    const column = columnOf(error);
    input.value = this.formula;
    input.focus();
    if (column !== undefined) input.setSelectionRange(column - 1, column);
  }

  override focus(): void {
    this.input?.focus();
  }

  /** Write a formula into the field, for the user to go on with. */
  write(formula: string): void {
    if (!this.input) return;
    this.input.value = formula;
    this.input.focus();
  }

  /** Empty the field after its formula was plotted. */
  clear(): void {
    if (!this.input) return;
    this.input.value = "";
    this.input.blur();
  }

  override render() {
    return html`<form class="formula" @submit=${(event: SubmitEvent) => this.onSubmit(event)}>
      <label class="search wide"
        ><span class="sr-only">Formula</span>
        <input
          id="formula"
          type="text"
          placeholder='ave(filter("os=linux")) / ave(filter("os=mac"))'
          maxlength="10000"
          autocomplete="off"
          spellcheck="false"
          aria-invalid=${this.error ? "true" : "false"}
          aria-describedby="formula-error"
          @keydown=${(event: KeyboardEvent) => this.onKeydown(event)}
        /><kbd aria-hidden="true">f</kbd></label
      >
      <button
        type="button"
        class="button"
        aria-haspopup="dialog"
        title="Choose what to calculate (F)"
        @click=${() => this.dispatchEvent(new CustomEvent("kp-menu"))}
      >
        Build a formula
      </button>
      <button class="button">Plot the formula</button>
      <div id="formula-error" class="formula-error" role="alert">
        ${this.error ? columnError(this.formula, this.error) : nothing}
      </div>
    </form>`;
  }

  private onKeydown(event: KeyboardEvent): void {
    if (event.key === "Escape") this.input?.blur();
  }

  private onSubmit(event: SubmitEvent): void {
    event.preventDefault();
    const formula = this.input?.value.trim() ?? "";
    if (formula) this.dispatchEvent(new CustomEvent("kp-formula", { detail: formula }));
  }
}

declare global {
  interface HTMLElementTagNameMap {
    "kp-formula-field": FormulaField;
  }
}
