/** Answer the requests of the pages from published files. What the files do not have takes a running server. */

import { selectTraces, type Facets, facetsOf } from "./published-traces";
import { listChanges, membersOf, type Lists } from "./published-lists";
import { ApiError, NEEDS_SERVER, type Commit, type Trace, type Mark, type TicketMark } from "./objects";
import { decodeSeries, type Series } from "./series";

/** Traces whose values and details are in one file. */
const TRACES_OF_A_FILE = 10;
/** The range of the sums that are published. */
const TREND_COMMITS = "250";
const DOUBLE = 8;
const MEDIANS = ["", "median"];

type Details = Record<string, Record<string, unknown>>;
interface Repository {
  index: number;
  name: string;
  lines: string[];
}

/** The files of one directory, each loaded once. */
class PublishedFiles {
  private readonly loaded = new Map<string, Promise<unknown>>();

  constructor(private readonly directory: string) {}

  json<T>(name: string): Promise<T> {
    return this.once(`${name}.json`, (response) => response.json()) as Promise<T>;
  }

  series(name: string): Promise<Series[]> {
    return this.once(`${name}.bin`, async (response) => decodeSeries(await unpack(response))) as Promise<Series[]>;
  }

  private once(name: string, read: (response: Response) => Promise<unknown>): Promise<unknown> {
    const known = this.loaded.get(name);
    if (known) return known;
    const loading = this.load(name).then(read);
    loading.catch(() => this.loaded.delete(name)); // the next need requests it again
    this.loaded.set(name, loading);
    return loading;
  }

  private async load(name: string): Promise<Response> {
    const remedy = "Load the page again; the pages may have been published again.";
    try {
      const response = await fetch(this.directory + name, { cache: "no-cache" });
      if (response.ok) return response;
      throw new ApiError(`A file of the published pages cannot be read (${response.status}).`, name, remedy);
    } catch (cause) {
      if (cause instanceof ApiError) throw cause;
      throw new ApiError("A file of the published pages cannot be loaded.", name, remedy);
    }
  }
}

/** Numbers as they are packed: gzip, and in it the first byte of each number, then the second, and so on. */
async function unpack(response: Response): Promise<ArrayBuffer> {
  const packed = response.body?.pipeThrough(new DecompressionStream("gzip"));
  const planes = new Uint8Array(await new Response(packed).arrayBuffer());
  const bytes = new Uint8Array(planes.length);
  const count = planes.length / DOUBLE;
  for (let plane = 0; plane < DOUBLE; plane++) {
    for (let at = 0; at < count; at++) bytes[at * DOUBLE + plane] = planes[plane * count + at] ?? 0;
  }
  return bytes.buffer;
}

let files: PublishedFiles | undefined;

