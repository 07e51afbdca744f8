import { expect, test } from "vitest";
import { countText, numberText, percentText, signedPercentText } from "../src/text/numbers";

test("counts stay whole, measurements have four digits", () => {
  expect([numberText(440), numberText(12.34567), numberText(0.00012345), numberText(1e-9)]).toEqual([
    "440",
    "12.35",
    "0.0001235",
    "1.000e-9",
  ]);
});

test.each([
  [0, "0 %"],
  [0.004, "0.4 %"],
  [0.0123, "1.2 %"],
  [0.5, "50 %"],
  [-0.254, "25 %"],
])("%d is %s", (fraction, text) => {
  expect(percentText(fraction)).toBe(text);
});

test.each([
  [0.228, "+22.8 %"],
  [-0.0341, "−3.41 %"],
  [0.0999, "+9.99 %"],
  [11.7, "+1,170 %"],
  [0, "0.00 %"],
])("%d is %s with its sign", (fraction, text) => {
  expect(signedPercentText(fraction)).toBe(text);
});

test("one finding, two findings", () => {
  expect([countText(1, "finding"), countText(2, "finding"), countText(1200, "match", "matches")]).toEqual([
    "1 finding",
    "2 findings",
    "1,200 matches",
  ]);
});
