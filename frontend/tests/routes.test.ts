import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { auditRoute } from "../src/routes/audit";
import { EMPTY_GRAPH, exploreRoute } from "../src/routes/explore";
import { overviewRoute } from "../src/routes/overview";
import { clustersRoute } from "../src/routes/clusters";
import { compareRoute } from "../src/routes/compare";
import { parseRoute, routeUrl, type Route } from "../src/routes/routes";
import { settingsRoute } from "../src/routes/settings";
import { tokensRoute } from "../src/routes/tokens";
import { traceRoute } from "../src/routes/trace";
import { triageRoute } from "../src/routes/triage";

const parse = (url: string): Route => parseRoute(new URL(url, "http://here"));

const ROUTES: readonly Route[] = [
  triageRoute,
  {
    ...triageRoute,
    tab: "processed",
    repository: "owner/project",
    filter: "a&b = c",
    direction: "regression",
    status: "hidden",
    alertKind: "informational",
    minimumPercent: 5,
    sort: "date",
    page: 3,
    size: 200,
    open: ["R1", "R2"],
    at: "17",
  },
  { ...triageRoute, tab: "history" },
  { ...triageRoute, tab: "gone" },
  traceRoute(12, {
    line: "feature/x",
    first: 3,
    last: 40,
    scale: "log",
    along: "dates",
    commit: 0,
    gone: true,
    why: true,
  }),
  traceRoute(1),
  {
    ...exploreRoute,
    repository: "r",
    query: 'os="a b"|c',
    traces: [1, 2],
    listed: 300,
    first: 0,
    last: 9,
    scale: "ratio",
    along: "dates",
    smooth: 15,
    multiples: true,
    base: 7,
    rows: "os",
    columns: "a b",
  },
  { ...exploreRoute, formulas: ['ave(filter("a=b"))', "2 * 3"] },
  { ...exploreRoute, keys: "abcdefghijkl" },
  { ...exploreRoute, plotted: "os=linux" },
  { ...exploreRoute, plotted: "" },
  {
    ...exploreRoute,
    plotted: "os=linux",
    others: [
      {
        ...EMPTY_GRAPH,
        traces: [1, 2],
        formulas: ['ave(filter("a=b&c"))', "2 + 3"],
        ownScale: "ratio",
        hidden: ["2", "2 + 3"],
      },
      { ...EMPTY_GRAPH, plotted: "" },
      { ...EMPTY_GRAPH, keys: "abcdefghijkl" },
    ],
    above: 2,
    scale: "zero",
    ownScale: "log",
    hidden: ["7"],
  },
  { view: "change", id: "R12", flame: "" },
  overviewRoute,
  { ...overviewRoute, repository: "r", days: 7, query: "os=linux", by: "suite", commits: 100 },
  { view: "benchmark", repository: "r", param: "test", name: "a/b c" },
  { view: "alerts", name: "a/b c", edit: true },
  { view: "status", repository: "owner/project" },
  { view: "commit", hash: "0f2929b9", repository: "owner/project" },
  { view: "commit", hash: "a b/c?d", repository: "" },
  tokensRoute,
  settingsRoute,
  compareRoute,
  {
    view: "compare",
    repository: "owner/project",
    base: "2026-03-14",
    head: "0f2929b9",
    line: "main",
    headLine: "a branch",
    query: "benchmark=parse",
    summary: "p99",
    values: 5,
    all: true,
    file: "a b&c.json",
    baseFile: "old ä.json",
    partial: true,
    flat: true,
    more: ["v1.5", "a branch, with a comma"],
    verdict: "unstable",
    match: "parse",
    sort: "-change0",
    flame: "view=after&benchmark=a b",
  },
  clustersRoute,
  {
    view: "clusters",
    repository: "owner/project",
    query: "arch=arm",
    first: 0,
    last: 99,
    commits: 100,
    k: 0,
    interesting: "2.5",
    skia: true,
  },
  auditRoute,
  { ...auditRoute, kind: "token-created", who: "ada@example.org", before: 40 },
  { view: "unknown", path: "/nowhere" },
];

test.each(ROUTES.map((route) => [routeUrl(route), route] as const))(
  "%s parses to the route that it was made from",
  (url, route) => {
    expect(parse(url)).toEqual(route);
  },
);

test.each(["/explore", "/"])("links to %s that call their query `q` still work", (path) => {
  expect(routeUrl(parse(`${path}?q=os%3Dlinux`))).toBe(`${path}?query=os%3Dlinux`);
});

test.each(["/change/12", "/change/R012/", "/change/R12"])("%s is the page of R12", (path) => {
  expect(parse(path)).toEqual({ view: "change", id: "R12", flame: "" });
});

test("what is not the id of a change has no page", () => {
  expect(parse("/change/P12").view).toBe("unknown");
});

test("defaults are not in the URL", () => {
  expect(routeUrl(triageRoute)).toBe("/triage");
  expect(routeUrl(exploreRoute)).toBe("/explore");
});

test("an unknown kind of audit entry falls back to all kinds", () => {
  expect(parse("/audit?kind=x&before=x")).toEqual(auditRoute);
});

test("the root is the overview, and triage with the parameters of old links", () => {
  expect(parse("/")).toEqual(overviewRoute);
  expect(parse("/?tab=processed&at=17")).toEqual({ ...triageRoute, tab: "processed", at: "17" });
});

test("invalid parameters falls back to the defaults", () => {
  expect(parse("/triage?page=-1&sort=&size=0&least=a")).toEqual(triageRoute);
  expect(parse("/triage?size=9000")).toEqual({ ...triageRoute, size: 500 });
  expect(parse("/trace/5?first=x&y=cubic&why=yes")).toEqual(traceRoute(5));
  expect(parse("/compare?values=9&head=")).toEqual({ ...compareRoute, values: 5 });
  expect(parse("/trace/abc")).toEqual({ view: "unknown", path: "/trace/abc" });
});

test("the server sends the dashboard for the path of every page", async () => {
  const source = await readFile(new URL("../../src/knickpoint/server/dashboard.py", import.meta.url), "utf8");
  const views = /^_VIEWS.*?\((.*?)\)$/ms.exec(source)?.[1] ?? "";
  const paths = [...views.matchAll(/"(.*?)"/g)].map(([, path = ""]) => path.replace(/\{.*?\}/, "1"));
  const served = new Set(paths.map((path) => parse(path).view));
  expect(served).toEqual(
    new Set([
      "overview",
      "triage",
      "explore",
      "trace",
      "change",
      "commit",
      "benchmark",
      "alerts",
      "status",
      "missing",
      "quality",
      "compare",
      "clusters",
      "settings",
      "tokens",
      "audit",
      "settings",
    ]),
  );
});
