import { expect, test } from "vitest";
import type { Trace } from "../src/api/client";
import { EMPTY_GRAPH, exploreRoute, type ExploreRoute, type GraphSelection } from "../src/routes/explore";
import { EMPTY_PLOT, type Plot, type PlottedLine } from "../src/state/plot/plot-loader";
import {
  addedGraph,
  graphsOf,
  mergedGraph,
  removedGraph,
  replacedGraph,
  shortened,
  usedGraph,
} from "../src/views/explore/graphs";
import { addressRefusal } from "../src/views/explore/plot-selection";

const query = (plotted: string): GraphSelection => ({ ...EMPTY_GRAPH, plotted });
const chosen = (...traces: number[]): GraphSelection => ({ ...EMPTY_GRAPH, traces });

/** The graphs a, b and c, of which b is the current one. */
const three: ExploreRoute = { ...exploreRoute, ...query("b"), others: [query("a"), query("c")], above: 1 };

function plotOf(ids: readonly number[], selected = ids.length): Plot {
  return { ...EMPTY_PLOT, lines: ids.map((id) => ({ id, trace: { id } as Trace }) as PlottedLine), selected };
}

const queriesOf = (route: Parameters<typeof graphsOf>[0]) => graphsOf(route).map(({ plotted }) => plotted);

test("graphs stand in their order, whichever is the current one", () => {
  expect(queriesOf(three)).toEqual(["a", "b", "c"]);
  for (const index of [0, 1, 2]) {
    const used = usedGraph(three, index);
    expect(queriesOf(used)).toEqual(["a", "b", "c"]);
    expect(used.plotted).toBe(["a", "b", "c"][index]);
  }
});

test("a graph that is added stands at the bottom and is the current one", () => {
  const added = addedGraph(three, query("d"));
  expect(queriesOf(added)).toEqual(["a", "b", "c", "d"]);
  expect(added.plotted).toBe("d");
});

test("an empty graph does not stay behind when another one is used or added", () => {
  const added = addedGraph(three);
  expect(graphsOf(added)).toHaveLength(4);
  expect(queriesOf(usedGraph(added, 2))).toEqual(["a", "b", "c"]);
  expect(usedGraph(added, 2).plotted).toBe("c");
  expect(queriesOf(addedGraph(added, query("d")))).toEqual(["a", "b", "c", "d"]);
});

test.each([
  [0, ["b", "c"], "b"],
  [1, ["a", "c"], "c"],
  [2, ["a", "b"], "b"],
])("the graph %i is removed, and the others stay", (index, left, current) => {
  const removed = removedGraph(three, index);
  expect(queriesOf(removed)).toEqual(left);
  expect(removed.plotted).toBe(current);
});

test("the last graph at the bottom gives its place to the one above", () => {
  expect(removedGraph(usedGraph(three, 2), 2).plotted).toBe("b");
});

test("a graph that is not the current one plots something else", () => {
  const replaced = replacedGraph(three, 2, query("d"));
  expect(queriesOf(replaced)).toEqual(["a", "b", "d"]);
  expect(replaced.plotted).toBe("b");
});

test("graphs with an id of a shortcut plot what it stands for", () => {
  expect(graphsOf(shortened(three, ["x", "", "y"])).map(({ keys, plotted }) => [keys, plotted])).toEqual([
    ["x", undefined],
    ["", "b"],
    ["y", undefined],
  ]);
});

test("a graph keeps its own scale under a short address, and has that of the page once it is alone", () => {
  const scaled = replacedGraph(three, 2, { ownScale: "log" });
  const short = graphsOf(shortened(scaled, ["x", "y", "z"]));
  expect(short.map(({ ownScale }) => ownScale)).toEqual([undefined, undefined, "log"]);
  expect(removedGraph(removedGraph(scaled, 0), 0)).toMatchObject({ plotted: "c", ownScale: undefined });
});

test("hidden lines stay hidden under a short address", () => {
  const hiding = replacedGraph(three, 0, { hidden: ["7", "ave(a)"] });
  expect(graphsOf(shortened(hiding, ["x", "y", "z"])).map(({ hidden }) => hidden)).toEqual([["7", "ave(a)"], [], []]);
});

test("a query moves as it is to a graph of formulas", () => {
  const into = { selection: { ...EMPTY_GRAPH, formulas: ["f", "g"] }, plot: plotOf([]) };
  const from = { selection: { ...query("a"), formulas: ["g", "h"] }, plot: plotOf([1, 2]) };
  expect(mergedGraph(into, from)).toMatchObject({ plotted: "a", traces: [], formulas: ["f", "g", "h"] });
});

test("of a query and chosen traces in one graph the traces of both are left, each once", () => {
  const into = { selection: query("a"), plot: plotOf([1, 2]) };
  const from = { selection: chosen(2, 3), plot: plotOf([2, 3]) };
  expect(mergedGraph(into, from)).toMatchObject({ plotted: undefined, traces: [1, 2, 3] });
});

test("a query of which its plot leaves traces out is not moved to other traces", () => {
  const into = { selection: query("a"), plot: plotOf([1, 2], 2314) };
  expect(mergedGraph(into, { selection: chosen(3), plot: plotOf([3]) })).toMatchObject({
    refusal: expect.stringContaining("2,314 traces") as string,
  });
});

test("graphs of more traces than one plots are not joined", () => {
  const ids = (first: number): number[] => Array.from({ length: 600 }, (_, index) => first + index);
  const graphOf = (traces: number[]) => ({ selection: chosen(...traces), plot: plotOf(traces) });
  expect(mergedGraph(graphOf(ids(0)), graphOf(ids(600)))).toMatchObject({
    refusal: expect.stringContaining("1,200 traces") as string,
  });
});

test("graphs whose chosen traces an address has no room for are refused before anything is lost", () => {
  const ids = Array.from({ length: 400 }, (_, index) => 1_000_000 + index);
  const route = { ...exploreRoute, ...chosen(...ids), others: [chosen(...ids)] };
  expect(addressRefusal(route)).toContain("no room for the chosen traces of all graphs");
  expect(addressRefusal(three)).toBe("");
});
