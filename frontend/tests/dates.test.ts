import { expect, test } from "vitest";
import { ageText, dayText, timestampText } from "../src/text/dates";

test("a day can be sorted as text", () => {
  expect(dayText("2026-03-04T12:00:00Z")).toBe("2026-03-04");
});

test("an unknown time has no date", () => {
  expect([timestampText(null), ageText(null)]).toEqual(["no date", "no date"]);
});

test("an age has one unit", () => {
  const now = Date.parse("2026-03-04T12:00:00Z");
  expect(ageText("2026-03-01T12:00:00Z", now)).toBe("3 days ago");
  expect(ageText("2026-03-04T11:00:00Z", now)).toBe("1 hour ago");
  expect(ageText("2026-03-04T11:59:50Z", now)).toBe("just now");
});
