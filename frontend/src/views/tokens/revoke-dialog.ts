/** The question before a token is revoked, which cannot be taken back. */

import { html, nothing } from "lit";
import { customElement, query, state } from "lit/decorators.js";
import { api, type Token } from "../../api/client";
import { PageElement } from "../../page-element";
import { Submission } from "../../state/submission";
import { dialogError } from "../../templates/access";
import { showDialog } from "../../state/overlays";

@customElement("kp-revoke-token")
export class RevokeTokenDialog extends PageElement {
  @state() private token: Token | undefined;
  private readonly submission = new Submission(this);
  @query("dialog") private readonly dialog!: HTMLDialogElement | null;
  private revoked: Token | undefined;
  /** Undefined while the dialog is closed. */
  private onClosed: ((token: Token | undefined) => void) | undefined;

  /** Ask, and revoke the token if the answer is yes. Returns the revoked token; undefined if it was left alone. */
  async open(token: Token): Promise<Token | undefined> {
    this.finish();
    this.token = token;
    this.revoked = undefined;
    this.submission.show(undefined);
    await this.updateComplete;
    showDialog(this.dialog);
    return new Promise((closed) => (this.onClosed = closed));
  }

  private close(): void {
    this.dialog?.close();
    this.finish();
  }

  /** Escape closes the dialog. The event comes late: the dialog may be open again by then. */
  private onClose(): void {
    if (!this.dialog?.open) this.finish();
  }

  private finish(): void {
    const { revoked, onClosed } = this;
    this.onClosed = undefined;
    onClosed?.(revoked);
  }

  override render() {
    const { token } = this;
    return html`<dialog class="dialog narrow" aria-labelledby="revoke-title" @close=${() => this.onClose()}>
      ${token ? this.renderForm(token) : nothing}
    </dialog>`;
  }

  private renderForm({ name }: Token) {
    return html`<form method="dialog" @submit=${(event: SubmitEvent) => void this.onSubmit(event, name)}>
      <h2 id="revoke-title">Revoke the token <bdi>${name}</bdi>?</h2>
      <p>The server refuses it at once, from every machine that uses it. This cannot be taken back.</p>
      ${dialogError(this.submission.error)}
      <div class="dialog-actions">
        <button type="button" class="button quiet" autofocus @click=${() => this.close()}>Cancel</button>
        <button class="button danger" ?disabled=${this.submission.sending}>Revoke</button>
      </div>
    </form>`;
  }

  private async onSubmit(event: SubmitEvent, name: string): Promise<void> {
    event.preventDefault();
    await this.submission.send(async () => {
      this.revoked = await api.revokeToken(name);
      this.close();
    });
  }
}

declare global {
  interface HTMLElementTagNameMap {
    "kp-revoke-token": RevokeTokenDialog;
  }
}
