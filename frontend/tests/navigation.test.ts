// @vitest-environment happy-dom
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { currentUrl } from "../src/routes/address";
import { navigate } from "../src/routes/navigation";
import { triageRoute } from "../src/routes/triage";

const at = (row: number) => ({ ...triageRoute, at: String(row) });

beforeEach(() => {
  vi.useFakeTimers();
  window.history.replaceState(null, "", "/triage");
});

afterEach(() => {
  vi.useRealTimers();
});

test("a key that is held moves the page at once, and the address as often as browsers take it", () => {
  const told = vi.spyOn(window.history, "replaceState");
  for (let row = 1; row <= 300; row++) {
    navigate(at(row), "replace");
    expect(currentUrl().searchParams.get("at")).toBe(String(row));
    vi.advanceTimersByTime(20);
  }
  vi.advanceTimersByTime(200);
  expect(told.mock.calls.length).toBeLessThan(50);
  expect(location.search).toBe("?at=300");
});

test("the page before another one keeps its place", () => {
  const told = vi.spyOn(window.history, "replaceState");
  vi.advanceTimersByTime(1000);
  navigate(at(1), "replace");
  navigate(at(2), "replace");
  navigate({ ...triageRoute, page: 2 }, "push");
  expect(told.mock.lastCall?.[2]).toBe("/triage?at=2");
  expect(location.search).toBe("?page=2");
});
