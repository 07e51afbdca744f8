import { expect, test } from "vitest";
import type { Trace } from "../src/api/client";
import { EMPTY_PLOT, type Plot, type PlottedLine } from "../src/state/plot/plot-loader";
import { toggledTrace } from "../src/views/explore/plot-selection";

const range = (length: number, first = 0): number[] => Array.from({ length }, (_, index) => first + index);

function plotOf(ids: readonly number[], selected = ids.length): Plot {
  const lines = ids.map((id) => ({ id, trace: { id } as Trace }) as PlottedLine);
  return { ...EMPTY_PLOT, lines, selected };
}

const byHand = (traces: readonly number[]) => ({ traces, formulas: ["a"], plotted: undefined });
const byQuery = { traces: [], formulas: ["a"], plotted: "os=linux" };

test("a trace joins the plot, and leaves it", () => {
  const selected = { formulas: ["a"], plotted: undefined, keys: "" };
  expect(toggledTrace(byHand([1, 2]), plotOf([1, 2]), 3)).toEqual({ route: { ...selected, traces: [1, 2, 3] } });
  expect(toggledTrace(byHand([1, 2]), plotOf([1, 2]), 1)).toEqual({ route: { ...selected, traces: [2] } });
});

test("a trace that is taken out of a query leaves the others of the query", () => {
  expect(toggledTrace(byQuery, plotOf([4, 5, 6]), 5)).toMatchObject({ route: { traces: [4, 6], plotted: undefined } });
});

test("a query of which the plot leaves traces out stays whole", () => {
  expect(toggledTrace(byQuery, plotOf([4, 5], 2314), 5)).toMatchObject({
    refusal: expect.stringContaining("2,314 traces") as string,
  });
});

test("more traces than a plot or an address has room for are refused before anything is lost", () => {
  const many = range(1000);
  expect(toggledTrace(byHand(many), plotOf(many), 1000)).toMatchObject({
    refusal: expect.stringContaining("At most 1,000 traces") as string,
  });
  const long = range(900, 1_000_000);
  expect(toggledTrace(byHand(long), plotOf(long), 5)).toMatchObject({
    refusal: expect.stringContaining("An address has no room for 901 traces") as string,
  });
});
