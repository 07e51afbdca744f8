"""The profiles before and after a change name the function that costs it, once, wherever the change is shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.instance.test_suspects import Story, copied, make_repository, make_template, story
from tests.repositories import GitRepository
from tests.server.client import Client
from tests.watch.conftest import World

from knickpoint.answers.change_pages import read_change_page
from knickpoint.answers.flame_graphs import read_flame_graph
from knickpoint.answers.visible_repositories import UnknownError, VisibleRepositories
from knickpoint.gate import GateOptions, judge_commits, judge_files, judge_results
from knickpoint.history import Git
from knickpoint.ingest.held_files import remove_profiles
from knickpoint.ingest.new_results import read_compared_results, read_new_results
from knickpoint.ingest.settings import IngestSettings
from knickpoint.instance import Config, open_instance, rank_new_suspects
from knickpoint.model.access import Caller, CallerKind, Grants, Permission
from knickpoint.model.bisection import BisectionState
from knickpoint.model.change_point import SuspectRange
from knickpoint.model.errors import NotSignedInError
from knickpoint.model.query import parse_query
from knickpoint.model.statement import Statement
from knickpoint.profiles import Measured, Profile, ProfileBuilder, ValueKind, pack_profile
from knickpoint.reports import markdown_comment
from knickpoint.server import create_app
from knickpoint.store.bisections import BisectionAnswer, BisectionRequest
from knickpoint.store.profiles import ProfileTable, ProfileWrite, StoredProfile
from knickpoint.watch import causes
from knickpoint.watch.bisections import put_on_finding
from knickpoint.watch.commit_comparison import LinePosition

BEFORE = {"main;load": 0.03, "main;helper": 0.05, "main": 0.02}
AFTER = BEFORE | {"main;helper": 0.08}
PLACE = ("src/x1.py", 120)
"""Of the commits from 21 to 25, only the last one touches that file."""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> GitRepository:
    return make_repository(tmp_path_factory.mktemp("git") / "project")


@pytest.fixture(scope="module")
def template(project: GitRepository, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_template(tmp_path_factory.mktemp("slowed") / "instance", project)


@pytest.fixture
def slowed(template: Path, tmp_path: Path) -> Iterator[Story]:
    """A change of `parse` from 100 to 130 ms after the commit 20, which is found already."""
    yield from copied(template, tmp_path / "instance")


def profile(
    story: Story,
    slot: int,
    stacks: Mapping[str, float],
    *,
    times: float = 1.0,
    unit: str = "s",
    number: int = 0,
    benchmark: str = "parse",
) -> None:
    """Keep a profile at a commit; ``times`` is what all of its costs are multiplied with."""
    made = _built(stacks, 7 * slot + 3 * number, times=times, unit=unit)
    name = f"{benchmark}:{slot}:{number}:{unit}"
    story.world.store.profiles.write(
        story.world.repository,
        ProfileWrite(slot, name, benchmark, "", pack_profile(made), "made", made.kind.value, unit, name, 1),
    )


def _built(stacks: Mapping[str, float], turn: int = 0, *, times: float = 1.0, unit: str = "s") -> Profile:
    builder = ProfileBuilder()
    for place, (stack, cost) in enumerate(stacks.items()):
        jitter = 1 + 0.001 * ((turn + place) % 5 - 2)
        frames = [
            builder.frame(name, f"/home/ci/{PLACE[0]}" if name == "helper" else f"/home/ci/src/{name}.py", PLACE[1])
            for name in stack.split(";")
        ]
        builder.add_path(frames, cost * times * jitter)
    return builder.build("made", ValueKind.TIME if unit == "s" else ValueKind.INSTRUCTIONS, unit)


def profiled(story: Story, *, times: float = 1.0, unit: str = "s", after: Mapping[str, float] = AFTER) -> Statement:
    """Keep three profiles a side, and return the statement of the change."""
    for number in range(3):
        profile(story, 20, BEFORE, times=times, unit=unit, number=number)
        profile(story, 25, after, times=times, unit=unit, number=number)
    rank_new_suspects(story.instance)
    return stated(story)


def change_of(story: Story) -> int:
    (key,) = story.world.store.findings.groups.suspect_ranges(story.world.repository)
    return key


def stated(story: Story) -> Statement:
    key = change_of(story)
    return story.world.store.findings.statements.of_changes([key])[key]


def test_the_statement_names_the_function_its_place_and_the_commit_that_touched_it(
    slowed: Story, project: GitRepository
) -> None:
    assert stated(slowed).cause == ""
    (touching,) = (each.hash for each in Git.at(project.directory).first_parents("main")[25:26])
    cause = profiled(slowed).cause
    assert cause.startswith("+30 ms of +30 ms in helper (src/x1.py:120).")
    assert cause.endswith(f" {touching[:10]} touched x1.py.")


def test_the_commit_that_touches_the_function_becomes_the_first_suspect(slowed: Story) -> None:
    rank_new_suspects(slowed.instance)
    assert slowed.suspects().suspects[0].slot == 22
    profiled(slowed)
    first = slowed.suspects().suspects[0]
    assert first.slot == 25
    assert first.reasons[0].startswith("touches src/x1.py, and profiles show the change in helper")


def test_profiles_are_compared_once_until_there_are_others(slowed: Story, monkeypatch: pytest.MonkeyPatch) -> None:
    profiled(slowed)
    compared = []
    monkeypatch.setattr(causes, "compare", lambda *arguments: compared.append(arguments) or _compare(*arguments))  # type: ignore[func-returns-value]
    assert rank_new_suspects(slowed.instance) == 0
    (before,) = slowed.world.points("parse")
    for slot in range(30, 40):
        slowed.world.put(slot, {"parse": 130.2})
    slowed.run()
    rank_new_suspects(slowed.instance)
    (later,) = slowed.world.points("parse")
    assert before.numbers.size != later.numbers.size == pytest.approx(before.numbers.size, rel=0.01)
    assert compared == []
    profile(slowed, 20, BEFORE, number=3)
    assert rank_new_suspects(slowed.instance) == 1
    assert len(compared) == 1


_compare = causes.compare


def test_profiles_that_do_not_agree_with_the_change_do_not_show_it(slowed: Story) -> None:
    found = profiled(slowed, after=BEFORE | {"main;helper": 0.052})
    assert found.cause.startswith("The profile does not show the measured change of +30")


def test_profiles_of_many_iterations_show_the_change_in_relation_to_the_whole(slowed: Story) -> None:
    assert profiled(slowed, times=200).cause.startswith("+6 s of +6 s in helper")


def test_instructions_name_the_cause_of_a_time(slowed: Story) -> None:
    cause = profiled(slowed, times=1e9, unit="instructions").cause
    assert "in helper" in cause
    key = change_of(slowed)
    (benchmark,) = slowed.world.store.profiles.causes([key])[key].body["benchmarks"]
    assert (benchmark["shows"], benchmark["kind"]) == (None, "instructions")


def test_profiles_of_one_side_or_another_benchmark_say_nothing(slowed: Story) -> None:
    profile(slowed, 20, BEFORE)
    profile(slowed, 25, AFTER, benchmark="render")
    rank_new_suspects(slowed.instance)
    assert stated(slowed).cause == ""


def test_profiles_next_to_the_change_are_compared_with_those_of_their_kind(slowed: Story) -> None:
    for slot in (3, 19, 20, 25, 26, 39):
        for number in range(3):
            profile(slowed, slot, AFTER if slot > 20 else BEFORE, number=number)
    profile(slowed, 20, BEFORE, times=1e9, unit="instructions")
    rank_new_suspects(slowed.instance)
    key = change_of(slowed)
    (benchmark,) = slowed.world.store.profiles.causes([key])[key].body["benchmarks"]
    assert (len(benchmark["before"]), len(benchmark["after"]), benchmark["kind"]) == (6, 6, "time")


def test_what_was_said_stays_without_its_profiles_but_goes_with_wrong_ones(slowed: Story) -> None:
    said = profiled(slowed).cause
    store, repository = slowed.world.store, slowed.world.repository
    store.profiles.retain(store.commits.line(repository), 17)
    rank_new_suspects(slowed.instance)
    assert stated(slowed).cause == said
    with pytest.raises(UnknownError, match="is gone"):
        read_flame_graph(VisibleRepositories.to_local_user(store), slowed.instance, change_of(slowed))
    remove_profiles(store, [(repository, each) for each in store.profiles.all(repository)], who="ada")
    assert stated(slowed).cause == ""


def test_the_page_of_the_change_has_the_cause_and_the_flame_graph(slowed: Story) -> None:
    profiled(slowed)
    client, key = Client(create_app(slowed.instance)), change_of(slowed)
    page = client.get(f"/api/v1/changes/{key}").json()
    assert page["change"]["statement"]["cause"] == page["cause"]["sentence"]
    (function,) = page["cause"]["benchmarks"][0]["causes"]
    assert (function["name"], function["line"]) == ("helper", 120)
    assert round(function["after"] - function["before"], 3) == 0.03
    flame = client.get(f"/api/v1/changes/{key}/flame").json()
    assert (flame["unit"], flame["benchmark"], flame["functions"][0][0]) == ("ms", "parse", "helper")
    assert len(flame["parents"]) == len(flame["before"]) == 3
    unknown = client.get(f"/api/v1/changes/{key}/flame?benchmark=render")
    assert (unknown.status_code, unknown.json()["remedy"]) == (404, "Import some of both.")


def test_who_has_not_signed_in_reads_the_sentence_and_no_profile(slowed: Story) -> None:
    profiled(slowed)
    caller = Caller(CallerKind.ANYONE, "anyone", Grants.of([Permission.READ]))
    visible = VisibleRepositories(slowed.world.store, caller)
    page = read_change_page(visible, change_of(slowed))
    assert page.cause is None
    with pytest.raises(NotSignedInError, match="only known callers may read profiles"):
        read_flame_graph(visible, slowed.instance, change_of(slowed))


def ended_bisection(story: Story, *slots: int) -> str:
    """End a search among commits that found the last one of them, and return its name."""
    store, asked = story.world.store, datetime(2026, 4, 1, tzinfo=UTC)
    request = BisectionRequest(story.world.repository.id, "main", slots, "quick", "d", "ann", asked)
    stored = store.bisections.ask(request)
    store.bisections.claim("worker", asked, 60.0)
    place = SuspectRange("main", *slots[-2:])
    answer = BisectionAnswer(BisectionState.CULPRIT, "found", slots[-1:], place, 0.98)
    put_on_finding(store, stored, answer, "worker", now=asked)
    return stored.name


def test_two_commits_and_a_bisection_have_the_flame_graph_of_their_profiles(slowed: Story) -> None:
    profiled(slowed)
    profile(slowed, 25, AFTER, benchmark="render")
    client = Client(create_app(slowed.instance))
    base, head, later = (
        each.commit.hash for each in slowed.world.store.commits.get(slowed.world.repository, [20, 25, 26])
    )
    commits = f"base={base}&head={head}"
    assert client.get(f"/api/v1/comparison?{commits}").json()["profiled"] == ["parse"]
    assert client.get(f"/api/v1/comparison?base={base}&head={later}").json()["profiled"] == []
    compared = client.get(f"/api/v1/comparison/flame?{commits}").json()
    assert (compared["benchmark"], compared["functions"][0][0]) == ("parse", "helper")
    assert compared["sentence"].startswith("+30 ms of +30 ms in helper (src/x1.py:120).")
    missing = client.get(f"/api/v1/comparison/flame?{commits}&benchmark=render")
    assert missing.status_code == 404
    assert "There are no profiles of 'render' at both commits" in missing.text

    found = f"/api/v1/bisections/{ended_bisection(slowed, 20, 25)}"
    assert client.get(found).json()["profiled"] == ["parse"]
    assert client.get(f"{found}/flame").json() == compared


def test_functions_lead_to_their_lines_at_the_forge_in_that_commit(project: GitRepository, tmp_path: Path) -> None:
    commits = Git.at(project.directory, web="https://forge.example.org/a/b").first_parents("main")
    for told in story(tmp_path / "instance", str(project.directory), commits):
        profiled(told)
        visible = VisibleRepositories.to_local_user(told.world.store)
        flame = read_flame_graph(visible, told.instance, change_of(told))
        pages = dict(zip((str(each[0]) for each in flame.functions), flame.pages, strict=True))
        head = commits[25].hash
        # There are no files of the names of the others.
        assert pages == {
            "helper": f"https://forge.example.org/a/b/blob/{head}/src/x1.py#L120", "load": "", "main": ""
        }  # fmt: skip


def test_the_report_of_a_pull_request_says_what_the_profiles_of_both_commits_say(slowed: Story) -> None:
    profiled(slowed)
    store, repository = slowed.world.store, slowed.world.repository
    line, traces = store.commits.line(repository), store.traces.select(repository, parse_query("")).tolist()
    base, head = LinePosition(line, 20), LinePosition(line, 25)
    report = judge_commits(slowed.instance, base, head, traces, GateOptions(), values=1)
    said = "parse: +30 ms of +30 ms in helper (src/x1.py:120)."
    assert report.causes == (said,)
    assert "+30 ms of +30 ms in helper" in markdown_comment(report)
    without = judge_commits(slowed.instance, base, LinePosition(line, 26), traces, GateOptions(), values=1)
    assert without.causes == ()


def test_new_results_of_a_commit_with_profiles_are_judged_with_their_cause(slowed: Story, tmp_path: Path) -> None:
    profiled(slowed)
    store, repository = slowed.world.store, slowed.world.repository
    base, head = (each.commit.hash for each in store.commits.get(repository, [20, 25]))
    file = tmp_path / "new.csv"
    file.write_text(f"commit,benchmark,kind,unit,value\n{head},parse,p,ms,130\n")
    read = read_new_results(slowed.instance, [file])
    report = judge_results(
        slowed.instance, read, GateOptions(partial=True), file=str(file), reference=base, line="main"
    )
    assert report.causes == ("parse: +30 ms of +30 ms in helper (src/x1.py:120).",)


@pytest.mark.parametrize(
    ("values", "start", "change", "shows"),
    [
        (1, 0.0, 0.03, True),
        (15, 0.0, 0.03, True),
        (15, 0.8, 0.03, True),
        (15, 0.8, 0.6, False),
        (15, 0.8, -0.03, False),
        (1, 0.8, 0.001, False),
    ],
)
def test_a_profile_of_many_values_and_a_start_shows_a_change_between_that_of_one_and_its_share(
    values: int, start: float, change: float, *, shows: bool
) -> None:
    before, after = (
        [_built({"start": start, "main": 0.07 * values, "main;helper": helper * values}, turn) for turn in range(3)]
        for helper in (0.03, 0.06)
    )
    spread = abs(change) / 10
    found = causes.compare_measured(before, after, Measured(change, change - spread, change + spread, "s"), 0.1)
    assert found.shows is shows


def test_profiles_among_new_results_are_compared_with_the_newest_up_to_the_base(slowed: Story, tmp_path: Path) -> None:
    store, repository = slowed.world.store, slowed.world.repository
    profile(slowed, 18, BEFORE)
    base, head = (each.commit.hash for each in store.commits.get(repository, [20, 25]))
    results = tmp_path / "new.csv"
    results.write_text(f"commit,benchmark,kind,unit,value\n{head},parse,p,ms,130\n")
    given = tmp_path / "parse.1.profile"
    given.write_bytes(pack_profile(_built(AFTER)))
    other = tmp_path / "other.1.profile"
    other.write_bytes(pack_profile(_built(AFTER, 2)))
    read = read_new_results(slowed.instance, [results, given, other])
    assert [each.message for each in read.warnings] == ["no results of the benchmark 'other'"]
    report = judge_results(
        slowed.instance, read, GateOptions(partial=True), file=str(results), reference=base, line="main"
    )
    assert [each.partition(". ")[0] for each in report.causes] == [
        "parse: +29.9 ms of +29.9 ms in helper (src/x1.py:120)"
    ]


def test_profiles_among_the_files_of_both_sides_are_compared_without_an_instance(tmp_path: Path) -> None:
    sides = []
    for name, value, stacks in (("base", 100, BEFORE), ("head", 130, AFTER)):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "results.csv").write_text(
            "commit,benchmark,unit,value\n" + "".join(f"c{k},parse,ms,{value + k % 3 / 10}\n" for k in range(40))
        )
        (folder / "parse.1.profile").write_bytes(pack_profile(_built(stacks)))
        sides.append(read_compared_results(IngestSettings(), sorted(folder.iterdir(), reverse=True)))
    report = judge_files(
        Config(), sides[0], replace(sides[1], runs=sides[1].runs[:1], files=sides[1].files[:1]), GateOptions(),
        against=["base"], file="head", directions=[], repository="",
    )  # fmt: skip
    assert [each.partition(". ")[0] for each in report.causes] == ["parse: +30 ms of +30 ms in helper (x1.py:120)"]


def test_a_round_reads_profiles_only_where_something_is_new(slowed: Story, monkeypatch: pytest.MonkeyPatch) -> None:
    profiled(slowed)
    rank_new_suspects(slowed.instance)  # the first ranking stated the change anew
    read: list[object] = []
    reading = ProfileTable.all

    def all_profiles(*arguments: object) -> list[StoredProfile]:
        read.append(arguments[-1])
        return reading(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(ProfileTable, "all", all_profiles)
    rank_new_suspects(slowed.instance)
    assert read == []
    profile(slowed, 3, BEFORE, benchmark="render")
    rank_new_suspects(slowed.instance)
    assert read == []
    with open_instance(slowed.instance.directory) as other:  # another process
        profile(replace(slowed, world=World(other.store, slowed.world.repository)), 26, AFTER, number=7)
    rank_new_suspects(slowed.instance)
    assert read == [{"parse"}]
    key = change_of(slowed)
    (benchmark,) = slowed.world.store.profiles.causes([key])[key].body["benchmarks"]
    assert len(benchmark["after"]) == 4
