"""A client with nothing but the tools answers questions about an instance whose answers are known, in six calls each."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest
from tests.agents.client import call_here
from tests.server.story import FASTER, SLOWER, UNMEASURED, commit_hash, results_of

from knickpoint.agents.tool import Session
from knickpoint.model.access import Permission

_MOST_CALLS: Final = 6
Reply = dict[str, Any]
Sessions = Callable[..., Session]


class Agent:
    """A client that counts its calls."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.calls = 0

    def __call__(self, name: str, /, **arguments: Any) -> Reply:
        self.calls += 1
        found = call_here(self.session, name, **arguments)
        assert not found.is_error, found.text
        return found.reply

    def follow(self, line: str) -> Reply:
        """Make the call that a reply proposes."""
        name, _, arguments = line.removesuffix(")").partition("(")
        found = re.findall(r"(\w+)=('[^']*'|\d+)", arguments)
        return self(name, **{key: text.strip("'") if "'" in text else int(text) for key, text in found})


@pytest.fixture
def agent(reading: Session) -> Iterator[Agent]:
    made = Agent(reading)
    yield made
    assert 0 < made.calls <= _MOST_CALLS


@pytest.fixture
def deciding(session: Sessions) -> Iterator[Agent]:
    made = Agent(session(Permission.DECIDE))
    yield made
    assert 0 < made.calls <= _MOST_CALLS


def change_of(agent: Agent, words: str) -> Reply:
    """Find the only change of a benchmark, and explain it."""
    (change,) = agent("list_changes", words=words)["changes"]
    return agent("explain_change", change=change["change"])


def trace_of(agent: Agent, benchmark: str) -> int:
    (trace,) = agent("find_traces", query=f"benchmark={benchmark}")["traces"]
    number: int = trace["trace"]
    return number


def ends(text: str) -> tuple[float, float]:
    low, high = (float(each.removesuffix(" %")) for each in text.split(" and "))
    return low, high


def test_which_commit_made_parse_slower(agent: Agent) -> None:
    found = change_of(agent, "parse")
    assert (found["since"]["subject"], found["suspect_commits"]) == ("«Check every bracket»", 1)
    assert found["since"]["hash"] == commit_hash(SLOWER)[:10]


def test_who_wrote_the_commit_that_made_parse_slower(agent: Agent) -> None:
    assert change_of(agent, "parse")["since"]["author"] == "«Ada Lovelace»"


def test_by_how_much_parse_is_slower(agent: Agent) -> None:
    step = change_of(agent, "parse")["steps"][0]
    low, high = ends(step["between"])
    assert low < 25 < high
    assert (step["unit"], step["better"], round(step["level_before"], -1)) == ("«ns/iter»", "lower", 1000)


def test_what_else_moved_with_parse(agent: Agent) -> None:
    steps = change_of(agent, "parse")["steps"]
    assert [each["key"].split(",")[1] for each in steps] == ["benchmark=parse", "benchmark=print"]


def test_when_print_became_slower(agent: Agent) -> None:
    since = change_of(agent, "print")["since"]
    begun = datetime(2026, 1, 1, 9, tzinfo=UTC) + timedelta(hours=7 * SLOWER)
    assert (datetime.fromisoformat(since["time"]), since["position"]) == (begun, SLOWER)


def test_what_got_faster(agent: Agent) -> None:
    (change,) = agent("list_changes", direction="improvement")["changes"]
    assert "benchmark=load" in change["top_trace"]


def test_which_commits_may_have_made_load_faster(agent: Agent) -> None:
    found = change_of(agent, "load")
    assert (found["previous"]["position"], found["since"]["position"]) == (UNMEASURED.start - 1, FASTER)
    assert found["suspect_commits"] == len(UNMEASURED) + 1


def test_why_no_single_commit_is_named_for_load(agent: Agent) -> None:
    found = change_of(agent, "load")
    assert found["suspect_commits"] > 1
    (trace,) = [each["trace"] for each in found["steps"]]
    values = agent("trace_values", trace=trace)["values"]
    assert not {each["position"] for each in values} & set(UNMEASURED)


def test_whether_a_steady_benchmark_changed(agent: Agent) -> None:
    trace = trace_of(agent, "idle")
    assert len(agent("trace_values", trace=trace)["levels"]) == 1
    candidates = agent("check_evidence", trace=trace)["candidates"]
    assert not any(each["accepted"] for each in candidates)


