/** Talk to the API: one function a resource, one error class, binary values decoded. */

import type { components } from "./schema";
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
export type Member = Schemas["MemberAnswer"];
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

type Parameters = Record<string, string | number | boolean | readonly number[] | undefined>;

function address(path: string, parameters: Parameters = {}): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value === undefined || value === "") continue;
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
    return new ApiError(`The server answered ${response.status} ${response.statusText}.`, path(response), "", response.status);
  }
}

function path(response: Response): string {
  return response.url ? new URL(response.url).pathname : "";
}

async function ask(url: string, options: RequestInit = {}): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(url, options);
  } catch (cause) {
    if (cause instanceof DOMException && cause.name === "AbortError") throw cause;
    throw new ApiError("The server does not answer.", url, "Look whether `knick serve` is still running, then try again.");
  }
  if (!response.ok) throw await failure(response);
  return response;
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

export interface RegressionsRequest {
  processed: boolean;
  gone: boolean;
  repository: string;
  filter: string;
  direction: string;
  status: string;
  minimum_effect: number | undefined;
  sort: string;
  page: number;
  size: number;
  members: number;
}

export interface Decided {
  ids: number[];
  status: Status;
  note?: string;
  ticket?: string;
  assignee?: string;
}

/** What to set apart or to merge: single findings and whole groups. */
export interface Regrouped {
  ids: number[];
  regressions: number[];
}

export interface Window {
  line?: string;
  first?: number | undefined;
  last?: number | undefined;
  points?: number;
}

export const api = {
  version: () => read<Version>(address("version")),
  alerts: () => read<Alert[]>(address("alerts")),
  health: () => read<Health>(address("health")),
  notices: () => read<Notice[]>(address("notices")),
  repositories: () => read<Repository[]>(address("repositories")),
  regressions: (request: RegressionsRequest, signal?: AbortSignal) =>
    read<Regressions>(address("regressions", { ...request }), signal),
  triage: (decided: Decided) => send<Triage>(address("triage"), decided),
  regroup: (how: "split" | "merge", what: Regrouped) => send<Triage>(address(`triage/${how}`), what),
  undo: (ids: number[]) => send<Triage>(address("triage/undo"), { ids }),
  decisions: (finding: number) => read<Decision[]>(address("triage", { finding })),
  traces: (repository: string, query: string, limit: number, signal?: AbortSignal) =>
    read<Traces>(address("traces", { repository, query, limit }), signal),
  facets: (repository: string, query: string, signal?: AbortSignal) =>
    read<Facets>(address("facets", { repository, query }), signal),
  formula: (repository: string, formula: string, limit: number) => read<Formula>(address("formulas", { repository, formula, limit })),
  shortcut: (repository: string, id: string, signal?: AbortSignal) =>
    read<Shortcut>(address(`shortcuts/${encodeURIComponent(id)}`, { repository }), signal),
  keep: (keys: string[], formulas: string[]) => send<{ id: string }>(address("shortcuts"), { keys, formulas }),
  trace: (id: number) => read<Trace>(address(`traces/${id}`)),
  changes: (id: number, line = "") => read<Changes>(address(`traces/${id}/changes`, { line })),
  explain: (id: number, line = "") => read<Explanation>(address(`traces/${id}/explanation`, { line })),
  environments: (id: number, line = "") => read<Environment[]>(address(`traces/${id}/environments`, { line })),
  withoutValue: (id: number, line = "") => read<WithoutValue[]>(address(`traces/${id}/without-value`, { line })),
  neverMeasured: (repository: string, signal?: AbortSignal) => read<NeverMeasured[]>(address("never-measured", { repository }), signal),
  runs: (id: number, commit: string) => read<Run[]>(address(`traces/${id}/runs`, { commit })),
  commits: (repository: string, line: string, first: number, limit: number) =>
    read<Commits>(address("commits", { repository, line, first, limit })),
  async times(repository: string, line: string): Promise<Float64Array> {
    const response = await ask(address("commits/times", { repository, line }));
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
