/** Every view and its state as an address: read one, write one, go there. */

/** What nobody has dealt with, what somebody has, and what later data no longer show. */
export type Tab = "unprocessed" | "processed" | "history" | "gone";

export interface TriageAddress {
  view: "triage";
  tab: Tab;
  repository: string;
  filter: string;
  direction: string;
  /** Only this triage state; all of them for "". */
  status: string;
  /** Changes of at least so many percent. */
  least: number;
  sort: string;
  page: number;
  /** Commits on a page. */
  size: number;
  /** Ids of the groups that are opened. */
  open: readonly string[];
  /** The row that the keyboard is on. */
  at: string;
}

export interface TraceAddress {
  view: "trace";
  id: number;
  line: string;
  first: number | undefined;
  last: number | undefined;
  scale: Scale;
  /** Position of the commit that is pinned. */
  commit: number | undefined;
  /** Whether the changes that later data no longer show are shown. */
  gone: boolean;
  /** Whether it is told why. */
  why: boolean;
}

export interface ExploreAddress {
  view: "explore";
  repository: string;
  query: string;
  traces: readonly number[];
  formulas: readonly string[];
  /** A short id that stands for traces and formulas; it is used instead of them. */
  keys: string;
  /** How many traces are listed. */
  listed: number;
  first: number | undefined;
  last: number | undefined;
  scale: Scale;
}

export interface UnknownAddress {
  view: "unknown";
  path: string;
}

export type Address = TriageAddress | TraceAddress | ExploreAddress | UnknownAddress;
export type Scale = "auto" | "zero" | "log" | "ratio";

const TABS: readonly Tab[] = ["unprocessed", "processed", "history", "gone"];
const SCALES: readonly Scale[] = ["auto", "zero", "log", "ratio"];
export const DEFAULT_SORT = "-change";
const PAGE_SIZE = 50;
const LARGEST_PAGE = 500;
const LISTED = 100;
const MOST_LISTED = 1000;

export const triage: TriageAddress = {
  view: "triage",
  tab: "unprocessed",
  repository: "",
  filter: "",
  direction: "",
  status: "",
  least: 0,
  sort: DEFAULT_SORT,
  page: 1,
  size: PAGE_SIZE,
  open: [],
  at: "",
};

/** The whole line of a trace, with nothing pinned. */
export function traceAt(id: number, more: Partial<Omit<TraceAddress, "view" | "id">> = {}): TraceAddress {
  return {
    view: "trace",
    id,
    line: "",
    first: undefined,
    last: undefined,
    scale: "auto",
    commit: undefined,
    gone: false,
    why: false,
    ...more,
  };
}

export const explore: ExploreAddress = {
  view: "explore",
  repository: "",
  query: "",
  traces: [],
  formulas: [],
  keys: "",
  listed: LISTED,
  first: undefined,
  last: undefined,
  scale: "auto",
};

function whole(text: string | null): number | undefined {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

function between(number: number | undefined, standard: number, most: number): number {
  return number === undefined || number < 1 ? standard : Math.min(number, most);
}

function list(text: string | null): string[] {
  return text ? text.split(",").map(decodeURIComponent) : [];
}

function scaleOf(text: string | null): Scale {
  return SCALES.find((scale) => scale === text) ?? "auto";
}

/** Read the address of a page. */
export function readAddress(url: URL): Address {
  const get = (name: string): string => url.searchParams.get(name) ?? "";
  const window = { first: whole(url.searchParams.get("first")), last: whole(url.searchParams.get("last")) };
  const scale = scaleOf(url.searchParams.get("y"));
  const trace = /^\/trace\/(\d{1,15})\/?$/.exec(url.pathname);
  if (trace) {
    return {
      view: "trace",
      id: Number(trace[1]),
      line: get("line"),
      ...window,
      scale,
      commit: whole(get("commit")),
      gone: get("gone") === "1",
      why: get("why") === "1",
    };
  }
  if (/^\/explore\/?$/.test(url.pathname)) {
    const traces = list(get("traces")).flatMap((text) => whole(text) ?? []);
    const listed = between(whole(get("list")), LISTED, MOST_LISTED);
    return {
      view: "explore",
      repository: get("repository"),
      query: get("q"),
      traces,
      formulas: url.searchParams.getAll("f"),
      keys: get("keys"),
      listed,
      ...window,
      scale,
    };
  }
  if (/^\/(triage\/?)?$/.test(url.pathname)) {
    return {
      view: "triage",
      tab: TABS.find((tab) => tab === get("tab")) ?? "unprocessed",
      repository: get("repository"),
      filter: get("q"),
      direction: get("direction"),
      status: get("status"),
      least: whole(get("least")) ?? 0,
      sort: get("sort") || DEFAULT_SORT,
      page: whole(get("page")) ?? 1,
      size: between(whole(get("size")), PAGE_SIZE, LARGEST_PAGE),
      open: list(get("open")),
      at: get("at"),
    };
  }
  return { view: "unknown", path: url.pathname };
}

/** Write an address; what is at its default is left out. */
export function writeAddress(address: Address): string {
  switch (address.view) {
    case "triage":
      return join("/triage", [
        ["tab", address.tab === "unprocessed" ? "" : address.tab],
        ["repository", address.repository],
        ["q", address.filter],
        ["direction", address.direction],
        ["status", address.status],
        ["least", address.least > 0 ? address.least : ""],
        ["sort", address.sort === DEFAULT_SORT ? "" : address.sort],
        ["page", address.page > 1 ? address.page : ""],
        ["size", address.size === PAGE_SIZE ? "" : address.size],
        ["open", address.open.map(encodeURIComponent).join(",")],
        ["at", address.at],
      ]);
    case "trace":
      return join(`/trace/${address.id}`, [
        ["line", address.line],
        ["first", address.first],
        ["last", address.last],
        ["y", address.scale === "auto" ? "" : address.scale],
        ["commit", address.commit],
        ["gone", address.gone ? 1 : ""],
        ["why", address.why ? 1 : ""],
      ]);
    case "explore":
      return join("/explore", [
        ["repository", address.repository],
        ["q", address.query],
        ["traces", address.traces.join(",")],
        ...address.formulas.map((formula) => ["f", formula] as const),
        ["keys", address.keys],
        ["list", address.listed === LISTED ? "" : address.listed],
        ["first", address.first],
        ["last", address.last],
        ["y", address.scale === "auto" ? "" : address.scale],
      ]);
    case "unknown":
      return address.path;
  }
}

function join(path: string, pairs: readonly (readonly [string, string | number | undefined])[]): string {
  const search = new URLSearchParams();
  for (const [name, value] of pairs) if (value !== undefined && value !== "") search.append(name, String(value));
  const text = search.toString();
  return text ? `${path}?${text}` : path;
}

/** Show an address. `replace` keeps the back button from stopping at it. */
export function go(address: Address, how: "push" | "replace" = "push"): void {
  const url = writeAddress(address);
  if (url === location.pathname + location.search) return;
  if (how === "push") history.pushState(null, "", url);
  else history.replaceState(null, "", url);
  window.dispatchEvent(new Event("kp-address"));
}

/** Let plain clicks on links to our own pages change the view without a reload. */
export function followLink(event: MouseEvent): void {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey)
    return;
  const link = (event.target as Element | null)?.closest("a[href]");
  if (!(link instanceof HTMLAnchorElement) || link.target || link.hasAttribute("download")) return;
  const url = new URL(link.href);
  if (url.origin !== location.origin || url.pathname.startsWith("/api/")) return;
  event.preventDefault();
  go(readAddress(url));
  window.scrollTo(0, 0);
}
