/** What the explore page requests of the server beside its graphs: traces, facets, small drawings. */

import type { ReactiveControllerHost } from "lit";
import {
  api,
  type ApiError,
  type Facets,
  type NeverMeasured,
  type Repository,
  type Trace,
  type Traces,
} from "../../api/client";
import type { Series } from "../../api/series";
import type { ExploreRoute } from "../../routes/explore";
import { OriginCache } from "../../state/plot/origin-cache";
import { firstError, Resource } from "../../state/resource";
import { graphsOf, isEmptyGraph } from "./graphs";

/** Points of a small drawing, and traces of one request for them. */
const SPARKLINE_POINTS = 60;
const SPARKLINES_PER_REQUEST = 100;
/** What stands below the plot of a page that opens waits for it: for a slow one no longer than this. */
const PATIENCE_MS = 800;

/** The page that the data belong to. */
export interface ExploreHost extends ReactiveControllerHost {
  readonly route: ExploreRoute;
  readonly repository: Repository | undefined;
  /** Whether a plot is on its way that small drawings wait for. */
  readonly isWaiting: boolean;
  /** Another list than the one before was loaded. */
  onNewList: () => void;
}

/** Whether the server refuses the query itself. */
function isQueryError(error: ApiError): boolean {
  return error.code === 400 || error.code === 422;
}

/** Whether an answer may stay below an error: that of an incomplete query, or an error of the same repository and query. */
function isStillValid(before: readonly unknown[], now: readonly unknown[], error: ApiError): boolean {
  return isQueryError(error) || (before[0] === now[0] && before[1] === now[1]);
}

export class ExploreData {
  sparklines: ReadonlyMap<number, Series> = new Map();
  readonly origins = new OriginCache();
  private readonly tracesResource;
  private readonly facetsResource;
  private readonly neverMeasuredResource;
  private readonly sparklinesResource;
  /** The repository and query of the newest list. */
  private list = "";

  private isPatient = true;

  constructor(private readonly host: ExploreHost) {
    window.setTimeout(() => {
      this.isPatient = false;
      host.requestUpdate();
    }, PATIENCE_MS);
    this.tracesResource = new Resource(host, {
      args: () => this.listArgs(host.route.query, host.route.listed),
      load: ([repository, text, listed], signal) => api.traces(repository, text, listed, signal),
      // The list stays while the user types, and below the error of a query that is not yet complete.
      keepWhileLoading: () => true,
      keepAfterError: isStillValid,
      onAnswer: () => this.onTraces(),
    });
    this.facetsResource = new Resource(host, {
      args: () => this.listArgs(host.route.query),
      load: ([repository, text], signal) => api.facets(repository, text, signal),
      keepWhileLoading: () => true,
      keepAfterError: isStillValid,
    });
    this.neverMeasuredResource = new Resource(host, {
      args: () => this.listArgs(),
      load: ([repository], signal) => api.neverMeasured(repository, signal),
      keepWhileLoading: () => true,
    });
    this.sparklinesResource = new Resource(host, {
      args: () => (this.traces && !host.isWaiting ? ([this.traces.traces] as const) : undefined),
      load: ([traces], signal) => this.loadSparklines(traces, signal),
    });
  }

  get traces(): Traces | undefined {
    return this.tracesResource.value;
  }

  get facets(): Facets | undefined {
    return this.facetsResource.value;
  }

  get neverMeasured(): readonly NeverMeasured[] {
    return this.neverMeasuredResource.value ?? [];
  }

  get queryError(): ApiError | undefined {
    const error = firstError([this.tracesResource, this.facetsResource]);
    return error && isQueryError(error) ? error : undefined;
  }

  get error(): ApiError | undefined {
    return this.queryError ? undefined : firstError(this.resources);
  }

  reload(): void {
    for (const resource of this.resources) resource.reload();
  }

  private get resources() {
    const { tracesResource, facetsResource, neverMeasuredResource, sparklinesResource } = this;
    return [tracesResource, facetsResource, neverMeasuredResource, sparklinesResource] as const;
  }

  /** The repository followed by other arguments; nothing without results, or while a plot comes first. */
  private listArgs<Rest extends readonly unknown[]>(...rest: Rest): readonly [string, ...Rest] | undefined {
    const { isWaiting, repository, route } = this.host;
    if (this.isPatient && isWaiting && !graphsOf(route).every(isEmptyGraph)) return undefined;
    return repository && [repository.name, ...rest];
  }

  /** Another list begins at its first row; a longer one of the same query does not. */
  private onTraces(): void {
    const list = this.tracesResource.answeredArgs?.slice(0, 2).join(" ") ?? "";
    if (list !== this.list) this.host.onNewList();
    this.list = list;
  }

  /** Load the drawings of the listed traces that have none, and show them as they come. */
  private async loadSparklines(traces: readonly Trace[], signal: AbortSignal): Promise<void> {
    const listed = new Set(traces.map((trace) => trace.id));
    this.sparklines = new Map([...this.sparklines].filter(([id]) => listed.has(id)));
    const missing = [...listed].filter((id) => !this.sparklines.has(id));
    for (let from = 0; from < missing.length; from += SPARKLINES_PER_REQUEST) {
      const ids = missing.slice(from, from + SPARKLINES_PER_REQUEST);
      const series = await api.values(ids, { points: SPARKLINE_POINTS }, signal);
      signal.throwIfAborted();
      const loaded = ids.flatMap((id, index) => (series[index] ? [[id, series[index]] as const] : []));
      this.sparklines = new Map([...this.sparklines, ...loaded]);
      this.host.requestUpdate();
    }
  }
}
