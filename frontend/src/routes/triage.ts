/** The route of the triage page: which list, in which order, and where the keyboard is. */

import { formatUrl, parseLimited, parseList, parseWhole, type RouteFormat } from "./url";

/**
 * The lists: findings to triage, decided ones, those before the history boundary, all of these, and those that later data
 * no longer show.
 */
export type Tab = "unprocessed" | "processed" | "history" | "all" | "gone";

export interface TriageRoute {
  view: "triage";
  tab: Tab;
  repository: string;
  filter: string;
  direction: string;
  /** Only findings of this status; all of them for "". */
  status: string;
  /** Only findings of alerts of this kind; work for "". */
  alertKind: string;
  /** The smallest change that is listed, in percent. */
  minimumPercent: number;
  sort: string;
  page: number;
  /** Changes on a page. */
  size: number;
  /** Row ids of the changes that are expanded. */
  open: readonly string[];
  /** Id of the row that the keyboard is on. */
  at: string;
}

const TABS: readonly Tab[] = ["unprocessed", "processed", "history", "all", "gone"];
const DEFAULT_SORT = "-change";
const PAGE_SIZE = 50;
const MAX_PAGE_SIZE = 500;

/** The unprocessed findings of all repositories, the worst first. */
export const triageRoute: TriageRoute = {
  view: "triage",
  tab: "unprocessed",
  repository: "",
  filter: "",
  direction: "",
  status: "",
  alertKind: "",
  minimumPercent: 0,
  sort: DEFAULT_SORT,
  page: 1,
  size: PAGE_SIZE,
  open: [],
  at: "",
};

/** Everything that an alert found, the newest first. */
export function alertChangesRoute(alert: string): TriageRoute {
  return { ...triageRoute, tab: "all", filter: `alert:"${alert.replaceAll(/["\\]/g, "\\$&")}"`, sort: "-date" };
}

export const triageFormat: RouteFormat<TriageRoute> = {
  title: "Triage",

  parse({ pathname, searchParams }) {
    if (!/^\/(triage\/?)?$/.test(pathname)) return undefined;
    const get = (name: string): string => searchParams.get(name) ?? "";
    return {
      view: "triage",
      tab: TABS.find((tab) => tab === get("tab")) ?? "unprocessed",
      repository: get("repository"),
      filter: get("q"),
      direction: get("direction"),
      status: get("status"),
      alertKind: get("alerts"),
      minimumPercent: parseWhole(get("least")) ?? 0,
      sort: get("sort") || DEFAULT_SORT,
      page: parseWhole(get("page")) ?? 1,
      size: parseLimited(get("size"), PAGE_SIZE, MAX_PAGE_SIZE),
      open: parseList(get("open")),
      at: get("at"),
    };
  },

  format(route) {
    return formatUrl("/triage", [
      ["tab", route.tab === "unprocessed" ? "" : route.tab],
      ["repository", route.repository],
      ["q", route.filter],
      ["direction", route.direction],
      ["status", route.status],
      ["alerts", route.alertKind],
      ["least", route.minimumPercent > 0 ? route.minimumPercent : ""],
      ["sort", route.sort === DEFAULT_SORT ? "" : route.sort],
      ["page", route.page > 1 ? route.page : ""],
      ["size", route.size === PAGE_SIZE ? "" : route.size],
      ["open", route.open.map(encodeURIComponent).join(",")],
      ["at", route.at],
    ]);
  },
};
