/** The columns of the triage table, and the panel beside it, that a person hides. The browser keeps them; the styles hide them. */

const STORAGE_KEY = "knickpoint-hidden-columns";
/** Few people know the hazard level. */
const HIDDEN_AT_FIRST = "hazard";
/** Windows from this width on have room for the panel. */
const ROOM_FOR_PANEL = "(min-width: 1280px)";

/** The columns that can be hidden: the class of their cells without the `c-`, and their names. */
export const OPTIONAL_COLUMNS = [
  ["date", "Date"],
  ["hazard", "Hazard"],
  ["traces", "Traces"],
  ["lead", "Leading trace"],
  ["spark", "Values"],
  ["panel", "Side panel (v)"],
] as const;

export function hiddenColumns(): readonly string[] {
  const stored = (localStorage.getItem(STORAGE_KEY) ?? HIDDEN_AT_FIRST).split(" ");
  return OPTIONAL_COLUMNS.map(([name]) => name).filter((name) => stored.includes(name));
}

/** Tell the styles which columns are hidden. */
export function applyColumns(): void {
  document.documentElement.dataset.hiddenColumns = hiddenColumns().join(" ");
}

/** Whether the panel is beside the list: wanted, and with room for it. */
export function isPanelShown(): boolean {
  return !hiddenColumns().includes("panel") && matchMedia(ROOM_FOR_PANEL).matches;
}

/** Call back when the window gets or loses the room for the panel; returns how to stop. */
export function watchPanelRoom(onChange: () => void): () => void {
  const media = matchMedia(ROOM_FOR_PANEL);
  media.addEventListener("change", onChange);
  return () => media.removeEventListener("change", onChange);
}

export function showColumn(name: string, shown: boolean): void {
  const others = hiddenColumns().filter((hidden) => hidden !== name);
  localStorage.setItem(STORAGE_KEY, (shown ? others : [...others, name]).join(" "));
  applyColumns();
}
