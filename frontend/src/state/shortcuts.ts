/** Keyboard shortcuts: each view registers its keys with what they do, and the keyboard help reads the same list. */

import { hasOpenOverlay } from "./overlays";

export interface Shortcut {
  /** Values of `KeyboardEvent.key`; each of them runs the shortcut. */
  keys: readonly string[];
  /** What the shortcut does, for the help. */
  description: string;
  run: (event: KeyboardEvent) => void;
}

export interface ShortcutGroup {
  title: string;
  shortcuts: readonly Shortcut[];
}

const sources = new Set<() => readonly ShortcutGroup[]>();

/** Register the shortcuts of a view while it is shown. Returns a function that unregisters them. */
export function registerShortcuts(source: () => readonly ShortcutGroup[]): () => void {
  sources.add(source);
  return () => sources.delete(source);
}

/** All shortcuts that work now: those of the view, then those of every page. */
export function activeShortcuts(): ShortcutGroup[] {
  return [...sources].reverse().flatMap((source) => source());
}

function isTextField(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
}

function isCheckbox(target: EventTarget | null): boolean {
  return target instanceof HTMLInputElement && target.type === "checkbox";
}

/** Whether the browser itself acts on the key: Enter and Space press buttons and follow links. */
function isActivation(target: EventTarget | null, key: string): boolean {
  if (key !== "Enter" && key !== " ") return false;
  return target instanceof Element && target.closest("button, a[href], summary, input, select") !== null;
}

/** The element that takes a key press. A field of a dialog keeps the focus until the frame after the dialog was closed. */
function keyTarget(event: KeyboardEvent): EventTarget | null {
  const { target } = event;
  return target instanceof Element && target.closest("dialog:not([open])") ? null : target;
}

/** The shortcut of a key press, unless the focused element, an open dialog or an open panel needs the key. */
export function findShortcut(event: KeyboardEvent, groups: readonly ShortcutGroup[]): Shortcut | undefined {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return undefined;
  const target = keyTarget(event);
  if (isTextField(target) && !isCheckbox(target)) return undefined;
  if (isActivation(target, event.key)) return undefined;
  if (hasOpenOverlay()) return undefined;
  return groups.flatMap((group) => group.shortcuts).find((shortcut) => shortcut.keys.includes(event.key));
}

export function handleKey(event: KeyboardEvent): void {
  const shortcut = findShortcut(event, activeShortcuts());
  if (!shortcut) return;
  event.preventDefault();
  shortcut.run(event);
}

const KEY_LABELS: Record<string, string> = {
  ArrowLeft: "←",
  ArrowRight: "→",
  ArrowUp: "↑",
  ArrowDown: "↓",
  Escape: "Esc",
  " ": "Space",
};

/** What is printed on a key. */
export function keyLabel(key: string): string {
  return KEY_LABELS[key] ?? key;
}
