/** The route of the page of a benchmark: all traces with one value of a param. */

import { formatUrl, type RouteFormat } from "./url";

export interface BenchmarkRoute {
  view: "benchmark";
  repository: string;
  /** The param that names benchmarks. */
  param: string;
  /** Its value. */
  name: string;
}

export const benchmarkRoute: BenchmarkRoute = { view: "benchmark", repository: "", param: "benchmark", name: "" };

export const benchmarkFormat: RouteFormat<BenchmarkRoute> = {
  title: "Benchmark",
  parse: ({ pathname, searchParams }) =>
    pathname === "/benchmark"
      ? {
          view: "benchmark",
          repository: searchParams.get("repository") ?? "",
          param: searchParams.get("param") ?? "benchmark",
          name: searchParams.get("name") ?? "",
        }
      : undefined,
  format: ({ repository, param, name }) =>
    formatUrl("/benchmark", [
      ["repository", repository],
      ["param", param === "benchmark" ? "" : param],
      ["name", name],
    ]),
};
