import { afterEach, expect, test, vi } from "vitest";
import { ageText, clockText, dayText, isTimeZone, timestampText, writeDatesIn } from "../src/text/dates";

afterEach(() => writeDatesIn(undefined));

test.each([
  ["UTC", "2026-03-14 23:30 UTC"],
  ["Asia/Kolkata", "2026-03-15 05:00 UTC+05:30"],
  ["America/New_York", "2026-03-14 19:30 UTC−04:00"],
])("in %s a time is %s", (zone, text) => {
  writeDatesIn(zone);
  expect(timestampText("2026-03-14T23:30:00Z")).toBe(text);
});

test("midnight is the begin of a day", () => {
  writeDatesIn("UTC");
  expect([dayText(0), clockText(0)]).toEqual(["1970-01-01", "00:00"]);
});

test("a time zone is known by its name", () => {
  expect(["UTC", "Europe/Berlin", "", "Mars/Base"].map(isTimeZone)).toEqual([true, true, false, false]);
});

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

test("a format of dates, which is slow to make, is made with the first date that is written, and once", async () => {
  vi.resetModules();
  const { DateTimeFormat } = Intl;
  let made = 0;
  class Counted extends DateTimeFormat {
    constructor(...given: ConstructorParameters<typeof Intl.DateTimeFormat>) {
      super(...given);
      made += 1;
    }
  }
  Object.assign(Intl, { DateTimeFormat: Counted });
  try {
    const dates = await import("../src/text/dates");
    dates.writeDatesIn("UTC");
    expect(made).toBe(0);
    expect(dates.dayText(0)).toBe(dates.dayText(1));
    expect(made).toBe(1);
  } finally {
    Object.assign(Intl, { DateTimeFormat });
  }
});
