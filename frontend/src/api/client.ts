/** The client of the HTTP API: a function for each resource, one class of errors, decoded binary values. */

import { PUBLISHED } from "./published-data";
import {
  type Schemas,
  type Alert,
  type AlertSettings,
  type AlertEffect,
  type NewAlert,
  type AlertRecord,
  type ChangePage,
  type FlameGraphData,
  type AlertQuality,
  type AuditEntry,
  type AuditKind,
  type Bisection,
  type BisectionDetail,
  type Caller,
  type Clustering,
  type Comparison,
  type ChangePoints,
  type Commit,
  type CommitReport,
  type Commits,
  type Decision,
  type Environment,
  type Explanation,
  type Patterns,
  type Facets,
  type Formula,
  type Overview,
  type Settings,
  type SharedView,
  type Trends,
  type Release,
  type Missing,
  type Rename,
  type Health,
  type MissedChange,
  type MissedRequest,
  type ProposalDecision,
  type ProposalRequest,
  type ListFilter,
  type FindingPage,
  type Entries,
  type ChangeList,
  type Repository,
  type Run,
  type Shortcut,
  type Status,
  type InstanceStatus,
  type RetryRequest,
  type Suspects,
  type Breakdown,
  type Mark,
  type TicketMark,
  type Tracker,
  type Trace,
  type Traces,
  type Triage,
  type Notice,
  type NewToken,
  type Token,
  type TokenRequest,
  type NeverMeasured,
  type Schedule,
  type RemeasuredValue,
  type QuarantinedValue,
  type WithoutValue,
  type Version,
  ApiError,
} from "./objects";
import { reportRefusal } from "./access";
import { reportLostConnection } from "./connection";
import { decodeCompactSeries, decodeFoundSeries, decodeSeries, type FoundSeries, type Series } from "./series";

export * from "./objects";

type Parameters = Record<string, string | number | boolean | readonly number[] | null | undefined>;

function apiUrl(path: string, parameters: Parameters = {}): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value === undefined || value === null || value === "") continue;
    search.set(name, Array.isArray(value) ? value.join(",") : String(value));
  }
  const text = search.toString();
  return `/api/v1/${path}${text ? `?${text}` : ""}`;
}

/** The error that a response carries; a proxy may answer without one. */
async function errorOf(response: Response): Promise<ApiError> {
  try {
    const body = (await response.json()) as Partial<Schemas["ErrorAnswer"]>;
    return new ApiError(body.error ?? response.statusText, body.where, body.remedy, response.status);
  } catch {
    const message = `The server answered ${response.status} ${response.statusText}.`;
    return new ApiError(message, response.url ? new URL(response.url).pathname : "", "", response.status);
  }
}

/** The address of a picture of a trace near a commit, 420 pixels wide. */
export function plotUrl(trace: number, line: string, at: string, theme: "light" | "dark", height = 160): string {
  return apiUrl(`traces/${trace}/plot.svg`, { line, at, width: 420, height, theme });
}

/** The resource that says who asks; a refusal of any other one makes the page ask it again. */
const ME = apiUrl("me");
const TIMEOUT_MS = 60_000;
const NO_ANSWER_REMEDY = "The page tries again until the server answers. Is `knick serve` still running?";

async function request(url: string, options: RequestInit = {}): Promise<Response> {
  const timeout = AbortSignal.timeout(TIMEOUT_MS);
  const { signal } = options;
  if (PUBLISHED !== undefined) return (await import("./published")).answer(PUBLISHED, url, options.method ?? "GET");
  try {
    const response = await fetch(url, { ...options, signal: signal ? AbortSignal.any([signal, timeout]) : timeout });
    if (response.ok) return response;
    if (url !== ME) reportRefusal(response.status);
    throw await errorOf(response);
  } catch (cause) {
    if (signal?.aborted || cause instanceof ApiError) throw cause;
    reportLostConnection();
    throw new ApiError("The server does not answer.", url.split("?")[0], NO_ANSWER_REMEDY);
  }
}

async function get<T>(url: string, signal?: AbortSignal): Promise<T> {
  const response = await request(url, signal ? { signal } : {});
  return (await response.json()) as T;
}

