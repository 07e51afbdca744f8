/** Messages that pass: shown at the foot of the page, one at a time. */

export interface Toast {
  text: string;
  action?: { label: string; key?: string; run: () => void };
  /** A failure stays until it is closed. */
  failure?: boolean;
}

/** Show a message instead of the one before. */
export function showToast(toast: Toast): void {
  window.dispatchEvent(new CustomEvent("kp-toast", { detail: toast }));
}
