// @vitest-environment happy-dom
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { triageRoute } from "../src/routes/triage";

const at = (row: number) => ({ ...triageRoute, at: String(row) });

let currentUrl: (typeof import("../src/routes/address"))["currentUrl"];
let navigate: (typeof import("../src/routes/navigation"))["navigate"];

/** Each test has modules of its own: they count how often the browser was told an address. */
beforeEach(async () => {
  vi.resetModules();
  ({ currentUrl } = await import("../src/routes/address"));
  ({ navigate } = await import("../src/routes/navigation"));
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
  vi.advanceTimersByTime(220);
  expect(told.mock.calls.length).toBeLessThan(75);
  expect(location.search).toBe("?at=300");
  told.mockRestore();
});

test("browsers take all changes of a key that is held for half a minute", () => {
  const told = vi.spyOn(window.history, "replaceState");
  for (let row = 1; row <= 1500; row++) {
    navigate(at(row), "replace");
    vi.advanceTimersByTime(20);
  }
  expect(told.mock.calls.length).toBeLessThanOrEqual(200);
  told.mockRestore();
});

test("the address has each of some quick keys at once, so that a reload keeps them", () => {
  for (let row = 1; row <= 20; row++) {
    navigate(at(row), "replace");
    expect(location.search).toBe(`?at=${row}`);
  }
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
