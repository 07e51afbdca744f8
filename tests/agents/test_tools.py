"""Every tool: good and bad input, the permission that it needs, the size of its reply, and whose words are in it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import jsonschema
import pytest
from tests.agents.client import call_here, tools_here
from tests.hostile_names import HOSTILE, make_hostile
from tests.server.story import SLOWER, commit_hash, results_of

from knickpoint.access.local_user import local_caller
from knickpoint.agents import attempts, begin_session, bisections, changes, documentation, measurements
from knickpoint.agents.server import TOOLS, answer_call
from knickpoint.agents.tool import LONGEST, Session, Tool
from knickpoint.answers.plots import draw_plot
from knickpoint.instance import open_instance
from knickpoint.model.access import Permission
from knickpoint.model.query import parse_query
from knickpoint.plots.shapes import Text

GOOD: Final[Mapping[str, Mapping[str, Any]]] = {
    "list_repositories": {},
    "list_changes": {},
    "explain_change": {"change": "R1"},
    "check_evidence": {"trace": 0, "commit": commit_hash(SLOWER)},
    "find_traces": {"query": "benchmark=parse"},
    "trace_values": {"trace": 0},
    "compare_commits": {"base": commit_hash(SLOWER - 5), "head": commit_hash(SLOWER + 5)},
    "judge_results": {"content": results_of({"speed": {"parse": 2500.0}}).decode(), "name": "mine.js"},
    "list_missing": {},
    "list_bisections": {},
    "report_attempts": {},
    "search_documentation": {"words": "suspect range"},
}
"""Tools that only read → input that they take."""

BAD: Final[Mapping[str, tuple[Mapping[str, Any], str]]] = {
    "list_repositories": ({"name": "x"}, "name"),
    "list_changes": ({"repository": "elsewhere"}, "there is no repository"),
    "explain_change": ({"change": "R99"}, "there is no change 99"),
    "check_evidence": ({"trace": 99}, "there is no trace 99"),
    "find_traces": ({"query": "benchmark~=("}, "query"),
    "trace_values": ({"trace": "parse"}, "trace"),
    "compare_commits": ({"base": "0000000"}, "0000000"),
    "judge_results": ({}, "either content or path"),
    "list_missing": ({"first": -1}, "first"),
    "list_bisections": ({"change": "thirteen"}, "change"),
    "show_bisection": ({"bisection": "B99"}, "there is no bisection 99"),
    "start_bisection": ({"change": "R1", "recipe": "rm -rf"}, "recipe"),
    "stop_bisection": ({"bisection": "B99"}, "there is no bisection 99"),
    "start_attempts": ({"base": "main", "recipe": "rm -rf"}, "there is no recipe"),
    "try_commit": ({"session": "T9", "commit": "main"}, "there is no session T9"),
    "report_attempts": ({"session": "R1"}, "session"),
    "stop_attempts": ({"session": "T9"}, "there is no session T9"),
    "decide": ({"changes": ["R1"], "status": "deleted"}, "status"),
    "undo_decision": ({"first_entry": 7, "last_entry": 9}, "nothing of this decision is left"),
    "search_documentation": ({"words": ""}, "words"),
}
"""Every tool → input that it refuses, and a word of the reason."""

Sessions = Callable[..., Session]


def test_the_server_has_every_tool_that_is_defined() -> None:
    defined = {
        each.name
        for module in (attempts, bisections, changes, documentation, measurements)
        for each in vars(module).values()
        if isinstance(each, Tool)
    }
    assert set(TOOLS) == defined == set(BAD)
    assert set(TOOLS) - set(GOOD) == {"show_bisection", *(each.name for each in TOOLS.values() if not_read(each))}


def not_read(each: Tool) -> bool:
    return each.permission is not Permission.READ


@pytest.mark.parametrize("name", GOOD)
def test_a_tool_answers_good_input_shortly(reading: Session, name: str) -> None:
    found = call_here(reading, name, **GOOD[name])
    assert not found.is_error, found.text
    assert len(found.text) <= LONGEST
    assert found.reply.get("next") or found.reply["shown"]


@pytest.mark.parametrize("name", BAD)
def test_a_tool_refuses_bad_input_with_a_reason(session: Sessions, name: str) -> None:
    arguments, reason = BAD[name]
    found = call_here(session(Permission.DECIDE, Permission.MEASURE), name, **arguments)
    assert found.is_error
    assert reason in found.text
    assert len(found.text) <= 1_000


@pytest.mark.parametrize("name", BAD)
def test_a_tool_refuses_an_argument_that_it_does_not_have(session: Sessions, name: str) -> None:
    found = call_here(session(*Permission), name, **GOOD.get(name, {}), command="rm -rf /")
    assert found.is_error
    assert "command" in found.text


@pytest.mark.parametrize("name", sorted(TOOLS))
def test_a_schema_is_one_and_describes_each_argument(name: str) -> None:
    schema = TOOLS[name].schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["type"] == "object"
    assert all("description" in each for each in schema.get("properties", {}).values())
    if name in GOOD:
        jsonschema.validate(dict(GOOD[name]), schema)


def test_the_descriptions_of_all_tools_are_affordable(session: Sessions) -> None:
    listed = tools_here(session(*Permission))
    assert sum(len(each.model_dump_json(exclude_none=True)) for each in listed) < 20_000
    assert all(re.fullmatch("[a-z_]{4,40}", each.name) for each in listed)
    assert all(40 < len(each.description or "") < 800 for each in listed)


@pytest.mark.parametrize("allowed", [(), (Permission.DECIDE,), (Permission.MEASURE,)])
def test_an_agent_sees_and_calls_only_the_tools_that_it_may_use(
    session: Sessions, allowed: tuple[Permission, ...]
) -> None:
    mine = session(*allowed)
    expected = [each.name for each in TOOLS.values() if each.permission in {Permission.READ, *allowed}]
    assert [each.name for each in tools_here(mine)] == expected
    assert [each.name for each in tools_here(mine) if each.annotations and each.annotations.read_only_hint] == [
        each.name for each in TOOLS.values() if not not_read(each)
    ]
    for name in set(TOOLS) - set(expected):
        found = call_here(mine, name, **BAD[name][0])
        assert found.is_error
        assert f"--allow {TOOLS[name].permission.value}" in found.text


def test_there_is_no_other_tool(reading: Session) -> None:
    found = call_here(reading, "delete_everything")
    assert found.is_error
    assert "list_changes" in found.text


def test_a_decision_is_recorded_and_taken_back(session: Sessions) -> None:
    deciding = session(Permission.DECIDE)
    done = call_here(deciding, "decide", changes=["R1"], status="acknowledged", note="known").reply
    assert done["changes"][0]["decision"] == "acknowledged"
    assert call_here(deciding, "explain_change", change="R1").reply["note"] == "«known»"
    entries = {name: done[name] for name in ("first_entry", "last_entry")}
    assert call_here(deciding, "undo_decision", **entries).reply["changes"][0]["decision"] == "new"
    assert call_here(deciding, "undo_decision", **entries).is_error


def test_a_file_is_judged_by_its_path_on_this_machine_only(reading: Session, tmp_path: Path) -> None:
    file = tmp_path / "new.js"
    file.write_bytes(results_of({"speed": {"parse": 2500.0, "load": 6400.0}}))
    found = call_here(reading, "judge_results", path=str(file), partial=True).reply
    assert [each["verdict"] for each in found["traces"]] == ["regressed"]
    assert found["traces"][0]["size"].startswith("+100")
    remote = begin_session(reading.instance, local_caller())
    refused = call_here(remote, "judge_results", path="/etc/passwd")
    assert refused.is_error
    assert "reads no files" in refused.text


def test_a_file_that_is_none_is_refused(reading: Session) -> None:
    for path in ("/etc/passwd", "/does/not/exist", "/dev"):
        found = call_here(reading, "judge_results", path=path)
        assert found.is_error
        assert "root:" not in found.text


def test_the_values_of_a_trace_are_read_to_the_end(reading: Session) -> None:
    positions: list[int] = []
    arguments: dict[str, Any] = {"trace": 0}
    for _ in range(9):
        found = call_here(reading, "trace_values", **arguments).reply
        positions += [each["position"] for each in found["values"]]
        if "rest" not in found:
            break
        arguments["last"] = int(re.findall(r"last=(\d+)", found["rest"])[0])
    assert positions == list(range(60))[::-1]


def test_texts_may_be_sent_back_with_their_marks(reading: Session) -> None:
    (repository,) = call_here(reading, "list_repositories").reply["repositories"]
    assert call_here(reading, "list_changes", repository=repository["repository"]).reply["changes"]


def test_a_defect_is_told_and_kept_from_the_agent(reading: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = Tool("broken", "", TOOLS["list_repositories"].request, Permission.READ, lambda *_: 1 / 0)  # type: ignore[arg-type]
    monkeypatch.setitem(TOOLS, "broken", broken)
    answer = answer_call(reading, "broken", {})
    assert answer.is_error
    assert "defect of Knickpoint" in answer.model_dump_json()
    assert "division" not in answer.model_dump_json()


def test_values_come_as_a_picture_too(reading: Session) -> None:
    found = call_here(reading, "trace_values", trace=0, picture=True)
    (picture,) = found.pictures
    assert (picture[:8], len(picture) < 60_000) == (b"\x89PNG\r\n\x1a\n", True)
    plain = call_here(reading, "trace_values", trace=0)
    assert (plain.text, plain.pictures) == (found.text, ())


def test_a_picture_for_an_agent_has_no_text_from_outside(attacked: Session) -> None:
    traces = attacked.visible.store.traces.select(attacked.visible.all()[0], parse_query(""))
    for trace in traces.tolist():
        texts = [
            each.text
            for each in draw_plot(attacked.visible, trace, line_name="", named=False).shapes
            if isinstance(each, Text)
        ]
        assert f"trace {trace}" in texts
        assert not any(foreign in text for text in texts for foreign in _FOREIGN)


# Texts from outside


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    place = tmp_path_factory.mktemp("hostile")
    make_hostile(place)
    with open_instance(place / "instance") as opened:
        yield begin_session(opened, local_caller(), frozenset(Permission), local=True)


def strings(value: object) -> Iterator[str]:
    """Yield every text in a reply, names of fields included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from value
        for each in value.values():
            yield from strings(each)
    elif isinstance(value, list):
        for each in value:
            yield from strings(each)