/** Read an answer that comes in lines: how far the work is, which is passed on, and at the end the answer or an error. */
async function getInLines<T>(url: string, told: (progress: Progress) => void, signal?: AbortSignal): Promise<T> {
  const { body } = await request(url, signal ? { signal } : {});
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader();
  for (let text = ""; ;) {
    // A connection that is lost ends the text as well.
    const part = await reader?.read().catch(() => undefined);
    signal?.throwIfAborted();
    if (!part?.value) {
      reportLostConnection();
      throw new ApiError("The server does not answer.", url.split("?")[0], NO_ANSWER_REMEDY);
    }
    const lines = (text + part.value).split("\n");
    text = lines.pop() ?? "";
    for (const line of lines) {
      const { progress, answer, error, status } = JSON.parse(line) as Line<T>;
      if (answer) return answer;
      if (error) throw new ApiError(error.error, error.where, error.remedy, status);
      if (progress) told(progress);
    }
  }
}

async function send<T>(method: "POST" | "PUT", url: string, body: unknown): Promise<T> {
  const response = await request(url, {
    method,
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  return (await response.json()) as T;
}

const post = <T>(url: string, body: unknown): Promise<T> => send("POST", url, body);

async function remove<T>(url: string): Promise<T> {
  const response = await request(url, { method: "DELETE" });
  return (await response.json()) as T;
}

export interface AuditRequest {
  /** Only entries before the one with this id. */
  before: number | undefined;
  kind: AuditKind | undefined;
  who: string;
  limit: number;
}

export interface ChangesRequest extends ListFilter {
  sort: string;
  page: number;
  size: number;
  members: number;
}

/** Which sums: the newest commits of a line, the traces of a query, and the param that parts them. */
export interface TrendsRequest {
  repository: string;
  query: string;
  by: string;
  commits: number;
}

/** Two commits, the traces to compare, and the rows of the list. */
export interface ClusteringRequest {
  repository: string;
  query: string;
  first: number | undefined;
  last: number | undefined;
  commits: number;
  k: number;
  interesting: number | undefined;
  skia: boolean;
}

/** How far a clustering is: what it does, the start of k-means of all, and the iteration of this start. */
export interface Progress {
  stage: "reading" | "grouping" | "fitting";
  start: number;
  starts: number;
  iteration: number;
}

interface Line<T> {
  progress?: Progress;
  answer?: T;
  error?: Schemas["ErrorAnswer"];
  status?: number;
}

interface ComparedRows {
  repository: string;
  query: string;
  summary: string;
  base: string;
  line: string;
  changed: boolean;
  by_suite: boolean;
  first: number;
  limit: number;
}

export interface ComparisonRequest extends ComparedRows {
  head: string;
  head_line: string;
  values: number;
}

/** Two commits on their lines. */
export type ComparedCommits = Pick<ComparisonRequest, "repository" | "base" | "head" | "line" | "head_line">;

/** The commit that a results file is compared with, and whether the file lacks benchmarks on purpose. */
export interface FileComparisonRequest extends ComparedRows {
  partial: boolean;
}

/** The findings that a decision is about: single ones, and whole changes with exceptions. */
export type Targets = Required<Pick<Schemas["RegroupRequest"], "ids" | "changes" | "without" | "filter">>;

export interface DecisionRequest extends Targets {
  status?: Status;
  note?: string;
  ticket?: string;
  /** The tracker in which to make the ticket. */
  create?: string;
  assignee?: string;
}

/** The most traces that the server accepts in one request. */
const BATCH = 250;

/** Send a request for each batch of ids, at the same time, and join the answers in order. */
async function inBatches<T>(ids: readonly number[], load: (ids: readonly number[]) => Promise<T[]>): Promise<T[]> {
  const starts = Array.from({ length: Math.ceil(ids.length / BATCH) }, (_, index) => index * BATCH);
  return (await Promise.all(starts.map((start) => load(ids.slice(start, start + BATCH))))).flat();
}

/** The part of a line that values are read of, and how many points may represent it. */
export interface ValueWindow {
  line?: string;
  first?: number | undefined;
  last?: number | undefined;
  points?: number;
  /** What of the samples of each run, as `p99`; "" for the median. */
  summary?: string;
  /** Half the bytes, with about seven digits. */
  compact?: boolean;
}

export const api = {
  me: (signal?: AbortSignal) => get<Caller>(ME, signal),
  settings: () => get<Settings>(apiUrl("me/settings")),
  putSetting: (name: string, value: string) => send<Settings>("PUT", apiUrl(`me/settings/${name}`), { value }),
  overview: (since: string, repository: string, signal?: AbortSignal) =>
    get<Overview>(apiUrl("overview", { since, repository }), signal),
  trends: (request: TrendsRequest, signal?: AbortSignal) => get<Trends>(apiUrl("trends", { ...request }), signal),
  clustering: (request: ClusteringRequest, told: (progress: Progress) => void, signal?: AbortSignal) =>
    getInLines<Clustering>(apiUrl("clustering", { ...request, progress: true }), told, signal),
  comparison: (request: ComparisonRequest, signal?: AbortSignal) =>
    get<Comparison>(apiUrl("comparison", { ...request }), signal),
  comparedFlameGraph: (commits: ComparedCommits, benchmark: string, signal?: AbortSignal) =>
    get<FlameGraphData>(apiUrl("comparison/flame", { ...commits, benchmark }), signal),
  /** Judge the results of a file, against those of another one if there is a base; the server keeps neither. */
  fileComparison: async (
    file: File,
    base: File | undefined,
    query: FileComparisonRequest,
    signal?: AbortSignal,
  ): Promise<Comparison> => {
    const sides = base && { base_name: base.name, base_bytes: base.size };
    const url = apiUrl("comparison", { ...query, name: file.name, ...sides });
    const body = base ? new Blob([base, file]) : file;
    const sent = { method: "POST", headers: { "content-type": "application/octet-stream" }, body };
    return (await (await request(url, signal ? { ...sent, signal } : sent)).json()) as Comparison;
  },
  sharedViews: (signal?: AbortSignal) => get<SharedView[]>(apiUrl("views"), signal),
  shareView: (name: string, url: string) => send<SharedView>("PUT", apiUrl("views"), { name, url }),
  unshareView: (name: string) => remove<SharedView>(apiUrl("views", { name })),
  tokens: (signal?: AbortSignal) => get<Token[]>(apiUrl("tokens"), signal),
  createToken: (token: TokenRequest) => post<NewToken>(apiUrl("tokens"), token),
  revokeToken: (name: string) => remove<Token>(apiUrl(`tokens/${encodeURIComponent(name)}`)),
  alertQuality: (since: string | undefined, signal?: AbortSignal) =>
    get<AlertQuality>(apiUrl("alert-quality", { since }), signal),
  decideProposal: (request: ProposalRequest) => post<ProposalDecision>(apiUrl("alert-quality/proposals"), request),
  undoProposal: (id: number) => remove<ProposalDecision>(apiUrl(`alert-quality/proposals/${id}`)),
  missed: (trace: number, line: string, signal?: AbortSignal) =>
    get<MissedChange[]>(apiUrl("missed", { trace, line }), signal),
  markMissed: (request: MissedRequest) => post<MissedChange>(apiUrl("missed"), request),
  unmarkMissed: (id: string) => remove<MissedChange>(apiUrl(`missed/${id}`)),
  audit: (request: AuditRequest, signal?: AbortSignal) => get<AuditEntry[]>(apiUrl("audit", { ...request }), signal),
  version: (signal?: AbortSignal) => get<Version>(apiUrl("version"), signal),
  alerts: (signal?: AbortSignal) => get<Alert[]>(apiUrl("alerts"), signal),
  alertRecord: (name: string, signal?: AbortSignal) =>
    get<AlertRecord>(apiUrl(`alerts/${encodeURIComponent(name)}/record`), signal),
  previewAlert: (alert: NewAlert & { removed?: boolean }) => post<AlertEffect>(apiUrl("alerts/preview"), alert),
  createAlert: (alert: NewAlert) => post<unknown>(apiUrl("alerts"), alert),
  removeAlert: (name: string) => remove<unknown>(apiUrl(`alerts/${encodeURIComponent(name)}`)),
  changeAlert: (name: string, alert: AlertSettings) =>
    send<unknown>("PUT", apiUrl(`alerts/${encodeURIComponent(name)}`), alert),
  health: (signal?: AbortSignal) => get<Health>(apiUrl("health"), signal),
  notices: (signal?: AbortSignal) => get<Notice[]>(apiUrl("notices"), signal),
  missing: (repository: string, signal?: AbortSignal) => get<Missing[]>(apiUrl("missing", { repository }), signal),
  acceptRename: (old: number, to: number) => post<Rename>(apiUrl("missing/renames"), { old, new: to }),
  undoRename: (old: number, to: number) => post<Rename>(apiUrl("missing/renames/undo"), { old, new: to }),
  bisections: (change: string, signal?: AbortSignal) =>
    get<Bisection[]>(apiUrl("bisections", { change, limit: 1 }), signal),
  bisection: (id: string, signal?: AbortSignal) => get<BisectionDetail>(apiUrl(`bisections/${id}`), signal),
  foundFlameGraph: (id: string, benchmark: string, signal?: AbortSignal) =>
    get<FlameGraphData>(apiUrl(`bisections/${id}/flame`, { benchmark }), signal),
  bisectionRecipes: (change: string, signal?: AbortSignal) =>
    get<string[]>(apiUrl(`changes/${change}/recipes`), signal),
  changePage: (change: string, signal?: AbortSignal) => get<ChangePage>(apiUrl(`changes/${change}`), signal),
  flameGraph: (change: string, signal?: AbortSignal) => get<FlameGraphData>(apiUrl(`changes/${change}/flame`), signal),
  suspects: (change: string, signal?: AbortSignal) => get<Suspects>(apiUrl(`changes/${change}/suspects`), signal),
  breakdown: (change: string, signal?: AbortSignal) => get<Breakdown>(apiUrl(`changes/${change}/breakdown`), signal),
  startBisection: (change: string, recipe: string) =>
    post<BisectionDetail>(apiUrl(`changes/${change}/bisection`), { recipe }),
  stopBisection: (id: string) => post<BisectionDetail>(apiUrl(`bisections/${id}/stop`), {}),
  repositories: (signal?: AbortSignal) => get<Repository[]>(apiUrl("repositories"), signal),
  changes: (request: ChangesRequest, signal?: AbortSignal) =>
    get<ChangeList>(apiUrl("changes", { ...request }), signal),
  findings: (change: string, after: string | undefined, size: number, filter: ListFilter, signal?: AbortSignal) =>
    get<FindingPage>(apiUrl("members", { ...filter, change, after, size }), signal),
  triage: (decision: DecisionRequest) => post<Triage>(apiUrl("triage"), decision),
  lastEntry: async (signal?: AbortSignal) =>
    (await get<Schemas["LastEntryAnswer"]>(apiUrl("triage/last"), signal)).entry,
  regroup: (action: "split" | "merge", targets: Targets) => post<Triage>(apiUrl(`triage/${action}`), targets),
  undo: (targets: { ids: string[] } | { entries: Entries }, filter: ListFilter) =>
    post<Triage>(apiUrl("triage/undo"), { ...targets, filter }),
  decisions: (finding: string, signal?: AbortSignal) => get<Decision[]>(apiUrl("triage", { finding }), signal),
  traces: (repository: string, query: string, limit: number, signal?: AbortSignal) =>
    get<Traces>(apiUrl("traces", { repository, query, limit }), signal),
  /** Traces in the order of their ids. */
  tracesById: (ids: readonly number[], signal?: AbortSignal) =>
    inBatches(ids, async (batch) => (await get<Traces>(apiUrl("traces", { ids: batch }), signal)).traces),
  facets: (repository: string, query: string, signal?: AbortSignal) =>
    get<Facets>(apiUrl("facets", { repository, query }), signal),
  formula: (repository: string, formula: string, limit: number, signal?: AbortSignal) =>
    get<Formula>(apiUrl("formulas", { repository, formula, limit }), signal),
  shortcut: (repository: string, id: string, signal?: AbortSignal) =>
    get<Shortcut>(apiUrl(`shortcuts/${encodeURIComponent(id)}`, { repository }), signal),
  createShortcut: (keys: string[], formulas: string[]) => post<{ id: string }>(apiUrl("shortcuts"), { keys, formulas }),
  trace: (id: number, signal?: AbortSignal) => get<Trace>(apiUrl(`traces/${id}`), signal),
  changePoints: (id: number, line: string, signal?: AbortSignal) =>
    get<ChangePoints>(apiUrl(`traces/${id}/change-points`, { line }), signal),
  explain: (id: number, line: string, signal?: AbortSignal) =>
    get<Explanation>(apiUrl(`traces/${id}/explanation`, { line }), signal),
  patterns: (id: number, line: string, signal?: AbortSignal) =>
    get<Patterns>(apiUrl(`traces/${id}/patterns`, { line }), signal),
  environments: (id: number, line: string, signal?: AbortSignal) =>
    get<Environment[]>(apiUrl(`traces/${id}/environments`, { line }), signal),
  tickets: (traces: readonly number[], line: string, signal?: AbortSignal) =>
    inBatches(traces, (batch) => get<TicketMark[]>(apiUrl("ticket-marks", { traces: batch, line }), signal)),
  /** The findings on traces, and on few of them the changes of environment. */
  marks: (traces: readonly number[], environments: boolean, signal?: AbortSignal) =>
    inBatches(traces, (batch) => get<Mark[]>(apiUrl("marks", { traces: batch, environments }), signal)),
  trackers: (signal?: AbortSignal) => get<Tracker[]>(apiUrl("trackers"), signal),
  withoutValue: (id: number, line: string, signal?: AbortSignal) =>
    get<WithoutValue[]>(apiUrl(`traces/${id}/without-value`, { line }), signal),
  schedules: (signal?: AbortSignal) => get<Schedule[]>("/api/v1/schedules", signal),
  remeasured: (id: number, line: string, signal?: AbortSignal) =>
    get<RemeasuredValue[]>(apiUrl(`traces/${id}/remeasured`, { line }), signal),
  quarantined: (id: number, line: string, signal?: AbortSignal) =>
    get<QuarantinedValue[]>(apiUrl(`traces/${id}/quarantined`, { line }), signal),
  neverMeasured: (repository: string, signal?: AbortSignal) =>
    get<NeverMeasured[]>(apiUrl("never-measured", { repository }), signal),
  runs: (id: number, commit: string, signal?: AbortSignal) =>
    get<Run[]>(apiUrl(`traces/${id}/runs`, { commit }), signal),
  status: (signal?: AbortSignal) => get<InstanceStatus>(apiUrl("status"), signal),
  retry: (wanted: RetryRequest) => post<Schemas["RetryAnswer"]>(apiUrl("status/retry"), wanted),
  commitReport: (repository: string, hash: string, signal?: AbortSignal) =>
    get<CommitReport>(apiUrl(`commits/${encodeURIComponent(hash)}/report`, { repository }), signal),
  commit: (repository: string, revision: string) =>
    get<Commit>(apiUrl(`commits/${encodeURIComponent(revision)}`, { repository })),
  releases: (repository: string, signal?: AbortSignal) => get<Release[]>(apiUrl("releases", { repository }), signal),
  commits: (repository: string, line: string, first: number, limit: number) =>
    get<Commits>(apiUrl("commits", { repository, line, first, limit })),
  /** The newest commits of a line with these words; all commits have the empty text. */
  searchCommits: async (repository: string, line: string, words: string, limit: number, signal?: AbortSignal) => {
    // An empty parameter is left out of an address, and a space is a text without words.
    const found = await get<Commits>(apiUrl("commits", { repository, line, text: words || " ", limit }), signal);
    return found.commits;
  },
  /** The newest commits of a line that have results. */
  measuredCommits: async (repository: string, line: string, limit: number, signal?: AbortSignal) =>
    (await get<Commits>(apiUrl("commits", { repository, line, measured: true, limit }), signal)).commits,
  async times(repository: string, line: string, signal?: AbortSignal): Promise<Float64Array> {
    const response = await request(apiUrl("commits/times", { repository, line }), signal ? { signal } : {});
    return new Float64Array(await response.arrayBuffer());
  },
  /** The values of the first traces that a query finds. More than `crowd` share the points of so many, and are compact. */
  foundValues: async (
    wanted: ValueWindow & { repository: string; query: string; limit: number; crowd: number },
    signal?: AbortSignal,
  ): Promise<FoundSeries> => {
    const response = await request(apiUrl("values", { ...wanted }), signal ? { signal } : {});
    return decodeFoundSeries(await response.arrayBuffer());
  },
  values: (traces: readonly number[], window: ValueWindow, signal?: AbortSignal): Promise<Series[]> =>
    inBatches(traces, async (batch) => {
      const response = await request(apiUrl("values", { traces: batch, ...window }), signal ? { signal } : {});
      return (window.compact && PUBLISHED === undefined ? decodeCompactSeries : decodeSeries)(
        await response.arrayBuffer(),
      );
    }),
};

/** Turn anything thrown into an error that the page can show. */
export function toApiError(thrown: unknown): ApiError {
  if (thrown instanceof ApiError) return thrown;
  return new ApiError(thrown instanceof Error ? thrown.message : String(thrown), "", "Reload the page.");
}

/** Whether a request was aborted, usually because a newer one replaced it. */
export function isAborted(thrown: unknown): boolean {
  return thrown instanceof DOMException && thrown.name === "AbortError";
}
