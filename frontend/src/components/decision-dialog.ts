/** The dialog that asks for the note, the ticket or the assignee of a decision. */

import { html, nothing } from "lit";
import { customElement, query, state } from "lit/decorators.js";
import type { ApiError } from "../api/client";
import { PageElement } from "../page-element";
import { dialogError } from "../templates/access";
import { heldLine } from "../templates/finding";
import { countText } from "../text/numbers";
import type { DecisionInput } from "../state/triage/decisions";
import { showDialog } from "../state/overlays";

export interface DecisionQuestion {
  kind: "note" | "ticket" | "assignee";
  /** How many findings the decision is about. */
  findings: number;
  /** Why findings among them are held back, each reason once. */
  held?: readonly string[];
  /** Whose name is in the field for the assignee at first. */
  assignee?: string;
  /** Names of the trackers in which a ticket can be made. */
  trackers?: readonly string[];
}

export interface DecisionReply {
  note: string;
  assignee: string;
  ticket: string;
  /** The tracker in which to make the ticket, "" to link one. */
  create: string;
}

/** The decision that a reply means. */
export function patchOf(kind: DecisionQuestion["kind"], reply: DecisionReply): Omit<DecisionInput, "findings"> {
  const { note, ticket, create, assignee } = reply;
  if (kind === "note") return { note };
  const decided =
    kind === "assignee" ? { assignee } : { status: "ticket" as const, ...(create ? { create } : { ticket }) };
  return { ...decided, ...(note && { note }) };
}

/** Record a reply; the answer is why it was not recorded. */
type Send = (reply: DecisionReply) => Promise<ApiError | undefined>;

@customElement("kp-decision-dialog")
export class DecisionDialog extends PageElement {
  @state() private question: DecisionQuestion | undefined;
  @state() private error: ApiError | undefined;
  @state() private create = "";
  @query("dialog") private readonly dialog!: HTMLDialogElement | null;
  @query("form") private readonly form!: HTMLFormElement | null;
  /** The questions before: the next one waits until they are answered and recorded. */
  private earlier: Promise<void> = Promise.resolve();
  private onReply: (reply: DecisionReply | undefined) => void = () => undefined;

  /**
   * Ask, and send the reply unless the person cancels.
   *
   * The dialog closes at once. If the reply cannot be recorded, for example because the sign-in has ended, it opens again
   * with what was typed and with the reason.
   */
  ask(question: DecisionQuestion, send: Send): Promise<void> {
    this.earlier = this.earlier.then(() => this.askNow(question, send));
    return this.earlier;
  }

  private async askNow(question: DecisionQuestion, send: Send): Promise<void> {
    this.question = question;
    this.error = undefined;
    this.create = "";
    await this.updateComplete;
    this.form?.reset();
    let reply = await this.show();
    while (reply) {
      this.error = await send(reply);
      reply = this.error && (await this.show());
    }
  }

  private show(): Promise<DecisionReply | undefined> {
    showDialog(this.dialog);
    // What is typed replaces the name that is in the field at first.
    this.form?.querySelector("input")?.select();
    return new Promise((reply) => (this.onReply = reply));
  }

  /** Close the dialog with a reply, or without one if it was cancelled. */
  private close(reply: DecisionReply | undefined): void {
    const { onReply } = this;
    this.onReply = () => undefined;
    this.dialog?.close();
    onReply(reply);
  }

  /** Escape closes the dialog. The event comes late: the dialog may be open again by then. */
  private onClose(): void {
    if (!this.dialog?.open) this.close(undefined);
  }

  override render() {
    const { question } = this;
    return html`<dialog class="dialog narrow" aria-labelledby="decision-title" @close=${() => this.onClose()}>
      ${question ? this.renderForm(question) : nothing}
    </dialog>`;
  }

  private renderForm({ kind, findings, held = [], trackers = [], assignee = "" }: DecisionQuestion) {
    const ticket = kind === "ticket";
    const [title, done] =
      kind === "assignee"
        ? ["Assign", "Assign"]
        : !ticket
          ? ["Note on", "Save"]
          : this.create
            ? ["Make a ticket for", "Make"]
            : ["Link a ticket to", "Link"];
    return html`<form method="dialog" @submit=${(event: SubmitEvent) => this.onSubmit(event)} @keydown=${submitByKey}>
      <h2 id="decision-title">${title} ${countText(findings, "change point")}</h2>
      ${held.map(heldLine)}
      ${ticket ? html`${this.renderTrackers(trackers)}${this.create === "" ? this.renderKey() : nothing}` : nothing}
      ${kind === "assignee" ? renderAssignee(assignee) : nothing}
      <label class="field"
        >Note${kind === "note" ? "" : " (optional)"}<textarea
          name="note"
          rows="3"
          maxlength="10000"
          ?required=${kind === "note"}
        ></textarea>
      </label>
      ${dialogError(this.error)}
      <div class="dialog-actions">
        <button type="button" class="button quiet" @click=${() => this.close(undefined)}>Cancel</button>
        <button class="button primary">${done}</button>
      </div>
    </form>`;
  }

  private renderKey() {
    return html`<label class="field"
      >Key or address of the ticket<input name="ticket" required maxlength="500" autocomplete="off" autofocus
    /></label>`;
  }

  /** The choice between a ticket that there is and a new one; nothing where no tracker is configured. */
  private renderTrackers(trackers: readonly string[]) {
    if (trackers.length === 0) return nothing;
    const choose = (event: Event): void => void (this.create = (event.target as HTMLSelectElement).value);
    return html`<label class="field"
      >Ticket<select name="create" @change=${choose}>
        <option value="">Link an existing one</option>
        ${trackers.map((name) => html`<option value=${name}>Make one in ${name}</option>`)}
      </select></label
    >`;
  }

  private onSubmit(event: SubmitEvent): void {
    event.preventDefault();
    const data = new FormData(event.target as HTMLFormElement);
    const text = (name: string): string => {
      const value = data.get(name);
      return typeof value === "string" ? value.trim() : "";
    };
    const create = text("create");
    this.close({ note: text("note"), assignee: text("assignee"), ticket: create ? "" : text("ticket"), create });
  }
}

/** In a note, Enter begins a line. */
function submitByKey(event: KeyboardEvent): void {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey))
    (event.currentTarget as HTMLFormElement).requestSubmit();
}

function renderAssignee(name: string) {
  return html`<label class="field"
    >Assignee; empty for nobody<input name="assignee" .defaultValue=${name} maxlength="200" autofocus
  /></label>`;
}

declare global {
  interface HTMLElementTagNameMap {
    "kp-decision-dialog": DecisionDialog;
  }
}
