/** Talk to the API: one function a resource, one error class, binary values decoded. */

import type { components } from "./schema";
import { lostConnection } from "./connection";
import { decodeSeries, type Series } from "./series";

type Schemas = components["schemas"];
export type Alert = Schemas["AlertAnswer"];
export type Better = Schemas["Better"];
export type Changes = Schemas["ChangesAnswer"];
export type Commit = Schemas["CommitAnswer"];
export type Commits = Schemas["CommitsAnswer"];
export type Decision = Schemas["DecisionAnswer"];
export type Direction = Schemas["Direction"];
export type Environment = Schemas["EnvironmentAnswer"];
export type Explanation = Schemas["ExplanationAnswer"];
export type Facets = Schemas["FacetsAnswer"];
export type Formula = Schemas["FormulaAnswer"];
export type Group = Schemas["GroupAnswer"];
export type Health = Schemas["HealthAnswer"];
export type ListFilter = Schemas["ListFilter"];
export type Member = Schemas["MemberAnswer"];
export type Members = Schemas["MembersAnswer"];
export type Entries = Schemas["Entries"];
export type Regressions = Schemas["RegressionsAnswer"];
export type Repository = Schemas["RepositoryAnswer"];
export type Run = Schemas["RunAnswer"];
export type Shortcut = Schemas["ShortcutAnswer"];
export type Status = Schemas["Status"];
export type Trace = Schemas["TraceAnswer"];
export type Traces = Schemas["TracesAnswer"];
export type Triage = Schemas["TriageAnswer"];
export type Notice = Schemas["NoticeAnswer"];
export type NeverMeasured = Schemas["NeverMeasuredAnswer"];
export type WithoutValue = Schemas["WithoutValueAnswer"];
export type Version = Schemas["VersionAnswer"];

/** What went wrong, where, and what to do about it. */
export class ApiError extends Error {
  constructor(
    message: string,
    readonly where = "",
    readonly remedy = "",
    readonly code = 0,
  ) {
    super(message);
  }
}

type Parameters = Record<string, string | number | boolean | readonly number[] | null | undefined>;

function address(path: string, parameters: Parameters = {}): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value === undefined || value === null || value === "") continue;
    search.set(name, Array.isArray(value) ? value.join(",") : String(value));
  }
  const text = search.toString();
  return `/api/v1/${path}${text ? `?${text}` : ""}`;
}

async function failure(response: Response): Promise<ApiError> {
  try {
    const body = (await response.json()) as Partial<Schemas["ErrorAnswer"]>;
    return new ApiError(body.error ?? response.statusText, body.where, body.remedy, response.status);
  } catch {
    return new ApiError(
      `The server answered ${response.status} ${response.statusText}.`,
      path(response),
      "",
      response.status,
    );
  }
}

function path(response: Response): string {
  return response.url ? new URL(response.url).pathname : "";
}

const PATIENCE_MS = 60_000;
const REMEDY = "The page looks for it until it answers. Is `knick serve` still running?";

async function ask(url: string, options: RequestInit = {}): Promise<Response> {
  const patience = AbortSignal.timeout(PATIENCE_MS);
  const { signal } = options;
  try {
    const response = await fetch(url, { ...options, signal: signal ? AbortSignal.any([signal, patience]) : patience });
    if (response.ok) return response;
    throw await failure(response);
  } catch (cause) {
    if (signal?.aborted || cause instanceof ApiError) throw cause;
    lostConnection();
    throw new ApiError("The server does not answer.", url.split("?")[0], REMEDY);
  }
}

async function read<T>(url: string, signal?: AbortSignal): Promise<T> {
  const response = await ask(url, signal ? { signal } : {});
  return (await response.json()) as T;
}

