/** Keyboard shortcuts: each view says what its keys do, and the help reads the same list. */

export interface Shortcut {
  /** What `KeyboardEvent.key` says; several keys may do the same. */
  keys: readonly string[];
  /** What it does, for the help. */
  does: string;
  run: (event: KeyboardEvent) => void;
}

export interface Shortcuts {
  title: string;
  list: readonly Shortcut[];
}

const sources = new Set<() => readonly Shortcuts[]>();

/** Add the shortcuts of a view for as long as it is shown; call the answer to take them away. */
export function addShortcuts(source: () => readonly Shortcuts[]): () => void {
  sources.add(source);
  return () => sources.delete(source);
}

/** All shortcuts that work now, those of the view before those of every page. */
export function shortcuts(): Shortcuts[] {
  return [...sources].reverse().flatMap((source) => source());
}

function typing(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  );
}

function isCheckbox(target: EventTarget | null): boolean {
  return target instanceof HTMLInputElement && target.type === "checkbox";
}

function actsItself(target: EventTarget | null, key: string): boolean {
  if (key !== "Enter" && key !== " ") return false;
  return target instanceof Element && target.closest("button, a[href], summary, input, select") !== null;
}

/** Find the shortcut for a key press, unless the key belongs to what has the focus. */
export function findShortcut(event: KeyboardEvent, all: readonly Shortcuts[]): Shortcut | undefined {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return undefined;
  if (typing(event.target) && !isCheckbox(event.target)) return undefined;
  if (actsItself(event.target, event.key)) return undefined;
  if (document.querySelector("dialog[open]")) return undefined;
  return all.flatMap((some) => some.list).find((shortcut) => shortcut.keys.includes(event.key));
}

export function onKey(event: KeyboardEvent): void {
  const shortcut = findShortcut(event, shortcuts());
  if (!shortcut) return;
  event.preventDefault();
  shortcut.run(event);
}

const NAMES: Record<string, string> = {
  ArrowLeft: "←",
  ArrowRight: "→",
  ArrowUp: "↑",
  ArrowDown: "↓",
  Escape: "Esc",
  " ": "Space",
};

/** The name that is on a key. */
export function keyName(key: string): string {
  return NAMES[key] ?? key;
}
