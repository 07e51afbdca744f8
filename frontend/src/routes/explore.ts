/** The route of the explore page: a query, and the graphs with the traces and formulas that they plot. */

import {
  formatUrl,
  parseAlong,
  parseLimited,
  parseList,
  parseRange,
  parseScale,
  parseWhole,
  type Along,
  type RouteFormat,
  type Scale,
  SMOOTHINGS,
} from "./url";

/** What one graph plots. */
export interface GraphSelection {
  /** Ids of the plotted traces. */
  traces: readonly number[];
  formulas: readonly string[];
  /** The query whose traces are plotted, "" for all traces; undefined where `traces` names them. */
  plotted: string | undefined;
  /** The id of a shortcut; it stands for `traces` and `formulas`, which are empty then. */
  keys: string;
  /** The scale of this graph alone; undefined for that of the page. */
  ownScale: Scale | undefined;
  /** The lines that are not drawn: ids of traces, and formulas, which stand for all their lines. */
  hidden: readonly string[];
}

/** The selection of the route is that of the current graph, which traces and formulas are added to. */
export interface ExploreRoute extends GraphSelection {
  view: "explore";
  repository: string;
  query: string;
  /** The graphs beside the current one, from top to bottom. */
  others: readonly GraphSelection[];
  /** How many of them stand above the current one. */
  above: number;
  /** How many traces are listed. */
  listed: number;
  first: number | undefined;
  last: number | undefined;
  scale: Scale;
  along: Along;
  /** How many neighbouring values each drawn one is the median of; 1 for the values themselves. */
  smooth: number;
  /** Whether each line has a small plot of its own. */
  multiples: boolean;
  /** The position of the commit whose values are 100 % on a relative scale; undefined for the first value of each line. */
  base: number | undefined;
  /** The params of the rows and columns of the table; "" for none. */
  rows: string;
  columns: string;
}

/** How the address of the page writes the query "". */
const ALL_TRACES = "*";
const LISTED = 100;
/** The list renders all its rows, so it ends here; a narrower query finds the others. */
export const MAX_LISTED = 1000;

export const EMPTY_GRAPH: GraphSelection = {
  traces: [],
  formulas: [],
  plotted: undefined,
  keys: "",
  ownScale: undefined,
  hidden: [],
};

/** All traces, and nothing plotted. */
export const exploreRoute: ExploreRoute = {
  view: "explore",
  repository: "",
  query: "",
  ...EMPTY_GRAPH,
  others: [],
  above: 0,
  listed: LISTED,
  first: undefined,
  last: undefined,
  scale: "auto",
  along: "commits",
  smooth: 1,
  multiples: false,
  base: undefined,
  rows: "",
  columns: "",
};

function parsePlotted(text: string | null): string | undefined {
  return text === ALL_TRACES ? "" : text === "" ? undefined : (text ?? undefined);
}

function parseGraph(search: URLSearchParams): GraphSelection {
  return {
    traces: parseList(search.get("traces")).flatMap((text) => parseWhole(text) ?? []),
    formulas: search.getAll("f"),
    plotted: parsePlotted(search.get("plot")),
    keys: search.get("keys") ?? "",
    ownScale: parseScale(search.get("scale")),
    hidden: search.getAll("hide"),
  };
}

function graphPairs({ traces, formulas, plotted, keys, ownScale, hidden }: GraphSelection) {
  return [
    ["traces", traces.join(",")],
    ...formulas.map((formula) => ["f", formula] as const),
    ["plot", plotted === "" ? ALL_TRACES : plotted],
    ["keys", keys],
    ["scale", ownScale],
    ...hidden.map((line) => ["hide", line] as const),
  ] as const;
}

/** A graph beside the current one is a query string of its own inside the address. */
function formatGraph(graph: GraphSelection): string {
  return formatUrl("", graphPairs(graph)).slice(1);
}

export const exploreFormat: RouteFormat<ExploreRoute> = {
  title: "Explore",

  parse({ pathname, searchParams }) {
    if (!/^\/explore\/?$/.test(pathname)) return undefined;
    const others = searchParams.getAll("graph").map((text) => parseGraph(new URLSearchParams(text)));
    return {
      view: "explore",
      repository: searchParams.get("repository") ?? "",
      query: searchParams.get("query") ?? searchParams.get("q") ?? "", // links of before have `q`
      ...parseGraph(searchParams),
      others,
      above: Math.min(parseWhole(searchParams.get("above")) ?? 0, others.length),
      listed: parseLimited(searchParams.get("list"), LISTED, MAX_LISTED),
      ...parseRange(searchParams),
      scale: parseScale(searchParams.get("y")) ?? "auto",
      along: parseAlong(searchParams.get("x")),
      smooth: SMOOTHINGS.find((count) => count === parseWhole(searchParams.get("smooth"))) ?? 1,
      multiples: searchParams.get("multiples") !== null,
      base: parseWhole(searchParams.get("base")),
      rows: searchParams.get("rows") ?? "",
      columns: searchParams.get("columns") ?? "",
    };
  },

  format(route) {
    return formatUrl("/explore", [
      ["repository", route.repository],
      ["query", route.query],
      ...graphPairs(route),
      ...route.others.map((graph) => ["graph", formatGraph(graph)] as const),
      ["above", route.above || ""],
      ["list", route.listed === LISTED ? "" : route.listed],
      ["first", route.first],
      ["last", route.last],
      ["y", route.scale === "auto" ? "" : route.scale],
      ["x", route.along === "commits" ? "" : route.along],
      ["smooth", route.smooth === 1 ? "" : route.smooth],
      ["multiples", route.multiples ? 1 : ""],
      ["base", route.base],
      ["rows", route.rows],
      ["columns", route.columns],
    ]);
  },
};
