/** Light, dark, or as the system says. */

export type Theme = "system" | "light" | "dark";
const KEY = "knickpoint-theme";

export function theme(): Theme {
  const kept = localStorage.getItem(KEY);
  return kept === "light" || kept === "dark" ? kept : "system";
}

/** Use a theme from now on, here and on the next visit. */
export function setTheme(next: Theme): void {
  if (next === "system") localStorage.removeItem(KEY);
  else localStorage.setItem(KEY, next);
  applyTheme();
}

export function applyTheme(): void {
  const now = theme();
  if (now === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = now;
  window.dispatchEvent(new Event("kp-theme"));
}

export const nextTheme: Record<Theme, Theme> = { system: "light", light: "dark", dark: "system" };
