/** The route of the comparison of two commits, or of a results file with a commit or with another file. */

import { formatUrl, parseLimited, parseList, type RouteFormat } from "./url";

export interface CompareRoute {
  view: "compare";
  repository: string;
  /** A hash, a number, a day or `newest`; "" before one is chosen. */
  base: string;
  head: string;
  /** Further new revisions, each compared with the base. */
  more: readonly string[];
  /** The line of the base; "" for the default one. */
  line: string;
  /** The line of the head; "" for that of the base. */
  headLine: string;
  query: string;
  /** What of the samples of a run is compared, as `p99`; "" for the median. */
  summary: string;
  /** How many of its newest values stand for the head. */
  values: number;
  /** Whether traces are listed that did not change. */
  all: boolean;
  /** The name of the results file that is the new side; "" where that is a commit. The page holds the file itself. */
  file: string;
  /** The name of the results file that is the base; "" where that is a commit. */
  baseFile: string;
  /** Whether the file lacks benchmarks on purpose. */
  partial: boolean;
  /** Whether the rows are one list, the worst first, instead of one for each suite. */
  flat: boolean;
  /** Only rows with this verdict; "" for all that are listed. */
  verdict: string;
  /** Only rows whose trace has these words. */
  match: string;
  /** The column that the rows are sorted by, with a minus the largest first; "" for the worst first. */
  sort: string;
  /** What is shown of the flame graph, as that writes it; "" for the whole. */
  flame: string;
}

const VALUES = 3;
const MOST_VALUES = 5;

export const compareRoute: CompareRoute = {
  view: "compare",
  repository: "",
  base: "",
  head: "newest",
  more: [],
  line: "",
  headLine: "",
  query: "",
  summary: "",
  values: VALUES,
  all: false,
  file: "",
  baseFile: "",
  partial: false,
  flat: false,
  verdict: "",
  match: "",
  sort: "",
  flame: "",
};

/** More new revisions than these are no longer told apart in one table. */
export const MOST_REVISIONS = 4;

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
      summary: get("summary"),
      values: parseLimited(searchParams.get("values"), VALUES, MOST_VALUES),
      all: searchParams.has("all"),
      file: get("file"),
      baseFile: get("base_file"),
      partial: searchParams.has("partial"),
      flat: searchParams.has("flat"),
      more: parseList(searchParams.get("more")).slice(0, MOST_REVISIONS - 1),
      verdict: get("verdict"),
      match: get("match"),
      sort: get("sort"),
      flame: get("flame"),
    };
  },
  format: (route) =>
    formatUrl("/compare", [
      ["repository", route.repository],
      ["base", route.base],
      ["head", route.head === compareRoute.head ? "" : route.head],
      ["more", route.more.map(encodeURIComponent).join(",")],
      ["line", route.line],
      ["head_line", route.headLine],
      ["query", route.query],
      ["summary", route.summary],
      ["values", route.values === VALUES ? undefined : route.values],
      ["all", route.all ? 1 : undefined],
      ["base_file", route.baseFile],
      ["file", route.file],
      ["partial", route.partial ? 1 : undefined],
      ["flat", route.flat ? 1 : undefined],
      ["verdict", route.verdict],
      ["match", route.match],
      ["sort", route.sort],
      ["flame", route.flame],
    ]),
};
