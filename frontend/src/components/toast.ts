/** One message at a time at the foot of the page, with at most one button. */

import { html, nothing } from "lit";
import { customElement, state } from "lit/decorators.js";
import { PageElement } from "../page-element";
import type { Toast } from "../state/toasts";

const SHOWN_MS = 8000;

@customElement("kp-toast")
export class ToastElement extends PageElement {
  @state() private toast: Toast | undefined;
  private timer = 0;

  private readonly onToast = (event: Event): void => {
    this.toast = (event as CustomEvent<Toast>).detail;
    window.clearTimeout(this.timer);
    if (!this.toast.failure) this.timer = window.setTimeout(() => (this.toast = undefined), SHOWN_MS);
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
    const { toast } = this;
    return html`<div class="toasts" role="status" aria-live="polite">
      ${toast ? this.renderToast(toast) : nothing}
    </div>`;
  }

  private renderToast({ text, action, failure }: Toast) {
    const close = (): void => void (this.toast = undefined);
    const act = (): void => {
      close();
      action?.run();
    };
    const key = action?.key ? html` <kbd>${action.key}</kbd>` : nothing;
    return html`<div class="toast ${failure ? "failure" : ""}">
      <span>${text}</span>
      ${action ? html`<button class="toast-action" @click=${act}>${action.label}${key}</button>` : nothing}
      <button class="toast-close" aria-label="Close the message" @click=${close}>×</button>
    </div>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    "kp-toast": ToastElement;
  }
}
