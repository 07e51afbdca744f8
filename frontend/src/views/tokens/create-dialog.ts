/** The dialog that makes a token, and then shows its secret once. */

import { html, nothing } from "lit";
import { customElement, query, state } from "lit/decorators.js";
import { api, ApiError, type Caller, type NewToken, type Permission, type Repository } from "../../api/client";
import { PageElement } from "../../page-element";
import { isAllowed, isAllowedEverywhere } from "../../state/access";
import { Submission } from "../../state/submission";
import { expiryTime, LIFETIMES } from "../../state/tokens";
import { dialogError } from "../../templates/access";
import { PERMISSION_TEXTS, PERMISSIONS } from "../../text/callers";
import { showDialog } from "../../state/overlays";

const DEFAULT_SCOPE: Permission = "upload";
const DEFAULT_DAYS = 365;

@customElement("kp-create-token")
export class CreateTokenDialog extends PageElement {
  /** The repositories that a token may be limited to. */
  @state() private repositories: readonly string[] = [];
  /** Whether the caller may make a token for all repositories. */
  @state() private mayGrantAll = false;
  @state() private limited = false;
  @state() private isOpen = false;
  private readonly submission = new Submission(this);
  @state() private created: NewToken | undefined;
  @state() private copied = "";
  @query("dialog") private readonly dialog!: HTMLDialogElement | null;
  @query("form") private readonly form!: HTMLFormElement | null;
  @query("#token-secret") private readonly secret!: HTMLTextAreaElement | null;
  /** Undefined while the dialog is closed. */
  private onClosed: ((token: NewToken | undefined) => void) | undefined;

  /** Open the dialog, and wait until it is closed. The answer is the new token; undefined without one. */
  async open(caller: Caller, repositories: readonly Repository[]): Promise<NewToken | undefined> {
    this.finish();
    this.mayGrantAll = isAllowedEverywhere(caller, "admin");
    this.repositories = repositories.map(({ name }) => name).filter((name) => isAllowed(caller, "admin", name));
    this.limited = !this.mayGrantAll;
    this.submission.show(undefined);
    this.created = undefined;
    this.copied = "";
    this.isOpen = true;
    await this.updateComplete;
    this.form?.reset();
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
    const { created, onClosed } = this;
    if (!onClosed) return;
    // The secret leaves the page with the dialog.
    this.created = undefined;
    this.isOpen = false;
    this.onClosed = undefined;
    onClosed(created);
  }

  override render() {
    return html`<dialog class="dialog narrow" aria-labelledby="token-title" @close=${() => this.onClose()}>
      ${this.created ? this.renderSecret(this.created) : this.isOpen ? this.renderForm() : nothing}
    </dialog>`;
  }

  // ---- The form

  private renderForm() {
    return html`<form method="dialog" @submit=${(event: SubmitEvent) => void this.onSubmit(event)}>
      <h2 id="token-title">New token</h2>
      <label class="field"
        >Name, such as the machine that uses it<input
          name="name"
          required
          maxlength="64"
          pattern="[A-Za-z0-9][A-Za-z0-9._\\-]*"
          title="Letters, digits, dots, underscores and hyphens; first a letter or a digit"
          autocomplete="off"
          spellcheck="false"
        />
      </label>
      <fieldset class="choices">
        <legend>It may</legend>
        ${PERMISSIONS.map(
          (scope) =>
            html`<label class="choice"
              ><input type="checkbox" name="scope" value=${scope} ?checked=${scope === DEFAULT_SCOPE} /><span
                class="choice-text"
                ><span><strong>${scope}</strong>: ${PERMISSION_TEXTS[scope]}</span></span
              ></label
            >`,
        )}
      </fieldset>
      ${this.renderRepositories()}
      <label class="field"
        >It expires<select name="days">
          ${LIFETIMES.map(
            ([days, text]) => html`<option value=${days} ?selected=${days === DEFAULT_DAYS}>${text}</option>`,
          )}
        </select></label
      >
      ${dialogError(this.submission.error)}
      <div class="dialog-actions">
        <button type="button" class="button quiet" @click=${() => this.close()}>Cancel</button>
        <button class="button primary" ?disabled=${this.submission.sending}>Create</button>
      </div>
    </form>`;
  }

  private renderRepositories() {
    const choose = (limited: boolean) => (): void => void (this.limited = limited);
    return html`<fieldset class="choices">
      <legend>For the results and findings of</legend>
      ${
        this.mayGrantAll
          ? html`<label class="choice"
                ><input type="radio" name="limit" value="all" ?checked=${!this.limited} @change=${choose(false)} />all
                repositories, also new ones</label
              >
              <label class="choice"
                ><input type="radio" name="limit" value="some" ?checked=${this.limited} @change=${choose(true)} />these
                repositories:</label
              >`
          : nothing
      }
      ${this.limited ? this.renderNames() : nothing}
    </fieldset>`;
  }

  private renderNames() {
    if (this.repositories.length === 0) return html`<p class="faint">There are no repositories yet.</p>`;
    return html`<div class="repository-names">
      ${this.repositories.map(
        (name) =>
          html`<label class="choice"
            ><input type="checkbox" name="repository" value=${name} /><bdi class="choice-text">${name}</bdi></label
          >`,
      )}
    </div>`;
  }

  private async onSubmit(event: SubmitEvent): Promise<void> {
    event.preventDefault();
    const data = new FormData(event.target as HTMLFormElement);
    const all = (name: string): string[] => data.getAll(name).filter((value) => typeof value === "string");
    const repositories = this.limited ? all("repository") : [];
    if (this.limited && repositories.length === 0) {
      this.submission.show(new ApiError("No repository is chosen.", "", "Choose at least one."));
      return;
    }
    await this.submission.send(async () => {
      this.created = await api.createToken({
        name: all("name").join("").trim(),
        scopes: all("scope") as Permission[],
        repositories,
        expires: expiryTime(Number(all("days")[0])),
      });
      await this.updateComplete;
      this.secret?.select();
    });
  }

  // ---- The secret

  private renderSecret({ token, secret }: NewToken) {
    return html`<div class="secret">
      <h2 id="token-title">The token <bdi>${token.name}</bdi></h2>
      <p><strong>Copy it now: it is not shown again.</strong> The server stores only its hash.</p>
      <label class="field"
        >Token<textarea
          id="token-secret"
          class="code"
          rows="2"
          readonly
          .value=${secret}
          @focus=${selectAll}
        ></textarea>
      </label>
      <p class="faint">Machines send it as <code>Authorization: Bearer TOKEN</code>.</p>
      <p class="copied" role="status">${this.copied}</p>
      <div class="dialog-actions">
        <button type="button" class="button" @click=${() => void this.copy(secret)}>Copy</button>
        <button type="button" class="button primary" @click=${() => this.close()}>Done</button>
      </div>
    </div>`;
  }

  private async copy(secret: string): Promise<void> {
    try {
      await navigator.clipboard.writeText(secret);
      this.copied = "Copied.";
    } catch {
      // Without https, or without permission, browsers leave copying to the person.
      this.secret?.select();
      this.copied = "The browser does not let the page copy. The token is selected: press Ctrl+C.";
    }
  }
}

function selectAll(event: FocusEvent): void {
  (event.target as HTMLTextAreaElement).select();
}

declare global {
  interface HTMLElementTagNameMap {
    "kp-create-token": CreateTokenDialog;
  }
}
