/** The theme: light, dark, or that of the system. The browser keeps it, so that a page begins in it. */

export type Theme = "system" | "light" | "dark";

const STORAGE_KEY = "knickpoint-theme";

/** The theme that a press of the button chooses next. */
export const nextTheme: Record<Theme, Theme> = { system: "light", light: "dark", dark: "system" };

export const THEMES: readonly Theme[] = ["system", "light", "dark"];

export function currentTheme(): Theme {
  return parseTheme(localStorage.getItem(STORAGE_KEY));
}

/** The theme that the page is in. */
export function shownTheme(): "light" | "dark" {
  const theme = currentTheme();
  if (theme !== "system") return theme;
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

/** A stored theme; that of the system where there is none that can be read. */
export function parseTheme(text: string | null): Theme {
  return text === "light" || text === "dark" ? text : "system";
}

/** Use a theme from now on, and on the next visit. */
export function setTheme(theme: Theme): void {
  if (theme === "system") localStorage.removeItem(STORAGE_KEY);
  else localStorage.setItem(STORAGE_KEY, theme);
  applyTheme();
}

/** Apply the stored theme, and send `kp-theme` to the window: canvases read their colours again. */
export function applyTheme(): void {
  const theme = currentTheme();
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  window.dispatchEvent(new Event("kp-theme"));
}
