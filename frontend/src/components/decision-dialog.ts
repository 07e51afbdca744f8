/** The dialog that asks for the note or the ticket of a decision. */

import { html, nothing } from "lit";
import { customElement, query, state } from "lit/decorators.js";
import { countText } from "../text/numbers";
import { PageElement } from "../page-element";

export interface DecisionQuestion {
  kind: "note" | "ticket";
  /** How many findings the decision is about. */
  findings: number;
}

export interface DecisionReply {
  note: string;
  ticket: string;
}

@customElement("kp-decision-dialog")
export class DecisionDialog extends PageElement {
  @state() private question: DecisionQuestion | undefined;
  @query("dialog") private readonly dialog!: HTMLDialogElement | null;
  @query("form") private readonly form!: HTMLFormElement | null;
  private resolve: ((reply: DecisionReply | undefined) => void) | undefined;

  /** Open the dialog, and wait for the reply; undefined if it was cancelled. */
  async ask(question: DecisionQuestion): Promise<DecisionReply | undefined> {
    this.question = question;
    await this.updateComplete;
    this.form?.reset();
    this.dialog?.showModal();
    return new Promise((resolve) => (this.resolve = resolve));
  }

  override render() {
    const { question } = this;
    return html`<dialog class="dialog narrow" aria-labelledby="decision-title" @close=${() => this.finish(undefined)}>
      ${question ? this.renderForm(question) : nothing}
    </dialog>`;
  }

  private renderForm({ kind, findings }: DecisionQuestion) {
    const ticket = kind === "ticket";
    return html`<form method="dialog" @submit=${(event: SubmitEvent) => this.onSubmit(event)}>
      <h2 id="decision-title">${ticket ? "Link a ticket to" : "Note on"} ${countText(findings, "finding")}</h2>
      ${
        ticket
          ? html`<label class="field"
              >Key or address of the ticket<input name="ticket" required maxlength="500" autocomplete="off"
            /></label>`
          : nothing
      }
      <label class="field"
        >Note${ticket ? " (optional)" : ""}<textarea
          name="note"
          rows="3"
          maxlength="10000"
          ?required=${!ticket}
        ></textarea>
      </label>
      <div class="dialog-actions">
        <button type="button" class="button quiet" @click=${() => this.dialog?.close()}>Cancel</button>
        <button class="button primary">${ticket ? "Link" : "Save"}</button>
      </div>
    </form>`;
  }

  private onSubmit(event: SubmitEvent): void {
    const data = new FormData(event.target as HTMLFormElement);
    const text = (name: string): string => {
      const value = data.get(name);
      return typeof value === "string" ? value.trim() : "";
    };
    this.finish({ note: text("note"), ticket: text("ticket") });
  }

  /** Give the reply; a dialog that closes after its form was submitted gives none. */
  private finish(reply: DecisionReply | undefined): void {
    this.resolve?.(reply);
    this.resolve = undefined;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    "kp-decision-dialog": DecisionDialog;
  }
}
