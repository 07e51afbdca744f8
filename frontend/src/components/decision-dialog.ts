/** Ask for a note, or for the ticket, that goes with a decision. */

import { html, nothing } from "lit";
import type { Status } from "../api/client";
import { count } from "../text/findings";
import { Part } from "./page-element";

export interface Question {
  kind: "note" | "ticket";
  findings: number;
  status: Status;
}

export interface Reply {
  note: string;
  ticket: string;
}

export class DecidePart extends Part {
  static override properties = { question: { state: true } };
  declare question: Question | undefined;
  private answer: ((reply: Reply | undefined) => void) | undefined;

  /** Ask, and wait for the reply; undefined when the question was closed without one. */
  async ask(question: Question): Promise<Reply | undefined> {
    this.question = question;
    await this.updateComplete;
    const form = this.querySelector("form");
    form?.reset();
    this.querySelector("dialog")?.showModal();
    return new Promise((resolve) => (this.answer = resolve));
  }

  override render() {
    const { question } = this;
    const ticket = question?.kind === "ticket";
    return html`<dialog class="dialog narrow" aria-labelledby="decide-title" @close=${() => this.close(undefined)}>
      ${
        question
          ? html`<form method="dialog" @submit=${(event: SubmitEvent) => this.submit(event)}>
              <h2 id="decide-title">
                ${ticket ? "Link a ticket to" : "Note on"} ${count(question.findings, "finding")}
              </h2>
              ${
                ticket
                  ? html`<label class="field"
                      >Key or address of the ticket<input name="ticket" required maxlength="500" autocomplete="off"
                    /></label>`
                  : nothing
              }
              <label class="field"
                >Note${ticket ? " (may stay empty)" : ""}<textarea
                  name="note"
                  rows="3"
                  maxlength="10000"
                  ?required=${!ticket}
                ></textarea>
              </label>
              <div class="dialog-actions">
                <button type="button" class="button quiet" @click=${() => this.querySelector("dialog")?.close()}>
                  Cancel
                </button>
                <button class="button primary">${ticket ? "Link" : "Save"}</button>
              </div>
            </form>`
          : nothing
      }
    </dialog>`;
  }

  private submit(event: SubmitEvent): void {
    const data = new FormData(event.target as HTMLFormElement);
    const text = (name: string): string => {
      const value = data.get(name);
      return typeof value === "string" ? value.trim() : "";
    };
    this.close({ note: text("note"), ticket: text("ticket") });
  }

  private close(reply: Reply | undefined): void {
    this.answer?.(reply);
    this.answer = undefined;
  }
}

customElements.define("kp-decide", DecidePart);
