/** The settings of an alert: from the fields of a form, and as a section of knickpoint.toml. */

import type { Alert, AlertSettings } from "../api/client";

type Value = string | number | boolean;

/** What an alert has where its section does not say otherwise; a test compares it with the program. */
export const DEFAULTS = {
  query: "",
  repository: "",
  line: "",
  group_by: [],
  method: "default",
  parameters: {},
  direction: "both",
  minimum_effect: 0,
  minimum_change: 0,
  since: "start",
  samples: false,
  summary: "",
  minimum_traces: 1,
  window: 0,
  settle_share: 0.35,
  settle_least: 3,
  settle_most: 24,
  kind: "work",
  severity: "normal",
  owners: [],
  notify: [],
  every_minutes: 0,
} as const;

const SETTINGS = Object.keys(DEFAULTS) as (keyof typeof DEFAULTS)[];

/** The settings of an alert that differ from the defaults. */
export function settingsOf(alert: Alert | AlertSettings): AlertSettings {
  const changed: Record<string, unknown> = {};
  for (const name of SETTINGS) {
    const value = alert[name];
    if (value !== undefined && JSON.stringify(value) !== JSON.stringify(DEFAULTS[name])) changed[name] = value;
  }
  return changed;
}

/** Read `name=value` lines: numbers, true and false, else texts. */
export function parseParameters(text: string): Record<string, Value> {
  const pairs = text
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean)
    .map((line): [string, Value] => {
      const at = line.indexOf("=");
      const [name, value] = at < 0 ? [line, ""] : [line.slice(0, at).trim(), line.slice(at + 1).trim()];
      if (value === "true" || value === "false") return [name, value === "true"];
      return [name, value !== "" && Number.isFinite(Number(value)) ? Number(value) : value];
    });
  return Object.fromEntries(pairs);
}

export function parametersText(parameters: Record<string, Value> = {}): string {
  return Object.entries(parameters)
    .map(([name, value]) => `${name}=${value}`)
    .join("\n");
}

/** Texts that are separated by commas. */
export function parseTexts(text: string): string[] {
  return text
    .split(",")
    .map((part) => part.trim())
    .filter(Boolean);
}

/** A text in TOML: as in JSON, but for the character that JSON leaves as it is. */
function tomlText(text: string): string {
  return JSON.stringify(text).replaceAll("\u007f", "\\u007f");
}

function tomlValue(value: unknown): string {
  if (typeof value === "string") return tomlText(value);
  if (Array.isArray(value)) return `[${value.map(tomlValue).join(", ")}]`;
  if (typeof value === "object" && value !== null) {
    const pairs = Object.entries(value).map(([name, each]) => `${tomlText(name)} = ${tomlValue(each)}`);
    return `{ ${pairs.join(", ")} }`;
  }
  return String(value);
}

/** The section of an alert in knickpoint.toml. */
export function alertToml(name: string, settings: AlertSettings): string {
  const lines = Object.entries(settings).map(([key, value]) => `${key} = ${tomlValue(value)}`);
  return [`[alerts.${name ? tomlText(name) : "NAME"}]`, ...lines, ""].join("\n");
}
