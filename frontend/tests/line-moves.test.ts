// @vitest-environment happy-dom
import { expect, test, vi } from "vitest";
import type { Trace } from "../src/api/client";
import { EMPTY_GRAPH, exploreRoute, type ExploreRoute, type GraphSelection } from "../src/routes/explore";
import { EMPTY_PLOT, MAX_TRACES, type PlottedLine } from "../src/state/plot/plot-loader";
import type { Graph } from "../src/views/explore/graph";
import { GraphEdits } from "../src/views/explore/graph-edits";
import { graphsOf } from "../src/views/explore/graphs";

const line = (id: number): PlottedLine => ({ id, trace: { id } as Trace, formula: "" }) as PlottedLine;
const result = (formula: string): PlottedLine => ({ id: -1, trace: undefined, formula }) as unknown as PlottedLine;

function graphOf(chosen: Partial<GraphSelection>, lines: PlottedLine[], selected = lines.length): Graph {
  const selection = { ...EMPTY_GRAPH, ...chosen };
  const plottedIds = new Set(lines.map(({ id }) => id));
  return { chosen: selection, selection, plot: { ...EMPTY_PLOT, lines, selected }, plottedIds } as unknown as Graph;
}

/** A page with some graphs, of which the first is the current one, and where its route leads. */
function pageOf(...graphs: Graph[]) {
  const [current, ...others] = graphs.map(({ chosen }) => chosen);
  const page = {
    route: { ...exploreRoute, ...current, others } as ExploreRoute,
    graphs,
    graph: graphs[0] ?? graphOf({}, []),
    query: "",
    updateRoute: (part: Partial<ExploreRoute>): void => void (page.route = { ...page.route, ...part }),
    requestUpdate: vi.fn(),
  };
  return { page, edits: new GraphEdits(page) };
}

const drawn = (route: ExploreRoute) =>
  graphsOf(route).map(({ traces, plotted, formulas }) => [plotted ?? traces, ...formulas]);

test("a line of a query moves to another graph: the query becomes the ids of the others", () => {
  const [from, into] = [graphOf({ plotted: "a" }, [line(1), line(2)]), graphOf({ traces: [3] }, [line(3)])];
  const { page, edits } = pageOf(from, into);
  edits.moveLine(line(1), from, into);
  expect(drawn(page.route)).toEqual([[[2]], [[3, 1]]]);
});

test("a line that the other graph has already only leaves its own, which goes with its last line", () => {
  const [from, into] = [graphOf({ traces: [1] }, [line(1)]), graphOf({ plotted: "b" }, [line(1), line(2)])];
  const { page, edits } = pageOf(from, into);
  edits.moveLine(line(1), from, into);
  expect(drawn(page.route)).toEqual([["b"]]);
});

test("a line moves to a new graph at the bottom", () => {
  const from = graphOf({ traces: [1, 2] }, [line(1), line(2)]);
  const { page, edits } = pageOf(from);
  edits.moveLine(line(2), from);
  expect(drawn(page.route)).toEqual([[[1]], [[2]]]);
});

test("a formula moves with all its lines", () => {
  const from = graphOf({ traces: [1], formulas: ["f", "g"] }, [line(1), result("f"), result("g")]);
  const into = graphOf({ plotted: "b" }, [line(2)]);
  const { page, edits } = pageOf(from, into);
  edits.moveLine(result("f"), from, into);
  expect(drawn(page.route)).toEqual([
    [[1], "g"],
    ["b", "f"],
  ]);
});

test("a line of a query that is not drawn whole stays where it is", () => {
  const from = graphOf({ plotted: "a" }, [line(1)], MAX_TRACES + 1);
  const into = graphOf({ traces: [3] }, [line(3)]);
  const { page, edits } = pageOf(from, into);
  const before = page.route;
  edits.moveLine(line(1), from, into);
  expect(page.route).toBe(before);
});

test("a line is hidden and shown again, and moves as one that is shown", () => {
  const from = graphOf({ plotted: "a" }, [line(1), line(2)]);
  const { page, edits } = pageOf(from);
  edits.toggleHidden(line(1), from);
  expect(page.route).toMatchObject({ plotted: "a", hidden: ["1"] });
  from.chosen = { ...from.chosen, hidden: ["1"] };
  edits.moveLine(line(1), from);
  expect(graphsOf(page.route).map(({ hidden }) => hidden)).toEqual([[], []]);
  edits.toggleHidden(line(1), from);
  expect(page.route.hidden).toEqual([]);
});
