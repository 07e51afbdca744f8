import { expect, test } from "vitest";
import { compareUrl } from "../src/text/compare-url";

const previous = { hash: "aaa", url: "" };

test.each([
  ["https://git.example/team/tool/commit/bbb", "https://git.example/team/tool/compare/aaa...bbb"],
  ["https://git.example/team/tool/-/commit/bbb", "https://git.example/team/tool/-/compare/aaa...bbb"],
  ["https://git.example/tool/+/bbb", "https://git.example/tool/+log/aaa..bbb"],
  ["https://git.example/tool/changeset/bbb", ""],
  ["", ""],
])("the comparison that ends at %s", (url, expected) => {
  expect(compareUrl(previous, { hash: "bbb", url })).toBe(expected);
});