/** Answer one request to the API from the files in `directory`. */
export async function answer(directory: string, address: string, method: string): Promise<Response> {
  files ??= new PublishedFiles(directory);
  const url = new URL(address, location.origin);
  const path = decodeURIComponent(url.pathname.replace(/^\/api\/v1\//, ""));
  const found = method === "GET" ? await find(files, path, url.searchParams) : undefined;
  if (found === undefined) throw needsServer(method);
  return found instanceof Float64Array
    ? new Response(found.buffer as ArrayBuffer)
    : new Response(JSON.stringify(found));
}

function needsServer(method: string): ApiError {
  const message =
    method === "GET" ? "This needs a running server." : "Nothing was changed: this needs a running server.";
  return new ApiError(
    message,
    "",
    "These published pages are a read-only copy. knick serve has all pages.",
    NEEDS_SERVER,
  );
}

async function find(from: PublishedFiles, path: string, search: URLSearchParams): Promise<unknown> {
  const fixed = await from.json<Record<string, unknown>>("fixed");
  const all = fixed.repositories as Omit<Repository, "index">[];
  const known = all.map((each, index) => ({ ...each, index }));
  const named = search.get("repository") ?? "";
  const repository = known.find(({ name }) => name === named) ?? (named === "" ? known[0] : undefined);
  const line = search.get("line") ?? "";
  const isOtherLine = line !== "" && repository?.lines[0] !== line;

  switch (path) {
    case "overview":
      return fixed[`overview ${named}`];
    case "bisections":
      return fixed[`bisections ${search.get("change") ?? ""}`];
    case "trends": {
      const isPublished = !search.get("query") && !search.get("by") && search.get("commits") === TREND_COMMITS;
      return isPublished ? fixed[`trends ${repository?.name ?? ""}`] : undefined;
    }
    case "never-measured":
      return fixed[`never-measured ${repository?.name ?? ""}`];
    case "changes":
      return listChanges(await from.json<Lists>("lists"), search);
    case "members":
      return membersOf(await from.json<Lists>("lists"), search);
    case "values":
      return search.has("traces") ? ofTraces(from, known, path, search) : foundValues(from, known, repository, search);
    case "marks":
    case "ticket-marks":
      return ofTraces(from, known, path, search);
  }
  const key = [path, search.get("benchmark") ?? ""].join(" ").trimEnd();
  if (key in fixed) return fixed[key];
  const ids = search.get("ids");
  if (path === "traces" && ids !== null) {
    const found = await Promise.all(ids.split(",").map((id) => findTrace(from, known, Number(id))));
    const traces = found.flatMap((each) => each?.trace ?? []);
    return { total: traces.length, offset: 0, traces };
  }
  const ofTrace = /^traces\/(\d+)(?:\/([a-z-]+))?$/.exec(path);
  if (ofTrace) return oneTrace(from, known, Number(ofTrace[1]), ofTrace[2], line);
  if (!repository) return undefined;

  const report = /^commits\/(.+)\/report$/.exec(path)?.[1];
  if (report !== undefined) {
    const reports = await from.json<Record<string, unknown>>(`${repository.index}/reports`);
    const hash = Object.keys(reports).find(
      (each) => each === report || (report.length >= 7 && each.startsWith(report)),
    );
    return hash === undefined ? undefined : reports[hash];
  }
  if (path === "facets") {
    const { traces } = await from.json<{ traces: Trace[] }>(`${repository.index}/traces`);
    return facetsOf(traces, search.get("query") ?? "") satisfies Facets;
  }
  if (path === "traces") {
    const selected = await select(from, repository, search);
    return { total: selected.length, offset: 0, traces: selected.slice(0, Number(search.get("limit") ?? 100)) };
  }
  if (isOtherLine) return undefined;
  if (path === "commits" || path === "commits/times") {
    const commits = await from.json<Commit[]>(`${repository.index}/commits`);
    if (path === "commits/times")
      return Float64Array.from(commits, ({ time }) => (time ? Date.parse(time) / 1000 : NaN));
    const first = Number(search.get("first") ?? 0);
    const shown = commits.slice(first, first + Number(search.get("limit") ?? 200));
    return { repository: repository.name, line: repository.lines[0], total: commits.length, first, commits: shown };
  }
  const revision = /^commits\/([^/]+)$/.exec(path)?.[1];
  if (revision !== undefined) return oneCommit(await from.json<Commit[]>(`${repository.index}/commits`), revision);
  return undefined;
}

/** The commit of a hash, a prefix of one, or a number. */
function oneCommit(commits: readonly Commit[], revision: string): Commit {
  const found = commits.find(
    ({ hash, short }) => hash === revision || short === revision || (revision.length >= 7 && hash.startsWith(revision)),
  );
  if (found) return found;
  throw new ApiError(`The published pages have no commit '${revision}'.`, "", "Give its hash or its number.", 404);
}

/** The repository of a trace, the trace, and its place among the traces of the repository. */
async function findTrace(from: PublishedFiles, known: readonly Repository[], id: number) {
  for (const repository of known) {
    const { traces } = await from.json<{ traces: Trace[] }>(`${repository.index}/traces`);
    const place = traces.findIndex((trace) => trace.id === id);
    const trace = traces[place];
    if (trace) return { repository, trace, place, file: Math.floor(place / TRACES_OF_A_FILE) };
  }
  return undefined;
}

async function oneTrace(
  from: PublishedFiles,
  known: readonly Repository[],
  id: number,
  part: string | undefined,
  line: string,
): Promise<unknown> {
  const found = await findTrace(from, known, id);
  if (!found || part === undefined) return found?.trace;
  const { repository, file } = found;
  if (line !== "" && line !== repository.lines[0]) return undefined;
  return (await from.json<Details>(`${repository.index}/details-${file}`))[String(id)]?.[part];
}

/** The traces of a repository that a query matches. */
async function select(from: PublishedFiles, { index }: Repository, search: URLSearchParams): Promise<Trace[]> {
  const { traces } = await from.json<{ traces: Trace[] }>(`${index}/traces`);
  return selectTraces(traces, search.get("query") ?? "");
}

/** Values of the traces of a query, which stand before them. */
async function foundValues(
  from: PublishedFiles,
  known: readonly Repository[],
  repository: Repository | undefined,
  search: URLSearchParams,
): Promise<unknown> {
  if (!repository) return undefined;
  const ids = (await select(from, repository, search)).slice(0, Number(search.get("limit"))).map(({ id }) => id);
  const named = new URLSearchParams([...search, ["traces", ids.join()]]);
  const values = ids.length > 0 ? await ofTraces(from, known, "values", named) : [];
  return values && Float64Array.from([ids.length, 0, ...ids, ...(values as Float64Array)]);
}

/** Values, marks or tickets of the traces that a request names. */
async function ofTraces(
  from: PublishedFiles,
  known: readonly Repository[],
  path: "values" | "marks" | "ticket-marks",
  search: URLSearchParams,
): Promise<unknown> {
  const line = search.get("line") ?? "";
  const ids = (search.get("traces") ?? "").split(",").map(Number);
  if (path !== "values") {
    const marks = await Promise.all(ids.map((id) => oneTrace(from, known, id, path, line)));
    return marks.includes(undefined) ? undefined : (marks as (Mark | TicketMark)[][]).flat();
  }
  const summary = search.get("summary") ?? "";
  const wanted = await Promise.all(
    ids.map(async (id) => {
      const found = await findTrace(from, known, id);
      if (!found || (line !== "" && line !== found.repository.lines[0])) return undefined;
      const { index } = found.repository;
      if (!MEDIANS.includes(summary)) return (await from.series(`${index}/values-${id}-${summary}`))[0];
      return (await from.series(`${index}/values-${found.file}`))[found.place % TRACES_OF_A_FILE];
    }),
  );
  const numbers: number[] = [];
  for (const series of wanted) {
    if (!series) return undefined;
    const first = Number(search.get("first") ?? 0);
    const last = Number(search.get("last") ?? Infinity);
    const shown = [...series.positions.keys()].filter((at) => {
      const position = series.positions[at] ?? 0;
      return position >= first && position <= last;
    });
    numbers.push(shown.length, shown.length);
    for (const at of shown) numbers.push(series.positions[at] ?? NaN);
    for (const at of shown) numbers.push(series.values[at] ?? NaN);
  }
  return Float64Array.from(numbers);
}
