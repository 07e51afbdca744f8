import { expect, test } from "vitest";
import type { Alert } from "../src/api/client";
import { freshnessText, newestRun } from "../src/state/freshness";

const NOW = Date.parse("2026-03-01T12:00:00Z");
const alert = (last_run: string | null): Alert => ({ name: "a", last_run }) as Alert;

test("the newest run is found in any order and time zone", () => {
  expect(newestRun([alert("2026-03-01T11:00:00Z"), alert(null), alert("2026-03-01T12:30:00+02:00")])).toBe(
    "2026-03-01T11:00:00Z",
  );
  expect(newestRun([alert(null)])).toBeNull();
});

test("the text says how long ago the alerts ran, or that no run has ended", () => {
  expect(freshnessText([alert("2026-03-01T11:57:00Z"), alert(null)], NOW)).toBe("The alerts ran 3 minutes ago.");
  expect(freshnessText([alert(null)], NOW)).toBe("No run of the alert has ended yet.");
  expect(freshnessText([], NOW)).toBe("There are no alerts.");
});