_FOREIGN: Final = tuple(text[:8] for name, text in HOSTILE.items() if name not in {"plus", "zalgo", "percent", "at"})


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("list_repositories", {}),
        ("list_changes", {"which": "all"}),
        ("explain_change", {"change": "R1"}),
        ("check_evidence", {"trace": 0}),
        ("find_traces", {}),
        ("trace_values", {"trace": 0}),
        ("compare_commits", {"base": "", "changed": False}),
        ("list_missing", {}),
        ("list_changes", {"repository": HOSTILE["html"]}),
        ("find_traces", {"query": HOSTILE["html"]}),
    ],
)
def test_what_others_wrote_is_always_between_marks(attacked: Session, name: str, arguments: dict[str, Any]) -> None:
    if name == "compare_commits":
        arguments = {**arguments, "base": call_here(attacked, "explain_change", change=1).reply["previous"]["hash"]}
    found = call_here(attacked, name, **arguments)
    assert len(found.text) <= LONGEST
    own = [text for text in strings(found.reply) if not (text.startswith("«") and text.endswith("»"))]
    assert [text for text in own if any(foreign in text for foreign in _FOREIGN)] == []
    assert all("«" not in text and "»" not in text for text in own)
    assert all(not {"«", "»"} & set(text[1:-1]) for text in strings(found.reply))
    assert all(text.isprintable() for text in strings(json.loads(found.text)) if "\n" not in text)


def test_the_words_that_are_looked_for_are_in_what_an_agent_reads(attacked: Session) -> None:
    for name, arguments in (("find_traces", {}), ("explain_change", {"change": 1})):
        found = call_here(attacked, name, **arguments)
        assert sum(foreign in text for foreign in _FOREIGN for text in strings(found.reply)) > 5
