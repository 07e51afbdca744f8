import { expect, test } from "vitest";
import { quote, toggleValue, wanted } from "../src/text/query";

test("a value is added, joined by others, and taken out again", () => {
  const one = toggleValue("", "os", "linux");
  const two = toggleValue(one, "os", "mac");
  expect([one, two, toggleValue(two, "os", "linux"), toggleValue(one, "os", "linux")]).toEqual([
    "os=linux",
    "os=linux|mac",
    "os=mac",
    "",
  ]);
});

test("other conditions stay as they were written", () => {
  expect(toggleValue("name~^json  !sub os!=x", "os", "linux")).toBe("name~^json !sub os!=x os=linux");
});

test("values with spaces and signs are quoted and found again", () => {
  const query = toggleValue("", "name", 'say "hi" | bye');
  expect(query).toBe(String.raw`name="say \"hi\" | bye"`);
  expect(wanted(query, "name")).toEqual(['say "hi" | bye']);
  expect(toggleValue(query, "name", 'say "hi" | bye')).toBe("");
});

test("a refused value and a wanted presence are no wanted values", () => {
  expect(wanted("os!=linux name=*", "os")).toEqual([]);
  expect(wanted("os!=linux name=*", "name")).toEqual([]);
});

test("plain words need no quotes", () => {
  expect([quote("parse_json"), quote("a b"), quote("a&b")]).toEqual(["parse_json", '"a b"', '"a&b"']);
});
