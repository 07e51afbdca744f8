/** The columns of the triage table that a person hides. The browser keeps them; the styles hide them. */

const STORAGE_KEY = "knickpoint-hidden-columns";

/** The columns that can be hidden: the class of their cells without the `c-`, and their names. */
export const OPTIONAL_COLUMNS = [
  ["date", "Date"],
  ["hazard", "Hazard"],
  ["traces", "Traces"],
  ["lead", "Leading trace"],
  ["spark", "Values"],
] as const;

export function hiddenColumns(): readonly string[] {
  const stored = (localStorage.getItem(STORAGE_KEY) ?? "").split(" ");
  return OPTIONAL_COLUMNS.map(([name]) => name).filter((name) => stored.includes(name));
}

/** Tell the styles which columns are hidden. */
export function applyColumns(): void {
  document.documentElement.dataset.hiddenColumns = hiddenColumns().join(" ");
}

export function showColumn(name: string, shown: boolean): void {
  const others = hiddenColumns().filter((hidden) => hidden !== name);
  localStorage.setItem(STORAGE_KEY, (shown ? others : [...others, name]).join(" "));
  applyColumns();
}
