"""The tools about what was measured: find traces, read values, compare commits, judge a results file, see what lacks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

from pydantic import Field

from knickpoint.agents.tool import (
    First,
    LineName,
    Page,
    Reply,
    RepositoryName,
    Request,
    Said,
    Session,
    call,
    commit_facts,
    for_agent,
    percent,
    share_text,
    tool,
    trace_facts,
)
from knickpoint.answers.base import Id, Text
from knickpoint.answers.change_points import read_change_points
from knickpoint.answers.commits import commit_answer
from knickpoint.answers.comparisons import (
    ComparisonAnswer,
    ComparisonRequest,
    ComparisonSideAnswer,
    JudgedBenchmarkAnswer,
    ListRequest,
    UploadedRequest,
    compare,
    compare_uploaded,
)
from knickpoint.answers.missing import list_missing as list_absent
from knickpoint.answers.plots import draw_plot
from knickpoint.answers.tabular_values import list_values
from knickpoint.answers.traces import list_facets, list_traces
from knickpoint.answers.values import WantedValues
from knickpoint.model.errors import InputError
from knickpoint.plots import png

_PAGE: Final = 50
_FEW: Final = 5
_MOST_PARAMS: Final = 8
_BYTES: Final = 2_000_000
"""Bytes of a results file that an agent names or sends."""

_QUERY: Final = (
    "Terms that must all match: `param=value`, as in `benchmark=parse os=linux`, `param!=value`, `param~=regular"
    " expression`, or a part of the key. Empty matches every trace."
)
_REVISION: Final = "A hash or a unique beginning of one, a tag, a branch, a day as 2026-03-14, or `newest`."

Query = Annotated[Text, Field(max_length=2000, description=_QUERY)]


class TracesRequest(Request):
    """Which traces."""

    query: Query = ""
    repository: RepositoryName = ""
    first: First = 0


@tool()
def find_traces(session: Session, asked: TracesRequest) -> Reply:
    """Look for traces. A trace is one benchmark in one configuration; its key lists its params.

    `params` are the params of the matching traces with the most frequent values, by which a query can be narrowed.
    """
    repository, store = session.visible.choose(asked.repository), session.visible.store
    found = list_traces(store, repository, asked.query, asked.first, _PAGE)
    facets = list_facets(store, repository, asked.query).facets if asked.first == 0 else []
    params = [
        {
            "param": each.name,
            "distinct": each.distinct,
            "values": [{"value": value.value, "traces": value.count} for value in each.values[:_FEW]],
        }
        for each in facets[:_MOST_PARAMS]
        if each.distinct > 1
    ]
    items = [trace_facts(each) for each in found.traces]
    calls = [call("trace_values", trace=found.traces[0].id)] if found.traces else [call("find_traces", query="")]
    facts = {"repository": repository.name, "params": params}
    return Reply(facts, Page("traces", items, asked.first, found.total), calls)


class ValuesRequest(Request):
    """Which values of which trace."""

    trace: Id = Field(description="Id of the trace, a number, as `find_traces` lists it.")
    line: LineName = ""
    last: int | None = Field(
        default=None,
        ge=0,
        le=2**53,
        description="Only values at this position of the line or before. Default: the end.",
    )
    picture: bool = Field(default=False, description="Add a plot of the whole line, with its levels and changes.")


@tool()
def trace_values(session: Session, asked: ValuesRequest) -> Reply:
    """Read the values of a trace as numbers, the newest first, and the levels between its changes.

    Values are noisy: two of them say little about a change, whatever their difference. Compare `levels`, which are
    medians of stable stretches between changes. A position counts the commits of the line from 0, the oldest.
    """
    known = read_change_points(session.visible, asked.trace, asked.line)
    store, (repository, _) = session.visible.store, session.visible.trace(asked.trace)
    line = store.commits.line(repository, asked.line)
    end = len(line.slots) - 1
    last = end if asked.last is None else min(asked.last, end)
    (found,) = list_values(store, WantedValues(line, [asked.trace], 0, last, max(2, last + 1)))
    newest = list(zip(found.positions, found.values, strict=True))[::-1][: 2 * _PAGE]
    slots = [line.slots[position] for position, _ in newest]
    commits = {each.slot: each.commit for each in store.commits.get(repository, slots)}
    items = [
        {
            "position": position,
            "value": value,
            **{
                name: fact
                for name, fact in commit_facts(commit_answer(commits[line.slots[position]], position)).items()
                if name in {"hash", "time"}
            },
        }
        for position, value in newest
    ]
    facts = {
        **trace_facts(known.trace),
        "line": known.line,
        "levels": [
            {
                "first": each.first,
                "last": each.last,
                "median": each.median,
                "values": each.count,
                "low": each.low,
                "high": each.high,
            }
            for each in known.regions[-_FEW:]
        ],
        "changes": [Said(f"R{key}") for key in list(known.statements)[-_FEW:]],
        "newest_value": known.newest and {"verdict": known.newest.verdict, "certainty": Said("rests on one value")},
    }
    page = Page("values", items, 0, found.measured, rest=lambda shown: f"last={newest[shown - 1][0] - 1}")
    calls = [call("explain_change", change=f"R{key}") for key in list(known.statements)[-1:]]
    drawn = draw_plot(session.visible, asked.trace, line_name=asked.line, named=False) if asked.picture else None
    return Reply(facts, page, [*calls, call("check_evidence", trace=asked.trace)], png(drawn) if drawn else b"")


class CompareRequest(Request):
    """Which commits."""

    base: Text = Field(min_length=1, max_length=1000, description=f"The commit to compare with. {_REVISION}")
    head: Text = Field(default="newest", min_length=1, max_length=1000, description=f"The new commit. {_REVISION}")
    repository: RepositoryName = ""
    line: LineName = ""
    head_line: Text = Field(default="", max_length=1000, description="Line of the head. Default: that of the base.")
    query: Query = ""
    changed: bool = Field(default=True, description="List only what regressed or improved; the counts are of all.")
    first: First = 0


@tool()
def compare_commits(session: Session, asked: CompareRequest) -> Reply:
    """Judge the stored results of a commit against the history up to another one, all traces by one decision.

    Nothing is measured. Each trace has one of five verdicts: `regressed`, `improved`, `unchanged`, `unstable` (too
    noisy to say) or `no data`. `unchanged` means that no change of the size `detectable` or more was seen, not that
    there is none. A verdict that is `conditional` rests on too little: it has to be measured again.
    """
    listed = ListRequest(asked.changed, by_suite=False, first=asked.first, limit=_PAGE)
    wanted = ComparisonRequest(
        asked.repository, asked.line, asked.head_line, asked.base, asked.head, asked.query, "median", 3, listed
    )
    return _compared(compare(session.visible, session.instance, wanted), asked.first, changed=asked.changed)


class ResultsRequest(Request):
    """Which results, and what they are judged against."""

    content: Text = Field(
        default="", max_length=_BYTES, description="The results file itself, in any format that is known."
    )
    path: Text = Field(
        default="",
        max_length=4000,
        description="Path of the results file instead, on the machine of the instance; only over stdio.",
    )
    name: Text = Field(default="results", min_length=1, max_length=200, description="Name of the file, for messages.")
    base: Text = Field(
        default="newest", min_length=1, max_length=1000, description=f"The commit to compare with. {_REVISION}"
    )
    repository: RepositoryName = ""
    line: LineName = ""
    query: Query = ""
    partial: bool = Field(default=False, description="The file lacks benchmarks on purpose.")
    changed: bool = Field(default=True, description="List only what regressed or improved; the counts are of all.")
    first: First = 0


@tool()
def judge_results(session: Session, asked: ResultsRequest) -> Reply:
    """Judge a file of new results against the history, as the check of a pull request does. Nothing of it is stored.

    One run is little: results of several runs of each benchmark give fewer `conditional` verdicts. The verdicts hold
    for results of the machine that the history is from.
    """
    data = _read(session, asked)
    listed = ListRequest(asked.changed, by_suite=False, first=asked.first, limit=_PAGE)
    name = Path(asked.path).name if asked.path else asked.name
    wanted = UploadedRequest(
        asked.repository, asked.line, asked.base, "", 0, name, asked.query, "median", asked.partial, listed
    )
    found = compare_uploaded(session.visible, session.instance, data, wanted)
    return _compared(found, asked.first, changed=asked.changed)


def _read(session: Session, asked: ResultsRequest) -> bytes:
    """Return the results that were sent or named.

    Raises:
        InputError: there are none, two, too many, or a file that may not or cannot be read.
    """
    if bool(asked.content) == bool(asked.path):
        raise InputError("expected either content or path", where="content", remedy="Give one of the two.")
    if asked.content:
        return asked.content.encode()
    if not session.local:
        raise InputError(
            "the server reads no files of its machine", where="path", remedy="Send the file itself as content."
        )
    try:
        with Path(asked.path).open("rb") as file:
            data = file.read(_BYTES + 1)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", where=asked.path, remedy="Correct the path.") from error
    if len(data) > _BYTES:
        raise InputError(
            f"the file has more than {_BYTES:,} bytes",
            where=asked.path,
            remedy="Run knick check, which has no such limit.",
        )
    return data


def _compared(found: ComparisonAnswer, first: int, *, changed: bool) -> Reply:
    facts = {
        "repository": found.repository,
        "base": _side(found.base),
        "head": _side(found.head),
        "verdicts": found.counts,
        "compared_traces": found.compared,
        "chance_of_a_false_alarm": share_text(found.false_positives),
        "replayed_commits": found.replayed,
        "warnings": [for_agent(each) for each in found.warnings[:_FEW]],
        "listed": Said("what changed; changed=false lists every trace") if changed else None,
    }
    items = [_verdict(each) for each in found.traces]
    calls = [call("trace_values", trace=each.trace_id) for each in found.traces if each.trace_id is not None][:1]
    return Reply(facts, Page("traces", items, first, found.total), calls or [call("list_changes")])


def _side(side: ComparisonSideAnswer) -> dict[str, object]:
    if side.commit is None:
        return {"file": side.file, "runs": side.runs}
    return {"line": side.line, **commit_facts(side.commit)}


def _verdict(each: JudgedBenchmarkAnswer) -> dict[str, object]:
    ends = [percent(end) for end in (each.low, each.high)]
    return {
        "trace": each.trace_id,
        "key": each.trace,
        "verdict": each.verdict,
        "certainty": Said("conditional: measure again") if each.conditional else Said("decided"),
        "reason": each.reason,
        "accepted_because": each.accepted,
        "size": percent(each.relative_size),
        "between": Said(" and ".join(filter(None, ends))),
        "detectable": share_text(each.detectable),
        "before": each.before,
        "after": each.after,
        "unit": each.unit,
        "better": each.better,
        "new_values": each.samples,
    }


class MissingRequest(Request):
    """Of which repository."""

    repository: RepositoryName = ""
    first: First = 0


@tool()
def list_missing(session: Session, asked: MissingRequest) -> Reply:
    """List what should have results and has none: jobs that stopped, benchmarks that vanished, commits left out.

    A benchmark that vanished may have been renamed: `rename` entries propose the trace that continues it, with a
    probability. `commits_without` counts measured commits since `last_result`, `usual_gap` is the longest recent gap
    between results. What is missing was not measured, and nothing can be said about its speed.
    """
    items: list[dict[str, object]] = []
    for found in list_absent(session.instance, session.visible, asked.repository):
        items += [
            {
                "repository": each.repository,
                "kind": each.kind,
                "params": each.params[:_FEW],
                "count": each.count or None,
                "traces": [trace.key for trace in each.traces[:_FEW]],
                "last_result": commit_facts(each.last),
                "commits_without": each.silent,
                "usual_gap": each.usual,
            }
            for each in found.entries
        ]
        items += [
            {
                "repository": found.repository,
                "kind": Said("rename"),
                "old": trace_facts(each.old),
                "new": trace_facts(each.new),
                "probability": each.probability,
            }
            for each in found.proposed
        ]
    calls = [call("list_changes")]
    return Reply({}, Page("missing", items[asked.first :][:_PAGE], asked.first, len(items)), calls)
