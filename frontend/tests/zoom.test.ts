import { expect, test } from "vitest";
import { pan, zoom } from "../src/state/zoom";

test("looking closer halves the range around its middle", () => {
  expect(zoom({ first: 0, last: 100 }, 0.5, 101)).toEqual({ first: 25, last: 75 });
});

test("looking from as far away as possible is the whole line", () => {
  expect(zoom({ first: 10, last: 90 }, 2, 101)).toBeUndefined();
});

test("moving keeps the width and stops at the ends", () => {
  expect(pan({ first: 10, last: 30 }, 0.25, 101)).toEqual({ first: 15, last: 35 });
  expect(pan({ first: 2, last: 22 }, -0.25, 101)).toEqual({ first: 0, last: 20 });
  expect(pan({ first: 78, last: 98 }, 0.25, 101)).toEqual({ first: 80, last: 100 });
});
