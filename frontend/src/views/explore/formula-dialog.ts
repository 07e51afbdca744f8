/** The menu of formulas: what is chosen is written as the formula that people can also type. */

import { html, nothing } from "lit";
import { customElement, query, state } from "lit/decorators.js";
import { PageElement } from "../../page-element";
import {
  COMBINATIONS,
  COMPARISONS,
  formulaOf,
  PREPARATIONS,
  TRANSFORMATIONS,
  type FormulaChoice,
} from "../../text/formula-parts";
import { showDialog } from "../../state/overlays";

const INITIAL: FormulaChoice = {
  query: "",
  preparation: "",
  combination: "ave",
  by: "",
  comparison: "",
  other: "",
  transformation: "",
};

/** A formula, and whether it is plotted or only written into its field. */
export interface WrittenFormula {
  formula: string;
  plot: boolean;
}

/** Sends what was written as the detail of `kp-written`. */
@customElement("kp-formula-dialog")
export class FormulaDialog extends PageElement {
  @state() private choice = INITIAL;
  @state() private params: readonly string[] = [];
  @query("dialog") private readonly dialog!: HTMLDialogElement | null;

  /** Open the dialog for the traces of a query, with the names of the params that they have. */
  open(traces: string, params: readonly string[]): void {
    const by = params.includes(this.choice.by) ? this.choice.by : "";
    this.choice = { ...this.choice, query: traces, by };
    this.params = params;
    void this.updateComplete.then(() => showDialog(this.dialog));
  }

  override render() {
    const { choice, params } = this;
    const groups = [
      ["", "into one line"],
      ...params.map((name) => [name, `a line for each ${name}`] as const),
    ] as const;
    return html`<dialog class="dialog narrow formula-dialog" aria-labelledby="formula-title">
      <form method="dialog" @submit=${(event: SubmitEvent) => this.onSubmit(event)}>
        <h2 id="formula-title">Formula</h2>
        ${this.renderText("query", "Traces of the query")} ${this.renderSelect("preparation", "Values", PREPARATIONS)}
        ${this.renderSelect("combination", "Combine them", COMBINATIONS)}
        ${choice.combination === "" ? nothing : this.renderSelect("by", "Group them", groups)}
        ${this.renderSelect("comparison", "Compare with a second query", COMPARISONS)}
        ${choice.comparison === "" ? nothing : this.renderText("other", "Second query")}
        ${this.renderSelect("transformation", "Show each line", TRANSFORMATIONS)}
        <output class="formula-written" aria-label="Formula"><code>${this.formula}</code></output>
        <div class="dialog-actions">
          <button type="button" class="button quiet" @click=${() => this.dialog?.close()}>Cancel</button>
          <button class="button" name="write">Insert into the field</button>
          <button class="button primary" name="plot">Plot</button>
        </div>
      </form>
    </dialog>`;
  }

  private get formula(): string {
    const { choice } = this;
    return formulaOf({ ...choice, by: choice.combination === "" ? "" : choice.by });
  }

  private choose(name: keyof FormulaChoice, event: Event): void {
    this.choice = { ...this.choice, [name]: (event.target as HTMLInputElement | HTMLSelectElement).value };
  }

  private renderText(name: keyof FormulaChoice, label: string) {
    return html`<label class="field"
      >${label}<input
        type="text"
        placeholder="all traces"
        maxlength="5000"
        autocomplete="off"
        spellcheck="false"
        .value=${this.choice[name]}
        @input=${(event: Event) => this.choose(name, event)}
    /></label>`;
  }

  private renderSelect(name: keyof FormulaChoice, label: string, options: readonly (readonly [string, string])[]) {
    return html`<label class="field"
      >${label}<select @change=${(event: Event) => this.choose(name, event)}>
        ${options.map(([value, text]) => html`<option value=${value} ?selected=${value === this.choice[name]}>${text}</option>`)}
      </select></label
    >`;
  }

  private onSubmit(event: SubmitEvent): void {
    const plot = (event.submitter as HTMLButtonElement | null)?.name !== "write";
    const detail: WrittenFormula = { formula: this.formula, plot };
    // Closed first: closing gives the focus back, and whoever is told may move it.
    event.preventDefault();
    this.dialog?.close();
    this.dispatchEvent(new CustomEvent("kp-written", { detail }));
  }
}

declare global {
  interface HTMLElementTagNameMap {
    "kp-formula-dialog": FormulaDialog;
  }
}
