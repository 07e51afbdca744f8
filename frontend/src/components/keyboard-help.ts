/** The keyboard help: a dialog with the shortcuts that work now. */

import { html } from "lit";
import { customElement, query } from "lit/decorators.js";
import { activeShortcuts, keyLabel, type Shortcut } from "../state/shortcuts";
import { PageElement } from "../page-element";
import { showDialog } from "../state/overlays";

@customElement("kp-keyboard-help")
export class KeyboardHelp extends PageElement {
  @query("dialog") private readonly dialog!: HTMLDialogElement | null;

  show(): void {
    this.requestUpdate();
    void this.updateComplete.then(() => showDialog(this.dialog));
  }

  override render() {
    return html`<dialog class="dialog" aria-labelledby="help-title">
      <h2 id="help-title" tabindex="-1" autofocus>Keyboard</h2>
      <div class="help-columns">
        ${activeShortcuts().map(
          ({ title, shortcuts }) =>
            html`<section>
              <h3>${title}</h3>
              <dl class="keys">${shortcuts.map(renderShortcut)}</dl>
            </section>`,
        )}
      </div>
      <form method="dialog">
        <button class="button">Close <kbd>Esc</kbd></button>
      </form>
    </dialog>`;
  }
}

function renderShortcut({ keys, description }: Shortcut) {
  return html`<div>
    <dt>${keys.map((key) => html`<kbd>${keyLabel(key)}</kbd>`)}</dt>
    <dd>${description}</dd>
  </div>`;
}

declare global {
  interface HTMLElementTagNameMap {
    "kp-keyboard-help": KeyboardHelp;
  }
}
