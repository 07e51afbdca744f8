import { expect, test } from "vitest";
import { originText } from "../src/text/samples";

test.each([
  ["one sample", [{ value: 4, samples: [4] }]],
  ["median of 3 samples", [{ value: 4, samples: [3, 4, 9] }]],
  [
    "median of 2 runs with 4 samples",
    [
      { value: 4, samples: [3, 4, 9] },
      { value: 5, samples: [5] },
    ],
  ],
])("a value is said to be %s", (text, runs) => {
  expect(originText(runs)).toBe(text);
});

test("runs without a value do not count", () => {
  const failed = { value: null, samples: [] };
  expect(originText([failed, { value: 4, samples: [4, 4] }])).toBe("median of 2 samples");
});

test("nothing is said of samples that are not there", () => {
  expect(originText([])).toBe("");
  expect(originText([{ value: 4, samples: [] }])).toBe("");
});
