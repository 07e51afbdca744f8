// @vitest-environment happy-dom
import { expect, test } from "vitest";
import { findShortcut, keyName, type Shortcuts } from "../src/state/shortcuts";

const ALL: Shortcuts[] = [{ title: "here", list: [{ keys: ["j", "Enter"], does: "go", run: () => undefined }] }];

function press(key: string, on: HTMLElement, options: KeyboardEventInit = {}): KeyboardEvent {
  document.body.replaceChildren(on);
  const event = new KeyboardEvent("keydown", { key, bubbles: true, ...options });
  on.dispatchEvent(event);
  return event;
}

function element(tag: string, type = ""): HTMLElement {
  const made = document.createElement(tag);
  if (type) made.setAttribute("type", type);
  return made;
}

test("a key on the page runs its shortcut", () => {
  expect(findShortcut(press("j", element("p")), ALL)?.does).toBe("go");
});

test("a key that is typed into a field stays there", () => {
  expect(findShortcut(press("j", element("input")), ALL)).toBeUndefined();
});

test("a checkbox with the focus leaves letters to the shortcuts", () => {
  expect(findShortcut(press("j", element("input", "checkbox")), ALL)?.does).toBe("go");
});

test("enter on a button presses the button", () => {
  expect(findShortcut(press("Enter", element("button")), ALL)).toBeUndefined();
});

test("keys of the browser stay the browser's", () => {
  expect(findShortcut(press("j", element("p"), { ctrlKey: true }), ALL)).toBeUndefined();
});

test("keys are called by what is on them", () => {
  expect([keyName("ArrowLeft"), keyName("a")]).toEqual(["←", "a"]);
});
