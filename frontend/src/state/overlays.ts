/** Dialogs and panels that lie over the page: while one is open, keys belong to it. */

const known = new Set<HTMLElement>();

/** Note a panel that opens and closes by itself, with the class `open` while it is open. */
export function noteOverlay(overlay: HTMLElement): void {
  known.add(overlay);
}

export function showDialog(dialog: HTMLDialogElement | null | undefined): void {
  if (!dialog) return;
  known.add(dialog);
  dialog.showModal();
}

/** Whether one of them is open. Nothing is searched for: a page may have a hundred thousand elements. */
export function hasOpenOverlay(): boolean {
  for (const overlay of known) {
    if (!overlay.isConnected) known.delete(overlay);
    else if (overlay.matches("dialog[open], .open")) return true;
  }
  return false;
}
