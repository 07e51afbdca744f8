/** The button that marks a change that no alert found, and the dialog that asks for its direction and the reason. */

import { html } from "lit";
import { customElement, property, query } from "lit/decorators.js";
import { api, toApiError, type MissedRequest } from "../api/client";
import { PageElement } from "../page-element";
import { Submission } from "../state/submission";
import { showToast } from "../state/toasts";
import { dialogError } from "../templates/access";
import { grouped } from "../text/numbers";
import { showDialog } from "../state/overlays";

/** Let the page load the marks again. */
function announceMissed(): void {
  window.dispatchEvent(new CustomEvent("kp-missed"));
}

/** Change a mark without a dialog; returns whether the server did. A failure is shown as a message. */
export async function changeMark(act: () => Promise<unknown>): Promise<boolean> {
  try {
    await act();
  } catch (thrown) {
    const { message, remedy } = toApiError(thrown);
    showToast({ text: `${message} ${remedy}`, failure: true });
    return false;
  }
  announceMissed();
  return true;
}

@customElement("kp-missed-button")
export class MissedButton extends PageElement {
  @property({ type: Number }) trace = 0;
  @property() commit = "";
  @property({ type: Number }) position = 0;
  private readonly submission = new Submission(this);
  @query("dialog") private readonly dialog!: HTMLDialogElement | null;
  @query("form") private readonly form!: HTMLFormElement | null;

  private open(): void {
    this.submission.show(undefined);
    this.form?.reset();
    showDialog(this.dialog);
  }

  override render() {
    return html`<p>
        <button class="button small" title="Mark a change here that no alert found" @click=${() => this.open()}>
          Mark a missed change
        </button>
      </p>
      <dialog class="dialog narrow" aria-labelledby="missed-dialog-title">
        <form method="dialog" @submit=${(event: SubmitEvent) => void this.onSubmit(event)}>
          <h2 id="missed-dialog-title">Mark a missed change</h2>
          <p>
            A change that begins at commit ${grouped(this.position + 1)}, or at one before it without a value, and that
            no alert found. It counts against the recall of the alerts.
          </p>
          <label class="field"
            >The values moved<select name="direction">
              <option value="both">as they say themselves</option>
              <option value="up">up</option>
              <option value="down">down</option>
            </select></label
          >
          <label class="field"
            >Why it is a change (optional)<textarea name="note" rows="3" maxlength="2000"></textarea>
          </label>
          ${dialogError(this.submission.error)}
          <div class="dialog-actions">
            <button type="button" class="button quiet" @click=${() => this.dialog?.close()}>Cancel</button>
            <button class="button primary" ?disabled=${this.submission.sending}>Mark</button>
          </div>
        </form>
      </dialog>`;
  }

  private async onSubmit(event: SubmitEvent): Promise<void> {
    event.preventDefault();
    const data = new FormData(event.target as HTMLFormElement);
    const direction = data.get("direction") as NonNullable<MissedRequest["direction"]>;
    const note = data.get("note");
    await this.submission.send(async () => {
      const { id } = await api.markMissed({
        trace: this.trace,
        commit: this.commit,
        direction,
        note: typeof note === "string" ? note.trim() : "",
      });
      this.dialog?.close();
      showToast({
        text: `Marked a missed change at commit ${grouped(this.position + 1)}.`,
        action: { label: "Undo", run: () => void changeMark(() => api.unmarkMissed(id)) },
      });
      announceMissed();
    });
  }
}

declare global {
  interface HTMLElementTagNameMap {
    "kp-missed-button": MissedButton;
  }
}
