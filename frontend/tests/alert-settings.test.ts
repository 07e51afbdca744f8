import { expect, test } from "vitest";
import {
  alertToml,
  DEFAULTS,
  parametersText,
  parseParameters,
  parseTexts,
  settingsOf,
} from "../src/text/alert-settings";

test("only settings that differ from the defaults are written", () => {
  expect(settingsOf({ ...DEFAULTS, group_by: [], owners: [], notify: [] })).toEqual({});
  const settings = settingsOf({ query: "os=linux", minimum_effect: 0.05, owners: ["ada", "grace"] });
  expect(alertToml("slow", settings)).toBe(
    '[alerts."slow"]\nquery = "os=linux"\nminimum_effect = 0.05\nowners = ["ada", "grace"]\n',
  );
});

test("texts are quoted, whatever they hold", () => {
  expect(alertToml("", {})).toBe("[alerts.NAME]\n");
  expect(alertToml('a "b"', { query: "x\\y\n\u007f" })).toBe('[alerts."a \\"b\\""]\nquery = "x\\\\y\\n\\u007f"\n');
});

test("parameters are read as numbers, truths and texts, and written back", () => {
  const parameters = parseParameters("radius=5\nrobust = true\n\nmode=a=b");
  expect(parameters).toEqual({ radius: 5, robust: true, mode: "a=b" });
  expect(parseParameters(parametersText(parameters))).toEqual(parameters);
  expect(alertToml("a", { parameters })).toContain('parameters = { "radius" = 5, "robust" = true, "mode" = "a=b" }');
});

test("lists are separated by commas", () => {
  expect(parseTexts(" ada, ,grace ")).toEqual(["ada", "grace"]);
});
