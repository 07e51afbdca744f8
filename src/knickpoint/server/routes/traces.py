"""Routes of traces: lists, facets, values, changes, runs, explanations, clusters, missing results."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Query, Request, Response
from pydantic import RootModel

from knickpoint.answers import missing
from knickpoint.answers.change_points import ChangePointsAnswer, read_change_points
from knickpoint.answers.clusters import ClusteringAnswer, ClusteringRequest, cluster_query
from knickpoint.answers.explanations import ExplanationAnswer, PatternsAnswer, explain, read_patterns
from knickpoint.answers.missing import MissingAnswer, RenameAnswer, RenameRequest
from knickpoint.answers.runs import (
    EnvironmentAnswer,
    MarkAnswer,
    NeverMeasuredAnswer,
    RunAnswer,
    WithoutValueAnswer,
    list_environments,
    list_marks,
    list_never_measured_answers,
    list_runs,
    list_without_value,
)
from knickpoint.answers.tabular_values import list_values, write_points
from knickpoint.answers.tickets import TicketAnswer, TicketMarkAnswer, list_ticket_marks, list_tickets
from knickpoint.answers.traces import (
    FacetsAnswer,
    TraceAnswer,
    TracesAnswer,
    list_facets,
    list_traces,
    name_traces,
    trace_answer,
)
from knickpoint.answers.values import (
    MOST_FOUND,
    MOST_TRACES,
    TraceValuesAnswer,
    WantedValues,
    pack_compact_values,
    pack_found_values,
    pack_values,
    window,
)
from knickpoint.instance.notices import newer_commits
from knickpoint.model.errors import InputError
from knickpoint.model.query import parse_query
from knickpoint.model.summary import read_summary
from knickpoint.server.callers import Editor
from knickpoint.server.error_responses import LINES, answer_with_progress, while_waited_for
from knickpoint.server.routes.dependencies import (
    BINARY,
    MOST,
    AsJson,
    Cache,
    FirstPosition,
    LastPosition,
    LineName,
    RepositoryName,
    RequestInstance,
    TraceKey,
    Visible,
    binary,
    in_one_snapshot,
)
from knickpoint.watch.trace_clustering import ClusteringRules

traces_router = APIRouter(tags=["traces"])

QueryText = Annotated[
    str, Query(max_length=10_000, description="Words and terms: `draw -blur os=Android|iOS config!=gpu name~regex`.")
]


_IDS: Final[dict[str, Any]] = {"pattern": f"^[0-9]{{1,15}}(,[0-9]{{1,15}}){{0,{MOST_TRACES - 1}}}$"}


def _numbers(text: str) -> list[int]:
    ids = [part for part in text.split(",") if part]
    wrong = next((part for part in ids if not part.isdecimal() or len(part) > 15), None)
    if wrong is not None:
        raise InputError(f"{wrong!r} is not the id of a trace", where="traces", remedy="Separate ids by commas.")
    if not 0 < len(ids) <= MOST_TRACES:
        raise InputError(
            f"the request names {len(ids)} traces", where="traces", remedy=f"Name 1 to {MOST_TRACES} at a time."
        )
    return [int(part) for part in ids]


@traces_router.get("/traces")
def get_traces(
    visible: Visible,
    *,
    repository: RepositoryName = "",
    query: QueryText = "",
    offset: Annotated[int, Query(ge=0, le=MOST, description="How many to skip.")] = 0,
    limit: Annotated[int, Query(ge=1, le=10_000, description="How many to return.")] = 100,
    ids: Annotated[
        str | None,
        Query(
            json_schema_extra=_IDS,
            description="Ids, separated by commas, instead of a query: the answer has these traces, in this order.",
        ),
    ] = None,
) -> TracesAnswer:
    """List the traces that a query matches, or those that the request names."""
    if ids is not None:
        if query:
            raise InputError("the request has both ids and a query", where="ids", remedy="Leave one of them out.")
        return name_traces(*visible.traces(_numbers(ids)))
    return list_traces(visible.store, visible.choose(repository), query, offset, limit)


@traces_router.get("/facets")
def get_facets(visible: Visible, repository: RepositoryName = "", query: QueryText = "") -> FacetsAnswer:
    """Count the matching traces by param and value."""
    return list_facets(visible.store, visible.choose(repository), query)


@traces_router.get("/values", response_model=list[TraceValuesAnswer], responses=BINARY)
@in_one_snapshot
def get_values(
    visible: Visible,
    request: Request,
    as_json: AsJson,
    *,
    traces: Annotated[
        str | None,
        Query(
            json_schema_extra=_IDS,
            description="Ids, separated by commas; all of one repository. Without them: the first traces of a query.",
        ),
    ] = None,
    repository: RepositoryName = "",
    query: QueryText = "",
    limit: Annotated[int, Query(ge=1, le=MOST_FOUND, description="How many traces of a query.")] = 100,
    line: LineName = "",
    first: FirstPosition = None,
    last: LastPosition = None,
    points: Annotated[int, Query(ge=2, le=1_000_000, description="Points of a trace; more are thinned out.")] = 2400,
    compact: Annotated[bool, Query(description="Binary numbers in half the size, with about seven digits.")] = False,
    crowd: Annotated[
        int | None,
        Query(
            ge=1,
            le=MOST_FOUND,
            description="More traces than this have, all together, as many points as this many would have, and are "
            "compact.",
        ),
    ] = None,
    summary: Annotated[
        str,
        Query(
            max_length=20,
            description="What of the samples of each run: `median`, `min`, `max`, or a percentile as `p99`; of at most "
            "16 traces.",
        ),
    ] = "median",
) -> Response | list[TraceValuesAnswer]:
    """Return the measured values of traces, as little-endian float64 or as JSON.

    As binary numbers: one trace after the other, in the order of the request: the number n of points, the number of
    measured commits, n positions on the line, n values in the unit of the trace. Where a trace has more values than
    `points`, the first and the last value and the least and the greatest of each section are kept.

    With `compact`, a trace is: n and the number of measured commits as uint32; a factor as float64; n distances from
    the position before as uint32, the first one from 0; n values as float32, to be multiplied with the factor.

    Of traces that a query finds, which come by id, this stands first, as float64: their number, 1 if they are compact,
    else 0, and their ids.
    """
    if traces is None:
        chosen = visible.choose(repository)
        ids = visible.store.traces.select(chosen, parse_query(query))[:limit].tolist()
    elif query:
        raise InputError("the request has both ids and a query", where="traces", remedy="Leave one of them out.")
    else:
        ids = _numbers(traces)
        chosen, _ = visible.traces(ids)
    found = visible.line(chosen.name, line)
    begin, end = window(found, first, last)
    wanted = WantedValues(found, ids, begin, end, points, read_summary(summary))
    if crowd is not None and len(ids) > crowd:
        wanted, compact = wanted.shared(crowd), True
    if as_json:
        return list_values(visible.store, wanted)
    if traces is None:
        return binary(pack_found_values(visible.store, wanted, compact=compact), request)
    return binary((pack_compact_values if compact else pack_values)(visible.store, wanted), request)


_POINTS: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "The points.",
        "content": {
            "text/csv": {"schema": {"type": "string"}},
            "application/json": {"schema": {"type": "array", "items": {"type": "object"}}},
        },
    }
}


@traces_router.get("/points", response_class=Response, responses=_POINTS)
def get_points(
    visible: Visible,
    repository: RepositoryName = "",
    query: QueryText = "",
    line: LineName = "",
    format: Annotated[Literal["csv", "json"], Query(description="How to write the points.")] = "json",  # noqa: A002
) -> Response:
    """Return the points of the traces that a query matches, one row each, with a column for each param.

    The other columns are repository, line, unit, better, pos, commit, commit_time, author and value; a param of such a
    name is called `param_NAME`. At most 1,000 traces; `knick export --params` has no such limit.
    """
    text = write_points(visible, visible.line(repository, line), query, csv=format == "csv")
    return Response(text, media_type="text/csv; charset=utf-8" if format == "csv" else "application/json")


@traces_router.get("/tickets")
def get_tickets(visible: Visible, repository: RepositoryName = "") -> list[TicketAnswer]:
    """List the tickets: those that were imported, and those of trackers with what came back from there."""
    return list_tickets(visible, repository)


@traces_router.get("/ticket-marks")
def get_ticket_marks(
    visible: Visible,
    *,
    traces: Annotated[
        str,
        Query(
            json_schema_extra=_IDS,
            description="Ids, separated by commas; all of one repository.",
        ),
    ],
    line: LineName = "",
) -> list[TicketMarkAnswer]:
    """List the tickets about traces, at their commits on a line, also where no change is."""
    return list_ticket_marks(visible, _numbers(traces), line)


@traces_router.get("/marks")
def get_marks(
    visible: Visible,
    *,
    traces: Annotated[
        str,
        Query(
            json_schema_extra=_IDS,
            description="Ids, separated by commas; all of one repository.",
        ),
    ],
    line: LineName = "",
    environments: Annotated[bool, Query(description="Also changes of environment, of at most 16 traces.")] = False,
) -> list[MarkAnswer]:
    """List the findings on traces, and the changes of their environments, by trace and commit of a line."""
    return list_marks(visible, _numbers(traces), line, environments=environments)


@traces_router.get("/traces/{key}")
def get_trace(visible: Visible, key: TraceKey) -> TraceAnswer:
    """Return a trace by id."""
    repository, trace = visible.trace(key)
    return trace_answer(trace, repository.name)


@traces_router.get("/traces/{key}/change-points")
@in_one_snapshot
def get_change_points(visible: Visible, key: TraceKey, line: LineName = "") -> ChangePointsAnswer:
    """Return the stable regions of a trace, and the changes between them with their status."""
    return read_change_points(visible, key, line)


@traces_router.get("/traces/{key}/runs")
def get_runs(
    visible: Visible,
    key: TraceKey,
    commit: Annotated[str, Query(min_length=1, description="Hash, prefix or number.")],
) -> list[RunAnswer]:
    """List the runs that measured a trace at a commit."""
    return list_runs(visible, key, commit)


@traces_router.get("/traces/{key}/without-value")
def get_without_value(visible: Visible, key: TraceKey, line: LineName = "") -> list[WithoutValueAnswer]:
    """List the runs in which a trace failed or was skipped, at the newest 2,000 commits of a line, oldest first."""
    return list_without_value(visible, key, line)


@traces_router.get("/never-measured")
def get_never_measured(visible: Visible, repository: RepositoryName = "") -> list[NeverMeasuredAnswer]:
    """List the benchmarks without a trace: every run of them failed or was skipped."""
    return list_never_measured_answers(visible.store, visible.choose(repository))


@traces_router.get("/traces/{key}/environments")
def get_environments(visible: Visible, key: TraceKey, line: LineName = "") -> list[EnvironmentAnswer]:
    """List where machine, compiler or runner of a trace changed. Facts that change all the time are left out."""
    return list_environments(visible, key, line)


@traces_router.get("/traces/{key}/patterns")
def get_patterns(visible: Visible, instance: RequestInstance, key: TraceKey, line: LineName = "") -> PatternsAnswer:
    """Return the drifts of a trace, and the stretches in which it flips between levels, with what explains these."""
    return read_patterns(instance, visible, key, line)


@traces_router.get("/traces/{key}/explanation")
def get_explanation(
    visible: Visible,
    instance: RequestInstance,
    *,
    key: TraceKey,
    line: LineName = "",
    alert: Annotated[str, Query(description="Name of the alert. Default: the first that watches the trace.")] = "",
    commit: Annotated[str, Query(description="Only candidates near this commit: hash, prefix or number.")] = "",
) -> ExplanationAnswer:
    """Explain why there is, or is not, a finding: every candidate, and every check."""
    return explain(instance, visible, key, line_name=line, alert_name=alert, commit=commit)


clusterings_router = APIRouter(tags=["traces"])


@clusterings_router.get("/clustering", response_model=ClusteringAnswer, responses=LINES)
async def get_clustering(
    visible: Visible,
    request: Request,
    *,
    repository: RepositoryName = "",
    line: LineName = "",
    query: Annotated[str, Query(max_length=2000, description="Which traces. Default: all.")] = "",
    first: Annotated[int, Query(ge=0, le=MOST, description="First position on the line.")] = 0,
    last: Annotated[
        int | None, Query(ge=0, le=MOST, description="Last position, inclusive. Default: the newest.")
    ] = None,
    commits: Annotated[
        int, Query(ge=2, le=5000, description="How many of these commits count: the newest that were measured.")
    ] = 250,
    k: Annotated[int, Query(ge=0, le=1000, description="Clusters to look for. Default: by the number of traces.")] = 0,
    interesting: Annotated[
        float | None,
        Query(ge=0, le=1e6, description="Smallest step / error of the fit that counts. Default: 4, with `skia` 50."),
    ] = None,
    skia: Annotated[bool, Query(description="Start, stop and fit as Skia Perf does.")] = False,
    progress: Annotated[
        bool,
        Query(
            description="Answer in lines of JSON: `progress` whenever that has changed (the stage `reading`, `grouping` or "
            "`fitting`, the start of k-means of all `starts`, and its iteration), and at the end `answer`, or `error` "
            "and its `status`."
        ),
    ] = False,
) -> ClusteringAnswer | Response:
    """Group the traces of a query by shape, and fit a step to each group, as an alert with the method `cluster` does.

    The strongest step comes first. Nothing is stored, and the same values give the same clusters. At most 5,000,000
    values, traces times commits, are clustered at a time. The work ends when the connection is closed before the
    answer.
    """
    wanted = ClusteringRequest(repository, line, query, first, last, commits, ClusteringRules(k, interesting, skia))
    if progress:
        return await answer_with_progress(request, lambda: cluster_query(visible, wanted))
    return await while_waited_for(request, lambda: cluster_query(visible, wanted))


missing_router = APIRouter(tags=["missing"])


_All = RootModel[list[MissingAnswer]]


@missing_router.get("/missing", response_model=list[MissingAnswer])
def get_missing(
    request: Request,
    visible: Visible,
    instance: RequestInstance,
    cache: Cache,
    repository: Annotated[str, Query(description="Name of the repository; all of them without it.")] = "",
) -> Response:
    """List jobs, series and commits that should have results, and renames that may explain it.

    Reads the values that changed since it was asked last.
    """
    # Git has newer commits before the store does.
    newer = tuple(tuple(newer_commits(instance, each)) for each in visible.some(repository))
    question = ("missing", repository, newer, visible.extent)

    def read() -> _All:
        return _All(missing.list_missing(instance, visible, repository))

    return cache.get(visible.store, question, read).response(request)


@missing_router.post("/missing/renames")
def post_rename(_caller: Editor, visible: Visible, request: RenameRequest) -> RenameAnswer:
    """Accept a rename: a trace continues another one, for values, detection and findings. No stored value changes."""
    return missing.accept(visible, request)


@missing_router.post("/missing/renames/undo")
def post_rename_undo(_caller: Editor, visible: Visible, request: RenameRequest) -> RenameAnswer:
    """Take an accepted rename back; the findings of the old trace go back to it."""
    return missing.withdraw(visible, request)