def test_whether_the_change_of_parse_is_real(agent: Agent) -> None:
    found = change_of(agent, "parse")
    evidence = agent.follow(next(line for line in found["next"] if line.startswith("check_evidence")))
    accepted = [each for each in evidence["candidates"] if each["accepted"]]
    assert [each["commit"]["position"] for each in accepted] == [SLOWER]
    assert all(check["passed"] for check in accepted[0]["checks"])


def test_whether_new_results_are_safe(agent: Agent) -> None:
    safe = results_of({"speed": {"parse": 1250.0, "print": 610.0, "load": 6400.0, "idle": 200.0}}).decode()
    assert agent("judge_results", content=safe)["verdicts"].get("regressed", 0) == 0


def test_what_a_branch_makes_slower(agent: Agent) -> None:
    slower = results_of({"speed": {"parse": 2500.0, "print": 610.0, "load": 6400.0, "idle": 200.0}}).decode()
    (found,) = agent("judge_results", content=slower)["traces"]
    assert (found["verdict"], found["size"][:4]) == ("regressed", "+100")
    assert "benchmark=parse" in found["key"]


def test_which_change_of_a_branch_would_have_been_seen(agent: Agent) -> None:
    safe = results_of({"speed": {"parse": 1250.0, "print": 610.0, "load": 6400.0, "idle": 200.0}}).decode()
    found = agent("judge_results", content=safe, changed=False)["traces"]
    assert len(found) == 4
    assert all(0 < float(each["detectable"].removesuffix(" %")) < 10 for each in found)


def test_what_changed_between_two_commits(agent: Agent) -> None:
    found = agent("compare_commits", base=commit_hash(SLOWER - 5), head=commit_hash(SLOWER + 5))
    assert sorted(each["key"].split(",")[1] for each in found["traces"]) == ["benchmark=parse", "benchmark=print"]


def test_whether_the_newest_commit_is_safe(agent: Agent) -> None:
    found = agent("compare_commits", base=commit_hash(FASTER + 5))
    assert found["verdicts"].get("regressed", 0) == 0
    assert found["head"]["position"] == 59


def test_how_large_load_was_before(agent: Agent) -> None:
    trace = trace_of(agent, "load")
    before = agent("trace_values", trace=trace, last=UNMEASURED.start - 1)
    assert before["values"][0]["value"] == pytest.approx(8000, rel=0.03)
    assert [round(each["median"], -2) for each in before["levels"]] == [8000, 6400]


def test_which_benchmarks_there_are(agent: Agent) -> None:
    (repository,) = agent("list_repositories")["repositories"]
    found = agent("find_traces", repository=repository["repository"])
    assert found["shown"] == "1 to 4 of 4"
    (param,) = found["params"]
    assert {each["value"] for each in param["values"]} == {"«idle»", "«load»", "«parse»", "«print»"}


def test_what_began_in_a_week(agent: Agent) -> None:
    found = agent("list_changes", since="2026-01-12", until="2026-01-18")["changes"]
    assert [each["since"]["position"] for each in found] == [FASTER]


def test_what_has_no_results(agent: Agent) -> None:
    assert agent("list_missing")["shown"] == "none of 0"


def test_what_a_suspect_range_is(agent: Agent) -> None:
    section = agent("search_documentation", words="suspect range")["sections"][0]
    assert "suspect range" in section["text"].lower()


def test_take_back_my_last_decision(deciding: Agent) -> None:
    done = deciding("decide", changes=["R1"], status="acknowledged", note="known")
    assert deciding("explain_change", change="R1")["decision"] == "acknowledged"
    undone = deciding.follow(done["next"][0])
    assert [(each["change"], each["decision"]) for each in undone["changes"]] == [("R1", "new")]
    assert deciding("list_changes")["counts"]["unprocessed"] == 2


def test_take_back_what_was_decided_in_another_conversation(deciding: Agent) -> None:
    deciding("decide", changes=["R2"], status="hidden")
    (decided,) = deciding("list_changes", which="processed")["changes"]
    undone = deciding("undo_decision", changes=[decided["change"]])
    assert [(each["change"], each["decision"]) for each in undone["changes"]] == [("R2", "new")]


def test_hide_all_that_is_open(deciding: Agent) -> None:
    open_changes = [each["change"] for each in deciding("list_changes")["changes"]]
    deciding("decide", changes=open_changes, status="hidden", note="The machine was rebuilt")
    assert deciding("list_changes")["shown"] == "none of 0"
    assert {each["decision"] for each in deciding("list_changes", which="processed")["changes"]} == {"hidden"}


def test_show_a_person_how_parse_went(agent: Agent) -> None:
    agent.calls += 1
    assert call_here(agent.session, "trace_values", trace=trace_of(agent, "parse"), picture=True).pictures
