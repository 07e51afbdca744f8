import { expect, test } from "vitest";
import { parseViews, viewsProblem, withoutView, withView, type SavedView } from "../src/state/saved-views";

const view = (name: string, pinned = false): SavedView => ({ name, url: "/triage?tab=open", pinned });

test("what is stored comes back", () => {
  const views = [view("mine", true), view("other")];
  expect(parseViews(JSON.stringify(views))).toEqual(views);
});

test.each(["", "x", "{}", "null", "[3]", '[{"name":"a"}]'])("%j holds no view", (text) => {
  expect(parseViews(text)).toEqual([]);
});

test.each(["https://elsewhere/triage", "//elsewhere/triage", "/\\elsewhere/triage", "javascript:alert(1)", "/no-page"])(
  "a stored view never leads to %s",
  (url) => {
    expect(parseViews(JSON.stringify([{ name: "a", url }]))).toEqual([]);
  },
);

test("pinned views come first, each part by name", () => {
  const views = [view("c"), view("b", true), view("a")].reduce<SavedView[]>(
    (before, each) => withView(before, each),
    [],
  );
  expect(views.map(({ name }) => name)).toEqual(["b", "a", "c"]);
});

test("a view of the same name is replaced", () => {
  const before = [view("a")];
  expect(withView(before, { ...view("a"), url: "/explore" })).toEqual([{ ...view("a"), url: "/explore" }]);
  expect(withoutView(before, "a")).toEqual([]);
});

test("more views than the server keeps are refused before they are sent", () => {
  const many = Array.from({ length: 101 }, (_, at) => view(String(at)));
  expect(viewsProblem(many)).toContain("100");
  expect(viewsProblem([{ ...view("long"), url: `/explore?query=${"x".repeat(20_000)}` }])).toContain("too long");
  expect(viewsProblem([view("a")])).toBeUndefined();
});
