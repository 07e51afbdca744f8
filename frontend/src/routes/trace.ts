/** The route of the page of one trace: which range of its line is shown, and which commit is pinned. */

import {
  formatUrl,
  parseAlong,
  parseRange,
  parseScale,
  parseWhole,
  type Along,
  type RouteFormat,
  type Scale,
} from "./url";

export interface TraceRoute {
  view: "trace";
  id: number;
  line: string;
  /** The first and the last position that the plot shows; undefined for the whole line. */
  first: number | undefined;
  last: number | undefined;
  scale: Scale;
  along: Along;
  /** What of the samples the plot shows: `median`, `p99`; "" for what the changes were found in. */
  summary: string;
  /** Position of the pinned commit. */
  commit: number | undefined;
  /** Whether the page also shows the changes that later data no longer show. */
  gone: boolean;
  /** Whether the explanation of the method is open. */
  why: boolean;
}

/** The whole line of a trace, with no pinned commit. */
export function traceRoute(id: number, state: Partial<Omit<TraceRoute, "view" | "id">> = {}): TraceRoute {
  return {
    view: "trace",
    id,
    line: "",
    first: undefined,
    last: undefined,
    scale: "auto",
    along: "commits",
    summary: "",
    commit: undefined,
    gone: false,
    why: false,
    ...state,
  };
}

export const traceFormat: RouteFormat<TraceRoute> = {
  title: "Trace",

  parse({ pathname, searchParams }) {
    const id = /^\/trace\/(\d{1,15})\/?$/.exec(pathname)?.[1];
    if (id === undefined) return undefined;
    return {
      view: "trace",
      id: Number(id),
      line: searchParams.get("line") ?? "",
      ...parseRange(searchParams),
      scale: parseScale(searchParams.get("y")) ?? "auto",
      along: parseAlong(searchParams.get("x")),
      summary: searchParams.get("of") ?? "",
      commit: parseWhole(searchParams.get("commit")),
      gone: searchParams.get("gone") === "1",
      why: searchParams.get("why") === "1",
    };
  },

  format(route) {
    return formatUrl(`/trace/${route.id}`, [
      ["line", route.line],
      ["first", route.first],
      ["last", route.last],
      ["y", route.scale === "auto" ? "" : route.scale],
      ["x", route.along === "commits" ? "" : route.along],
      ["of", route.summary],
      ["commit", route.commit],
      ["gone", route.gone ? 1 : ""],
      ["why", route.why ? 1 : ""],
    ]);
  },
};
