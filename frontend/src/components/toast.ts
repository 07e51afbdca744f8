/** One message at a time at the foot of the page, with one thing to do about it. */

import { html, nothing } from "lit";
import { Part } from "./page-element";

export interface Toast {
  text: string;
  action?: { label: string; key?: string; run: () => void };
  failure?: boolean;
}

const SECONDS = 8;

/** Show a message; the next one takes its place. */
export function toast(message: Toast): void {
  window.dispatchEvent(new CustomEvent("kp-toast", { detail: message }));
}

class ToastPart extends Part {
  static override properties = { message: { state: true } };
  declare message: Toast | undefined;
  private timer = 0;

  private readonly onToast = (event: Event): void => {
    this.message = (event as CustomEvent<Toast>).detail;
    window.clearTimeout(this.timer);
    if (!this.message.failure) this.timer = window.setTimeout(() => (this.message = undefined), SECONDS * 1000);
  };

  override connectedCallback(): void {
    super.connectedCallback();
    window.addEventListener("kp-toast", this.onToast);
  }

  override disconnectedCallback(): void {
    window.removeEventListener("kp-toast", this.onToast);
    super.disconnectedCallback();
  }

  override render() {
    const { message } = this;
    return html`<div class="toasts" role="status" aria-live="polite">
      ${
        message
          ? html`<div class="toast ${message.failure ? "failure" : ""}">
              <span>${message.text}</span>
              ${
                message.action
                  ? html`<button class="toast-action" @click=${() => this.act()}>
                      ${message.action.label}${message.action.key ? html` <kbd>${message.action.key}</kbd>` : nothing}
                    </button>`
                  : nothing
              }
              <button class="toast-close" aria-label="Close the message" @click=${() => (this.message = undefined)}>
                ×
              </button>
            </div>`
          : nothing
      }
    </div>`;
  }

  private act(): void {
    const run = this.message?.action?.run;
    this.message = undefined;
    run?.();
  }
}

customElements.define("kp-toast", ToastPart);
