/** The keyboard help, made from the shortcuts that work now. */

import { html } from "lit";
import { keyName, shortcuts } from "../state/shortcuts";
import { Part } from "./page-element";

export class HelpPart extends Part {
  show(): void {
    this.requestUpdate();
    void this.updateComplete.then(() => this.querySelector("dialog")?.showModal());
  }

  override render() {
    return html`<dialog class="dialog" aria-labelledby="help-title">
      <h2 id="help-title" tabindex="-1" autofocus>Keyboard</h2>
      <div class="help-columns">
        ${shortcuts().map(
          (some) =>
            html`<section>
              <h3>${some.title}</h3>
              <dl class="keys">
                ${some.list.map(
                  (shortcut) =>
                    html`<div>
                      <dt>${shortcut.keys.map((name) => html`<kbd>${keyName(name)}</kbd>`)}</dt>
                      <dd>${shortcut.does}</dd>
                    </div>`,
                )}
              </dl>
            </section>`,
        )}
      </div>
      <form method="dialog">
        <button class="button">Close <kbd>Esc</kbd></button>
      </form>
    </dialog>`;
  }
}

customElements.define("kp-help", HelpPart);