async function send<T>(url: string, body: unknown): Promise<T> {
  const response = await ask(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  return (await response.json()) as T;
}

export interface RegressionsRequest extends ListFilter {
  sort: string;
  page: number;
  size: number;
  members: number;
}

/** The findings that a decision is about. */
export type Targets = Required<Pick<Schemas["RegroupRequest"], "ids" | "regressions" | "without" | "filter">>;

export interface Decided extends Targets {
  status?: Status;
  note?: string;
  ticket?: string;
  assignee?: string;
}

export interface Window {
  line?: string;
  first?: number | undefined;
  last?: number | undefined;
  points?: number;
}

export const api = {
  version: (signal?: AbortSignal) => read<Version>(address("version"), signal),
  alerts: (signal?: AbortSignal) => read<Alert[]>(address("alerts"), signal),
  health: (signal?: AbortSignal) => read<Health>(address("health"), signal),
  notices: (signal?: AbortSignal) => read<Notice[]>(address("notices"), signal),
  repositories: (signal?: AbortSignal) => read<Repository[]>(address("repositories"), signal),
  regressions: (request: RegressionsRequest, signal?: AbortSignal) =>
    read<Regressions>(address("regressions", { ...request }), signal),
  members: (regression: number, after: number | undefined, size: number, filter: ListFilter, signal?: AbortSignal) =>
    read<Members>(address("members", { ...filter, regression, after, size }), signal),
  triage: (decided: Decided) => send<Triage>(address("triage"), decided),
  regroup: (how: "split" | "merge", what: Targets) => send<Triage>(address(`triage/${how}`), what),
  undo: (what: { ids: number[] } | { entries: Entries }, filter: ListFilter) =>
    send<Triage>(address("triage/undo"), { ...what, filter }),
  decisions: (finding: number, signal?: AbortSignal) => read<Decision[]>(address("triage", { finding }), signal),
  traces: (repository: string, query: string, limit: number, signal?: AbortSignal) =>
    read<Traces>(address("traces", { repository, query, limit }), signal),
  facets: (repository: string, query: string, signal?: AbortSignal) =>
    read<Facets>(address("facets", { repository, query }), signal),
  formula: (repository: string, formula: string, limit: number, signal?: AbortSignal) =>
    read<Formula>(address("formulas", { repository, formula, limit }), signal),
  shortcut: (repository: string, id: string, signal?: AbortSignal) =>
    read<Shortcut>(address(`shortcuts/${encodeURIComponent(id)}`, { repository }), signal),
  keep: (keys: string[], formulas: string[]) => send<{ id: string }>(address("shortcuts"), { keys, formulas }),
  trace: (id: number, signal?: AbortSignal) => read<Trace>(address(`traces/${id}`), signal),
  changes: (id: number, line: string, signal?: AbortSignal) =>
    read<Changes>(address(`traces/${id}/changes`, { line }), signal),
  explain: (id: number, line: string, signal?: AbortSignal) =>
    read<Explanation>(address(`traces/${id}/explanation`, { line }), signal),
  environments: (id: number, line: string, signal?: AbortSignal) =>
    read<Environment[]>(address(`traces/${id}/environments`, { line }), signal),
  withoutValue: (id: number, line: string, signal?: AbortSignal) =>
    read<WithoutValue[]>(address(`traces/${id}/without-value`, { line }), signal),
  neverMeasured: (repository: string, signal?: AbortSignal) =>
    read<NeverMeasured[]>(address("never-measured", { repository }), signal),
  runs: (id: number, commit: string, signal?: AbortSignal) =>
    read<Run[]>(address(`traces/${id}/runs`, { commit }), signal),
  commits: (repository: string, line: string, first: number, limit: number) =>
    read<Commits>(address("commits", { repository, line, first, limit })),
  async times(repository: string, line: string, signal?: AbortSignal): Promise<Float64Array> {
    const response = await ask(address("commits/times", { repository, line }), signal ? { signal } : {});
    return new Float64Array(await response.arrayBuffer());
  },
  async values(traces: readonly number[], window: Window, signal?: AbortSignal): Promise<Series[]> {
    const response = await ask(address("values", { traces, ...window }), signal ? { signal } : {});
    return decodeSeries(await response.arrayBuffer());
  },
};

/** Turn whatever was thrown into something that can be shown. */
export function shown(thrown: unknown): ApiError {
  if (thrown instanceof ApiError) return thrown;
  return new ApiError(thrown instanceof Error ? thrown.message : String(thrown), "", "Reload the page.");
}

/** Whether a request was given up because a newer one replaced it. */
export function abandoned(thrown: unknown): boolean {
  return thrown instanceof DOMException && thrown.name === "AbortError";
}
