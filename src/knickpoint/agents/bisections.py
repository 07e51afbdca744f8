"""The tools about bisections, which find the commit of a change by measuring commits: list, show, start and stop them."""

from __future__ import annotations

from typing import Final

from pydantic import Field

from knickpoint.agents.tool import (
    First,
    Page,
    Reply,
    RepositoryName,
    Request,
    Said,
    Session,
    call,
    commit_facts,
    hash_text,
    tool,
)
from knickpoint.answers.base import BisectionId, ChangeId, Text
from knickpoint.answers.bisections import (
    BisectionAnswer,
    BisectionDetailAnswer,
    ask,
    find_bisection,
    list_recipes,
    stop,
)
from knickpoint.answers.bisections import list_bisections as list_newest
from knickpoint.model.access import Permission
from knickpoint.model.bisection import BisectionState

_MOST: Final = 500
_PAGE: Final = 30
_FEW: Final = 5
_OPEN: Final = frozenset({BisectionState.WAITING, BisectionState.RUNNING})


class BisectionsRequest(Request):
    """Which bisections."""

    repository: RepositoryName = ""
    change: ChangeId | None = Field(default=None, description="Only those of this change, as `R12`.")
    unfinished: bool = Field(default=False, description="Only those that wait or run.")
    first: First = 0


@tool()
def list_bisections(session: Session, asked: BisectionsRequest) -> Reply:
    """List bisections, the newest first: searches for the commit of a change that build and measure commits again.

    `culprit`: one commit was found, with this probability. `range`: several are left. `not reproducible`: the ends of
    the range do not differ when they are measured again. `gave up`: the budget ended.
    """
    states = sorted(_OPEN, key=lambda state: state.value) if asked.unfinished else []
    found = list_newest(session.visible, asked.repository, states, asked.change or 0, _MOST)
    items = [_bisection(each) for each in found[asked.first :][:_PAGE]]
    calls = [call("show_bisection", bisection=f"B{each.id}") for each in found[asked.first :][:1]]
    return Reply({}, Page("bisections", items, asked.first, len(found)), calls or [call("list_changes")])


def _bisection(each: BisectionAnswer) -> dict[str, object]:
    return {
        "bisection": Said(f"B{each.id}"),
        "repository": each.repository,
        "change": Said(f"R{each.change}") if each.change else None,
        "trace_key": each.trace,
        "recipe": each.recipe,
        "state": each.state,
        "reason": each.reason,
        "culprits": [commit_facts(commit) for commit in each.culprits[:_FEW]],
        "probability": each.probability or None,
        "commits": each.commits,
        "probes_made": each.probes,
        "asked": each.asked,
        "by": each.who,
        "ended": each.ended,
        "stopping": each.stopping or None,
    }


class BisectionRequest(Request):
    """Which bisection."""

    bisection: BisectionId = Field(description="Id of the bisection, as `B4`.")
    first: First = 0


@tool()
def show_bisection(session: Session, asked: BisectionRequest) -> Reply:
    """Show how a bisection stands: its result with the probability, the most likely commits, and each measurement."""
    return _detail(find_bisection(session.visible, asked.bisection), asked.first)


def _detail(found: BisectionDetailAnswer, first: int = 0) -> Reply:
    likely = sorted(
        (each for each in found.candidates if each.probability), key=lambda each: each.probability or 0.0, reverse=True
    )
    hashes = [hash_text(each.commit.short) for each in found.candidates]
    facts = {
        **_bisection(found),
        "most_likely": [{**commit_facts(each.commit), "probability": each.probability} for each in likely[:_FEW]],
        "probability_of_none": found.none,
        "probability_of_several": found.several,
        "waits_behind": found.queue or None,
        "seconds_left": found.seconds_left,
        "log": [line.text for line in found.log[-_FEW:]],
    }
    newest = found.probe_list[::-1]
    items = [
        {
            "probe": each.number,
            "commit": hashes[each.place] if each.place < len(hashes) else None,
            "outcome": each.outcome or Said("waits or runs"),
            "value": each.value,
            "unit": found.unit,
            "seconds": each.seconds,
            "device": each.device,
            "reason": each.reason,
        }
        for each in newest[first:][:_PAGE]
    ]
    name = f"B{found.id}"
    calls = [call("show_bisection", bisection=name)] if found.state in _OPEN else []
    calls += [call("explain_change", change=f"R{found.change}")] if found.change else []
    return Reply(facts, Page("probes", items, first, len(newest)), calls)


class StartRequest(Request):
    """What is to be bisected, and how."""

    change: ChangeId = Field(description="Id of the change, as `R12`.")
    recipe: Text = Field(
        default="",
        max_length=200,
        description="Name of a recipe of the configuration. Default: the only one that fits.",
    )


@tool(Permission.MEASURE)
def start_bisection(session: Session, asked: StartRequest) -> Reply:
    """Start a bisection of a change: it builds and measures commits of the suspect range, which takes minutes to hours.

    Only commands of the configuration are run: the recipe that is named. Where the same bisection waits or runs
    already, that one is returned. Ask for it again with `show_bisection`, at most once a minute.
    """
    recipes = list_recipes(session.visible, session.instance, asked.change)
    found = _detail(ask(session.visible, session.instance, asked.change, asked.recipe))
    return Reply({**found.facts, "fitting_recipes": recipes[:_FEW]}, found.page, found.next)


class StopRequest(Request):
    """Which bisection."""

    bisection: BisectionId = Field(description="Id of the bisection, as `B4`.")


@tool(Permission.MEASURE)
def stop_bisection(session: Session, asked: StopRequest) -> Reply:
    """Stop a bisection that waits or runs. What it measured stays."""
    return _detail(stop(session.visible, session.instance, asked.bisection))
