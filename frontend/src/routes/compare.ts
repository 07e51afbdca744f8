/** The route of the comparison of two commits, or of a results file with a commit or with another file. */

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
  summary: "",
  values: VALUES,
  all: false,
  file: "",
  baseFile: "",
  partial: false,
  flat: false,
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
      summary: get("summary"),
      values: parseLimited(searchParams.get("values"), VALUES, MOST_VALUES),
      all: searchParams.has("all"),
      file: get("file"),
      baseFile: get("base_file"),
      partial: searchParams.has("partial"),
      flat: searchParams.has("flat"),
    };
  },
  format: ({ repository, base, head, line, headLine, query, summary, values, all, file, baseFile, partial, flat }) =>
    formatUrl("/compare", [
      ["repository", repository],
      ["base", base],
      ["head", head === compareRoute.head ? "" : head],
      ["line", line],
      ["head_line", headLine],
      ["query", query],
      ["summary", summary],
      ["values", values === VALUES ? undefined : values],
      ["all", all ? 1 : undefined],
      ["base_file", baseFile],
      ["file", file],
      ["partial", partial ? 1 : undefined],
      ["flat", flat ? 1 : undefined],
    ]),
};
