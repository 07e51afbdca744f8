import { expect, test } from "vitest";
import { MOST_ROWS, stretches } from "../src/state/triage/row-window";

const shown = (total: number, middle: number, cursor: number): string =>
  stretches(total, middle, cursor)
    .map((stretch) => `${stretch.shown ? "" : "-"}${stretch.from}..${stretch.to}`)
    .join(" ");

test("rows around the middle of the view are in the document, and the others are gaps", () => {
  expect(shown(2600, 1000, 1000)).toBe("-0..980 980..1021 -1021..2600");
});

test("at the top there is no gap above, and at the bottom none below", () => {
  expect(shown(2600, 0, 0)).toBe("0..21 -21..2600");
  expect(shown(2600, 2599, 2599)).toBe("-0..2579 2579..2600");
});

test("the row with the keyboard stays in the document with its neighbours, wherever the view is", () => {
  expect(shown(2600, 1000, 10)).toBe("-0..8 8..13 -13..980 980..1021 -1021..2600");
  expect(shown(2600, 1000, 2599)).toBe("-0..980 980..1021 -1021..2597 2597..2600");
});

test("a row with the keyboard at the edge of the view makes no second gap", () => {
  expect(shown(2600, 1000, 1021)).toBe("-0..980 980..1021 1021..1024 -1024..2600");
  expect(shown(2600, 1000, 979)).toBe("-0..977 977..982 982..1021 -1021..2600");
});

test("a view below the end of a list that grew shorter shows its end", () => {
  expect(shown(MOST_ROWS + 1, 2000, 0)).toBe("0..3 -3..130 130..151");
});

test("every row is in one stretch", () => {
  for (const [middle, cursor] of [
    [0, 150],
    [75, 75],
    [150, 0],
    [30, 90],
  ] as const) {
    const all = stretches(151, middle, cursor).flatMap(({ from, to }) =>
      Array.from({ length: to - from }, (_, at) => from + at),
    );
    expect(all).toEqual(Array.from({ length: 151 }, (_, at) => at));
  }
});
