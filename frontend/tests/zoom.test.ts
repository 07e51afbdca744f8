import { expect, test } from "vitest";
import { dragRange, rangeAround, pan, zoom } from "../src/state/plot/zoom";

test("zooming in halves the range around its middle", () => {
  expect(zoom({ first: 0, last: 100 }, 0.5, 101)).toEqual({ first: 25, last: 75 });
});

test("a range that covers the whole line is undefined", () => {
  expect(zoom({ first: 10, last: 90 }, 2, 101)).toBeUndefined();
});

test("panning keeps the width and stops at the ends", () => {
  expect(pan({ first: 10, last: 30 }, 0.25, 101)).toEqual({ first: 15, last: 35 });
  expect(pan({ first: 2, last: 22 }, -0.25, 101)).toEqual({ first: 0, last: 20 });
  expect(pan({ first: 78, last: 98 }, 0.25, 101)).toEqual({ first: 80, last: 100 });
});

test("a range around a position has the same number of values on each side, however far apart", () => {
  const positions = [0, 10, 20, 30, 40, 50, 60];
  expect(rangeAround(positions, 30, 2, 100)).toEqual({ first: 10, last: 50 });
  expect(rangeAround(positions, 60, 2, 100)).toEqual({ first: 40, last: 60 });
  expect(rangeAround(positions, 25, 1, 100)).toEqual({ first: 20, last: 40 });
  expect(rangeAround([5], 5, 2, 100)).toBeUndefined();
});

const WHOLE = { first: 10, last: 110 };

test("a dragged range keeps its width and stays within the whole", () => {
  expect(dragRange({ first: 20, last: 40 }, "both", 15, WHOLE)).toEqual({ first: 35, last: 55 });
  expect(dragRange({ first: 20, last: 40 }, "both", -50, WHOLE)).toEqual({ first: 10, last: 30 });
  expect(dragRange({ first: 20, last: 40 }, "both", Infinity, WHOLE)).toEqual({ first: 90, last: 110 });
});

test("a dragged end moves alone, within the whole", () => {
  expect(dragRange({ first: 20, last: 40 }, "first", 5, WHOLE)).toEqual({ first: 25, last: 40 });
  expect(dragRange({ first: 20, last: 40 }, "last", 500, WHOLE)).toEqual({ first: 20, last: 110 });
});

test("a dragged end stops before the other one", () => {
  expect(dragRange({ first: 20, last: 40 }, "first", 500, WHOLE)).toEqual({ first: 36, last: 40 });
  expect(dragRange({ first: 20, last: 40 }, "last", -500, WHOLE)).toEqual({ first: 20, last: 24 });
});
