/** The route of the comparison of two commits. */

import { formatUrl, parseLimited, type RouteFormat } from "./url";

export interface CompareRoute {
  view: "compare";
  repository: string;
  /** A hash, a number, a day or `newest`; "" before one is chosen. */
  base: string;
  head: string;
  /** The line of the base; "" for the default one. */
  line: string;
  /** The line of the head; "" for that of the base. */
  headLine: string;
  query: string;
  /** How many of its newest values stand for the head. */
  values: number;
  /** Whether traces are listed that did not change. */
  all: boolean;
}

const VALUES = 3;
const MOST_VALUES = 5;

export const compareRoute: CompareRoute = {
  view: "compare",
  repository: "",
  base: "",
  head: "newest",
  line: "",
  headLine: "",
  query: "",
  values: VALUES,
  all: false,
};

export const compareFormat: RouteFormat<CompareRoute> = {
  title: "Compare",
  parse({ pathname, searchParams }) {
    if (pathname !== "/compare") return undefined;
    const get = (name: string): string => searchParams.get(name) ?? "";
    return {
      view: "compare",
      repository: get("repository"),
      base: get("base"),
      head: get("head") || compareRoute.head,
      line: get("line"),
      headLine: get("head_line"),
      query: get("query"),
      values: parseLimited(searchParams.get("values"), VALUES, MOST_VALUES),
      all: searchParams.has("all"),
    };
  },
  format: ({ repository, base, head, line, headLine, query, values, all }) =>
    formatUrl("/compare", [
      ["repository", repository],
      ["base", base],
      ["head", head === compareRoute.head ? "" : head],
      ["line", line],
      ["head_line", headLine],
      ["query", query],
      ["values", values === VALUES ? undefined : values],
      ["all", all ? 1 : undefined],
    ]),
};
