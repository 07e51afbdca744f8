/** Hand something over to the person: a file, or a text to paste. */

import { showToast } from "./toasts";

/** How long the browser may take to begin with a file. */
const KEPT_MS = 10_000;

/** Let the browser save a file. */
export function saveFile(name: string, content: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  window.setTimeout(() => URL.revokeObjectURL(link.href), KEPT_MS);
}

/** Copy a text, and say what was copied. */
export async function copyText(text: string, done: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    showToast({ text: done });
  } catch {
    const refusal = "The browser does not let the page copy. Allow it, or open the page by HTTPS.";
    showToast({ text: refusal, failure: true });
  }
}
