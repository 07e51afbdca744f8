/** The route of the clusters that a person makes of traces. */

import { formatUrl, parseLimited, parseRange, type RouteFormat } from "./url";

export interface ClustersRoute {
  view: "clusters";
  repository: string;
  query: string;
  /** Positions on the line, both inclusive; undefined for its ends. */
  first: number | undefined;
  last: number | undefined;
  /** How many of these commits count, the newest measured ones. */
  commits: number;
  /** How many clusters to look for, 0 to choose by the number of traces; undefined before the form is sent. */
  k: number | undefined;
  /** Smallest step / error that counts; "" for the default. */
  interesting: string;
  skia: boolean;
}

const COMMITS = 250;
const MOST_COMMITS = 5000;

export const clustersRoute: ClustersRoute = {
  view: "clusters",
  repository: "",
  query: "",
  first: undefined,
  last: undefined,
  commits: COMMITS,
  k: undefined,
  interesting: "",
  skia: false,
};

export const clustersFormat: RouteFormat<ClustersRoute> = {
  title: "Clusters",
  parse({ pathname, searchParams }) {
    if (pathname !== "/clusters") return undefined;
    const get = (name: string): string => searchParams.get(name) ?? "";
    const k = /^\d{1,4}$/.test(get("k")) ? Math.min(Number(get("k")), 1000) : undefined;
    return {
      view: "clusters",
      repository: get("repository"),
      query: get("query"),
      ...parseRange(searchParams),
      commits: parseLimited(searchParams.get("commits"), COMMITS, MOST_COMMITS),
      k,
      interesting: /^\d+(\.\d+)?$/.test(get("interesting")) ? get("interesting") : "",
      skia: searchParams.has("skia"),
    };
  },
  format: ({ repository, query, first, last, commits, k, interesting, skia }) =>
    formatUrl("/clusters", [
      ["repository", repository],
      ["query", query],
      ["first", first],
      ["last", last],
      ["commits", commits === COMMITS ? undefined : commits],
      ["k", k],
      ["interesting", interesting],
      ["skia", skia ? 1 : undefined],
    ]),
};
