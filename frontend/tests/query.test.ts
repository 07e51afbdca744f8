import { expect, test } from "vitest";
import { quote, toggleValue, selectedValues } from "../src/text/query";

test("a value is added, joined by others, and removed again", () => {
  const linux = toggleValue("", "os", "linux");
  const both = toggleValue(linux, "os", "mac");
  expect([linux, both, toggleValue(both, "os", "linux"), toggleValue(linux, "os", "linux")]).toEqual([
    "os=linux",
    "os=linux|mac",
    "os=mac",
    "",
  ]);
});

test("other terms stay as they were typed", () => {
  expect(toggleValue("name~^json  !sub os!=x", "os", "linux")).toBe("name~^json !sub os!=x os=linux");
});

test("values with spaces and signs are quoted and found again", () => {
  const query = toggleValue("", "name", 'say "hi" | bye');
  expect(query).toBe(String.raw`name="say \"hi\" | bye"`);
  expect(selectedValues(query, "name")).toEqual(['say "hi" | bye']);
  expect(toggleValue(query, "name", 'say "hi" | bye')).toBe("");
});

test("terms that exclude a value or ask for presence select no values", () => {
  expect(selectedValues("os!=linux name=*", "os")).toEqual([]);
  expect(selectedValues("os!=linux name=*", "name")).toEqual([]);
});

test("plain words need no quotes", () => {
  expect([quote("parse_json"), quote("a b"), quote("a&b")]).toEqual(["parse_json", '"a b"', '"a&b"']);
});
