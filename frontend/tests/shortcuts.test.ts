// @vitest-environment happy-dom
import { expect, test } from "vitest";
import { noteOverlay } from "../src/state/overlays";
import { findShortcut, keyLabel, type ShortcutGroup } from "../src/state/shortcuts";

const GROUPS: ShortcutGroup[] = [
  { title: "here", shortcuts: [{ keys: ["j", "Enter"], description: "go", run: () => undefined }] },
];

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
  expect(findShortcut(press("j", element("p")), GROUPS)?.description).toBe("go");
});

test("a field keeps the keys that are typed into it", () => {
  expect(findShortcut(press("j", element("input")), GROUPS)).toBeUndefined();
});

test("a field of a dialog that was just closed gives the keys back", () => {
  const dialog = document.createElement("dialog");
  const field = dialog.appendChild(element("input", "radio"));
  document.body.replaceChildren(dialog);
  const event = new KeyboardEvent("keydown", { key: "j", bubbles: true });
  field.dispatchEvent(event);
  expect(findShortcut(event, GROUPS)?.description).toBe("go");
  dialog.setAttribute("open", "");
  expect(findShortcut(event, GROUPS)).toBeUndefined();
});

test("a checkbox with the focus leaves letters to the shortcuts", () => {
  expect(findShortcut(press("j", element("input", "checkbox")), GROUPS)?.description).toBe("go");
});

test("Enter on a button presses the button", () => {
  expect(findShortcut(press("Enter", element("button")), GROUPS)).toBeUndefined();
});

test.each([
  ["dialog", "open", ""],
  ["div", "popover", "open"],
])("an open %s keeps the keys", (tag, attribute, kind) => {
  const panel = element(tag);
  panel.setAttribute(attribute, "");
  panel.className = kind;
  const event = press("j", element("p"));
  document.body.append(panel);
  noteOverlay(panel);
  expect(findShortcut(event, GROUPS)).toBeUndefined();
  panel.remove();
  expect(findShortcut(event, GROUPS)?.description).toBe("go");
});

test("a shortcut of the browser is left to the browser", () => {
  expect(findShortcut(press("j", element("p"), { ctrlKey: true }), GROUPS)).toBeUndefined();
});

test("a key has the label that is printed on it", () => {
  expect([keyLabel("ArrowLeft"), keyLabel("a")]).toEqual(["←", "a"]);
});
