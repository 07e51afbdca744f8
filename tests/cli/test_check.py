"""``knick check`` as a job of a CI uses it: a branch, a history that moved on, and an exit code."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import combinations
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from tests.cli.conftest import Knick
from tests.examples import in_the_long_run
from tests.repositories import GitRepository

from knickpoint.ingest import import_files
from knickpoint.ingest.ci import _SERVICES
from knickpoint.instance import create_instance, open_instance
from knickpoint.model.step import Verdict
from knickpoint.server import dashboard

_NAMES = tuple(f"b{number}" for number in range(10))


@dataclass(frozen=True)
class Project:
    """A repository whose main became 400 times faster after the branch ``patch`` had left it."""

    repository: GitRepository
    base: str
    patch: str

    def write(self, name: str, commit: str, values: Mapping[str, float]) -> Path:
        """Write results: benchmark → milliseconds."""
        rows = [f"{commit},s,{key},ms,{value}" for key, value in values.items()]
        path = self.repository.directory / name
        path.write_text("\n".join(["commit,suite,benchmark,unit,value", *rows, ""]), encoding="utf-8")
        return path


def values(level: float, number: int = 0) -> dict[str, float]:
    wobble = (0.0, 0.3, -0.2, 0.1, -0.3, 0.2, -0.1)
    return {name: level * (1 + 0.01 * wobble[(number + place) % 7]) for place, name in enumerate(_NAMES)}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Make the repository with its instance, once."""
    repository = GitRepository.make(tmp_path_factory.mktemp("made") / "project")
    project = Project(repository, "", "")
    old, new = repository.commits(8), repository.commits(8)
    paths = [project.write(f"{place}.csv", name, values(400.0, place)) for place, name in enumerate(old)]
    paths += [project.write(f"{place + 8}.csv", name, values(1.0, place)) for place, name in enumerate(new)]
    instance = repository.directory / ".knickpoint"
    with create_instance(instance, repositories={"project": ".."}) as opened:
        import_files(opened, paths)
    repository.git("switch", "--quiet", "--create", "patch", old[-1])
    return Project(repository, old[-1], repository.commit("Change what is slow"))


def copy_of(project: Project, directory: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """Copy the project and go there, outside of any CI."""
    for service in _SERVICES:
        monkeypatch.delenv(service.sign, raising=False)
    shutil.copytree(project.repository.directory, directory)
    monkeypatch.chdir(directory)
    monkeypatch.setenv("KNICKPOINT_INSTANCE", ".knickpoint")
    repository = GitRepository(directory, project.repository.minutes)
    return Project(repository, project.base, project.patch)


@pytest.fixture
def project(made: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """Go to a copy of the repository with its instance."""
    return copy_of(made, tmp_path / "project", monkeypatch)


def rows(knick: Knick, *arguments: str | Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(knick("check", *arguments, "--format", "json").output)
    return found


def test_an_unchanged_patch_passes_although_main_moved_on(knick: Knick, project: Project) -> None:
    new = project.write("new.csv", project.patch, values(400.0))
    ran = knick("check", new)
    lines = ran.output.splitlines()
    assert (ran.code, lines[0]) == (0, "May be merged: nothing regressed, of 10 benchmarks.")
    assert "0 regressed, 0 improved, 10 unchanged." in lines
    assert len(lines) <= 7
    assert knick("check", new, "--all").output.count("unchanged  ,benchmark=b") == 10


def test_the_base_is_named_with_its_subject_and_the_length_of_the_history(knick: Knick, project: Project) -> None:
    new = project.write("new.csv", project.patch, values(400.0))
    line = knick("check", new).output.splitlines()[1]
    assert line == (
        f"Base: {project.base[:12]} 'Change number 8' of 2023-11-14 22:21 UTC, the merge base of"
        f" {project.patch[:12]} with main. History: 8 measured commits, the newest {project.base[:12]}."
    )
    row = rows(knick, new)[0]
    assert {name: value for name, value in row.items() if name.startswith("base")} == {
        "base": project.base,
        "base_time": "2023-11-14T22:21:20+00:00",
        "base_subject": "Change number 8",
        "base_reason": f"the merge base of {project.patch[:12]} with main",
        "base_commits": 8,
    }


def test_a_slower_patch_fails_and_says_by_how_much(knick: Knick, project: Project) -> None:
    new = {**values(400.0), "b3": 480.0, "b5": 600.0}
    ran = knick("check", project.write("new.csv", project.patch, new))
    lines = ran.output.splitlines()
    assert (ran.code, lines[0]) == (1, "Do not merge: 2 regressed, of 10 benchmarks.")
    assert "2 regressed, 0 improved, 8 unchanged." in lines
    assert any(line.startswith("Worst: b5, ") and "→ 600 ms, +49.9 %" in line for line in lines)
    assert [line.split()[1] for line in lines if line.startswith("regressed")] == [
        ",benchmark=b5,suite=s,",
        ",benchmark=b3,suite=s,",
    ]


def test_repeated_files_are_samples_of_one_side(knick: Knick, project: Project) -> None:
    files = [project.write(f"new-{number}.csv", project.patch, values(400.0, number)) for number in range(3)]
    assert {row["samples"] for row in rows(knick, *files)} == {3}


def test_new_results_of_several_commits_are_refused_as_the_older_would_hide_a_change(
    knick: Knick, project: Project
) -> None:
    older = project.write("older.csv", project.base, values(400.0))
    ran = knick("check", older, project.write("slow.csv", project.patch, values(900.0)))
    assert (ran.code, ran.output) == (2, "")
    assert (
        f"slow.csv: the new results are of several commits, {project.base[:12]} and {project.patch[:12]}" in ran.errors
    )
    beside = knick("check", older, project.write("slow.csv", project.patch, values(900.0)), "--against", older)
    assert (beside.code, "are of several commits" in beside.errors) == (2, True)


def test_an_abbreviated_hash_is_the_commit_that_another_file_names_in_full(knick: Knick, project: Project) -> None:
    names = (project.patch[:10], project.patch, project.patch[:8])
    files = [project.write(f"part-{name}.csv", name, values(400.0)) for name in names]
    assert {row["samples"] for row in rows(knick, *files)} == {3}


def test_a_change_that_rests_on_one_run_says_so_whatever_samples_the_run_has(knick: Knick, project: Project) -> None:
    slow = project.write("slow.csv", project.patch, {**values(400.0), "b0": 900.0})
    slow.write_text(slow.read_text() + "".join(slow.read_text().splitlines(keepends=True)[1:]))
    assert "it rests on one run, measure again to confirm" in rows(knick, slow)[0]["reason"]


@pytest.mark.usefixtures("nowhere")
def test_a_counter_without_noise_that_grows_by_one_shows_a_change_that_is_not_zero(knick: Knick) -> None:
    base = write_runs(Path("before.csv"), *[12_345_678.0] * 8)
    ran = knick("check", write_runs(Path("after.csv"), 12_345_679.0), "--against", base)
    assert ran.code == 1
    assert "+0.000008 % (+0.000008 … +0.000008)" in ran.output
    assert "Any change is found." in ran.output
    assert "+0.0 %" not in ran.output


def test_a_percentage_given_as_the_smallest_change_is_refused_as_nothing_would_ever_count(
    knick: Knick, project: Project
) -> None:
    ran = knick("check", project.write("slow.csv", project.patch, values(900.0)), "--minimum-effect", "5")
    assert ran.code == 2
    assert "--minimum-effect: 5 lets all changes below 500 % pass. Give a share below 1: 0.05 is 5 %." in ran.errors


def test_the_rate_of_false_positives_comes_from_the_option_then_the_configuration(
    knick: Knick, project: Project
) -> None:
    new = project.write("new.csv", project.patch, values(400.0))
    with Path(".knickpoint/knickpoint.toml").open("a", encoding="utf-8") as file:
        file.write("\n[check]\nfalse_positives = 0.05\nminimum_effect = 0.5\n")
    assert "At most 5 % of unchanged pull requests fail" in knick("check", new).output
    assert rows(knick, new, "--false-positives", "0.001")[0]["false_positives"] == 0.001
    patch = project.repository.commit("Another change")  # of the first one, another check did not show it
    slower = project.write("slower.csv", patch, {**values(400.0), "b3": 480.0})
    assert [knick("check", slower, *more).code for more in ((), ("--minimum-effect", "0.1"))] == [0, 1]


def test_a_commit_of_the_branch_accepts_a_change_with_a_reason(knick: Knick, project: Project) -> None:
    message = (
        "Change\n\nKnickpoint-Accept: b3, the new grammar costs it\nKnickpoint-Accept: b4\nKnickpoint-Accept: c, x\n"
    )
    patch = project.repository.commit(message)
    slower = project.write("new.csv", patch, {**values(400.0), "b3": 480.0})
    ran = knick("check", slower)
    assert (ran.code, ran.output.splitlines()[0]) == (0, "May be merged: 1 regression accepted, of 10 benchmarks.")
    assert "the new grammar costs it" in ran.output
    assert "'b4' without a reason" in ran.errors
    assert "'c, x', which names no benchmark" in ran.errors
    assert {row["trace"]: row["accepted"] for row in rows(knick, slower) if row["accepted"]} == {
        ",benchmark=b3,suite=s,": "the new grammar costs it"
    }
    newer = project.repository.commit("Change more")
    both = project.write("both.csv", newer, {**values(400.0), "b3": 480.0, "b4": 480.0})
    assert knick("check", both).code == 1


def test_reports_are_written_where_they_are_asked_for(
    knick: Knick, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")
    new = project.write("new.csv", project.patch, {**values(400.0), "b3": 480.0})
    forms = ("markdown=a.md", "html=a.html", "json=a.json", "junit=a.xml", "sarif=a.sarif", "annotations", "summary")
    ran = knick("check", new, *(part for form in forms for part in ("--report", form)))
    assert ran.code == 1
    assert "::error title=b3 regressed::" in ran.output
    assert Path("a.md").read_text(encoding="utf-8") == Path("summary.md").read_text(encoding="utf-8")
    page = Path("a.html").read_text(encoding="utf-8")
    assert "<svg" in page
    assert "new results" in page
    assert json.loads(Path("a.json").read_text(encoding="utf-8")) == rows(knick, new)
    assert ET.parse("a.xml").getroot().get("failures") == "1"
    assert json.loads(Path("a.sarif").read_text(encoding="utf-8"))["runs"][0]["results"][0]["level"] == "error"


_ENDS = {"worse": Verdict.REGRESSED, "better": Verdict.IMPROVED, "noisy": Verdict.UNSTABLE, "same": Verdict.UNCHANGED}
_NOISE = (100, 900, 300, 1_500, 200, 1_100, 60, 700)


@pytest.fixture(scope="module")
def four_verdicts(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Make a repository whose patch has a benchmark with each verdict, and one that a commit accepts."""
    repository = GitRepository.make(tmp_path_factory.mktemp("verdicts") / "project")
    project = Project(repository, "", "")
    main = repository.commits(24)
    steady = [*(name for name in _ENDS if name != "noisy"), "accepted", *(f"b{number}" for number in range(3))]
    paths = [
        project.write(
            f"{place}.csv",
            commit,
            {name: 400 + 0.5 * ((place * 7 + len(name) * 3) % 5) for name in steady} | {"noisy": _NOISE[place % 8]},
        )
        for place, commit in enumerate(main)
    ]
    with create_instance(repository.directory / ".knickpoint", repositories={"project": ".."}) as opened:
        import_files(opened, paths)
    repository.git("switch", "--quiet", "--create", "patch", main[-1])
    patch = repository.commit("Change it\n\nKnickpoint-Accept: accepted, worth it")
    new = dict.fromkeys(steady, 401.0) | {"worse": 600.0, "better": 200.0, "noisy": 800.0, "accepted": 500.0}
    project.write("new.csv", patch, new)
    return Project(repository, main[-1], patch)


_CHOICES = [
    chosen
    for count in range(6)
    for chosen in combinations(("regressed", "improved", "unchanged", "unstable", "none"), count)
]


@pytest.mark.parametrize("chosen", [*_CHOICES[:6], *in_the_long_run(*_CHOICES[6:])], ids=" ".join)
def test_headline_exit_code_and_every_report_come_from_the_same_verdicts(
    knick: Knick, four_verdicts: Project, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, chosen: tuple[str, ...]
) -> None:
    room = tmp_path
    monkeypatch.chdir(four_verdicts.repository.directory)
    monkeypatch.setenv("KNICKPOINT_INSTANCE", ".knickpoint")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(room / "summary"))
    counting = {Verdict(name) for name in chosen if name != "none"}
    counting |= set() if "none" in chosen else {Verdict.REGRESSED}
    expected = {name for name, verdict in _ENDS.items() if verdict in counting}
    files = {form: room / form for form in ("markdown", "html", "json", "junit", "sarif")}
    ran = knick(
        "check", "new.csv",
        *(part for name in chosen for part in ("--fail-on", name)),
        *(part for form, file in files.items() for part in ("--report", f"{form}={file}")),
        "--report", "annotations", "--report", "summary",
    )  # fmt: skip
    texts = {form: file.read_text(encoding="utf-8") for form, file in files.items()}
    headline = ran.output.splitlines()[0]
    named = {name for name in _ENDS if any(f",benchmark={name}," in line for line in ran.output.splitlines())}

    # The exit code, the headline and the worst row.
    assert ran.code == (1 if expected else 0)
    assert headline.startswith("Do not merge: " if expected else "May be merged")
    assert "1 regressed" in headline
    assert ("--fail-on" in headline) is (Verdict.REGRESSED not in counting)
    assert "\nWorst: worse, " in ran.output
    assert expected | {"worse", "better", "noisy"} <= named

    # Each report has the same headline, and fails the same rows.
    document = ET.fromstring(texts["junit"])
    junit = {case.get("name") for case in document.iter("testcase") if case.find("failure") is not None}
    assert junit & set(_ENDS) == expected
    results = json.loads(texts["sarif"])["runs"][0]["results"]
    levels = {result["locations"][0]["logicalLocations"][0]["name"]: result["level"] for result in results}
    assert {name for name, level in levels.items() if level == "error"} & set(_ENDS) == expected
    assert levels["worse"] == ("error" if "worse" in expected else "warning")
    listed = json.loads(texts["json"])
    assert {row["trace"].split(",")[1].partition("=")[2] for row in listed if row["fails"]} & set(_ENDS) == expected
    errors = {
        line.split("title=")[1].split()[0] for line in ran.output.splitlines() if line.startswith("::error title")
    }
    assert errors & set(_ENDS) == expected
    assert "::error title=worse regressed" in ran.output or "::warning title=worse regressed" in ran.output
    open_part = texts["markdown"].partition("<details>")[0]
    assert {name for name in _ENDS if f"<code>{name}</code>" in open_part.partition("|-|")[2]} == expected | {"worse"}
    for form in ("markdown", "html", "junit"):
        assert escape(headline) in texts[form]
    assert (room / "summary").read_text(encoding="utf-8") == texts["markdown"]


def test_a_sarif_log_places_results_in_the_repository_wherever_the_files_are(
    knick: Knick, project: Project, tmp_path: Path
) -> None:
    new = project.write("new.csv", project.patch, {**values(400.0), "b3": 480.0}).absolute()
    against = [part for number in range(8) for part in ("--against", Path(f"{number}.csv").absolute())]
    outside = tmp_path / "elsewhere"
    shutil.copytree(".knickpoint", outside)
    sides: list[tuple[str, Sequence[str | Path]]] = [
        (".knickpoint/knickpoint.toml", [new]),
        (".knickpoint/knickpoint.toml", ["new.csv"]),
        (".knickpoint/knickpoint.toml", ["--stored", "newest", "--base", project.base]),
        ("knickpoint.toml", [new, *against, "--instance", outside]),
    ]
    for expected, arguments in sides:
        assert knick("check", *arguments, "--fail-on", "improved", "--report", "sarif=a.sarif").code == 1
        (run,) = json.loads(Path("a.sarif").read_text(encoding="utf-8"))["runs"]
        places = [place["physicalLocation"] for result in run["results"] for place in result["locations"]]
        assert {place["artifactLocation"]["uri"] for place in places} == {expected}


def test_a_row_links_to_the_page_of_its_trace(knick: Knick, project: Project) -> None:
    with Path(".knickpoint/knickpoint.toml").open("a", encoding="utf-8") as file:
        file.write('\n[server]\naddress = "https://perf.example.org"\n')
    new = project.write("new.csv", project.patch, {**values(400.0), "b3": 480.0})
    knick("check", new, "--report", "markdown=a.md")
    (path,) = re.findall(
        r"\(https://perf\.example\.org(/[^/)]*/[^)]*)\)\s*\|", Path("a.md").read_text(encoding="utf-8")
    )
    assert any(re.fullmatch(view.replace("{number}", r"\d+"), path) for view in dashboard._VIEWS)


def test_a_comment_draws_the_history_up_to_the_base(knick: Knick, project: Project) -> None:
    new = project.write("new.csv", project.patch, {**values(400.0), "b3": 480.0})
    ran = knick("check", new, "--report", "markdown=a.md")
    assert ran.code == 1, ran.output
    text = Path("a.md").read_text(encoding="utf-8")
    assert 'x-axis "measured commits before the new results" -8 --> 0' in text, (
        "main became 400 times faster after the base"
    )
    drawn = [[float(each) for each in line.split(",")] for line in re.findall(r"  line \[(.*)\]", text)]
    for history, levels in zip(drawn[::2], drawn[1::2], strict=True):
        assert len(history) == len(levels) == 9
        assert max(abs(each) for each in history[:-1]) < 1
        assert levels[:-1] == [0.0] * 8
        assert levels[-1] == pytest.approx(20, abs=1)


@pytest.mark.parametrize("form", ["pdf=a.pdf", "markdown", "annotations=a", "summary"])
def test_a_report_that_cannot_be_written_is_refused(
    knick: Knick, project: Project, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    ran = knick("check", project.write("new.csv", project.patch, values(400.0)), "--report", form)
    assert (ran.code, ran.output) == (2, "")


def test_files_without_a_result_are_an_error_and_not_too_few_data(knick: Knick, project: Project) -> None:
    ran = knick("check", project.write("empty.csv", project.patch, {}))
    assert (ran.code, ran.output) == (2, "")
    assert "empty.csv: no file holds any result, so there is nothing to judge" in ran.errors


def test_a_part_of_a_suite_may_be_empty_and_says_so(knick: Knick, project: Project) -> None:
    ran = knick("check", "--partial", project.write("empty.csv", project.patch, {}))
    assert ran.code == 3
    assert "empty.csv: the file holds no results" in ran.errors


_NAMELESS = "BenchmarkSound-2 \t 100\t 2 ns/op\n20727379\t 1.474 ns/op\nPASS\n"


@pytest.mark.parametrize("against", [(), ("--against", "bench.txt")], ids=["history", "file"])
def test_a_result_whose_name_cannot_be_read_does_not_pass_unless_the_results_are_a_part(
    knick: Knick, project: Project, against: Sequence[str]
) -> None:
    (project.repository.directory / "bench.txt").write_text(_NAMELESS, encoding="utf-8")
    ran = knick("check", "bench.txt", *against)
    assert (ran.code, ran.output) == (2, "")
    assert "bench.txt, line 2: '20727379\\t 1.474 ns/op' looks like a result" in ran.errors
    partial = knick("check", "bench.txt", "--partial", *against)
    assert (partial.code, "line 2" in partial.errors) == (3, True)


def test_a_folder_of_new_results_is_called_a_folder(knick: Knick, project: Project) -> None:
    project.repository.directory.joinpath("results").mkdir()
    ran = knick("check", "results")
    assert ran.code == 2
    assert "results: this is a folder, and new results are files. Name them, as in results/*.json." in ran.errors


def test_an_empty_history_is_no_verdict_and_says_what_to_do(
    knick: Knick, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    create_instance(project.repository.directory / "empty", repositories={"project": ".."}).close()
    monkeypatch.setenv("KNICKPOINT_INSTANCE", "empty")
    ran = knick("check", project.write("new.csv", project.patch, values(400.0)), "--report", "annotations")
    lines = ran.output.splitlines()
    assert ran.code == 3
    assert lines[0] == "No verdict: the history is empty, so there is nothing to compare 10 benchmarks with."
    assert lines[1] == (
        "Base: none, there is no history yet. Import the results of five commits of main (knick import FILE)."
        " If main has results already, this job does not have them: check where it keeps the instance."
    )
    assert lines[-1].startswith("::warning title=knick check::No verdict: the history is empty")


def test_a_vanished_benchmark_and_a_new_one_of_a_similar_name_name_each_other(knick: Knick, project: Project) -> None:
    new = values(400.0)
    del new["b3"], new["b7"]
    found = rows(knick, project.write("new.csv", project.patch, {**new, "b31": 400.0, "parser": 20.0}))
    reasons = {row["benchmark"]: row["reason"] for row in found}
    assert reasons["b3"].endswith("; probably renamed to 'b31', which is new")
    assert reasons["b31"].endswith("; new, and probably 'b3' under another name, which vanished")
    assert not any("probably" in reasons[name] for name in ("b7", "parser", "b0"))


def test_another_base_is_taken_by_name(knick: Knick, project: Project) -> None:
    new = project.write("new.csv", project.patch, values(400.0))
    assert (knick("check", new, "--base", "main").code, knick("check", new, "--base", "HEAD~1").code) == (1, 0)
    ran = knick("check", new, "--base", "nothing")
    assert (ran.code, ran.output, "'nothing'" in ran.errors) == (2, "", True)


def test_eight_of_ten_benchmarks_that_vanished_fail_with_a_row_each(knick: Knick, project: Project) -> None:
    some = {name: value for name, value in values(400.0).items() if name in {"b0", "b1"}}
    new = project.write("new.csv", project.patch, some)
    found = [row for row in rows(knick, new) if row["verdict"] == "regressed"]
    assert {row["reason"] for row in found} == {f"vanished: last measured at {project.base[:12]}"}
    assert (len(found), knick("check", new).code, knick("check", new, "--partial").code) == (8, 1, 0)


def test_a_single_benchmark_says_that_the_others_are_not_asked_for(knick: Knick, project: Project) -> None:
    new = project.write("new.csv", project.patch, {"b0": values(400.0)["b0"]})
    assert "9 other series of the base are considered left out" in knick("check", new).errors
    assert knick("check", new, "--partial").errors == ""


def junit(path: Path, *failed: str) -> Path:
    """Write results of JUnit in which all benchmarks are measured but for those that ``failed``."""
    cases = [
        f'<testcase classname="unit" name="{name}" time="0.4">'
        + ("<error message='out of memory'>at line 7</error>" if name in failed else "")
        + "</testcase>"
        for name in _NAMES
    ]
    path.write_text(f'<testsuite name="unit" tests="10">{"".join(cases)}</testsuite>', encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def made_with_tests(made: Project, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Import results of JUnit at the newest commits before the branch, once."""
    directory = tmp_path_factory.mktemp("tested") / "project"
    shutil.copytree(made.repository.directory, directory)
    project = Project(GitRepository(directory, made.repository.minutes), made.base, made.patch)
    with open_instance(directory / ".knickpoint") as opened:
        for name in project.repository.git("rev-list", "--max-count=6", project.base).split():
            import_files(opened, [junit(directory / f"{name}.xml")], revision=name)
    return project


@pytest.fixture
def tested(made_with_tests: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    return copy_of(made_with_tests, tmp_path / "tested", monkeypatch)


def check_tests(knick: Knick, project: Project, *failed: str) -> tuple[int, list[str]]:
    new = junit(Path("new.xml"), *failed)
    Path("new.xml.sidecar.json").write_text(json.dumps({"commit": project.patch}), encoding="utf-8")
    return knick("check", new).code, [row["reason"] for row in rows(knick, new) if row["verdict"] == "regressed"]


def test_one_crashed_benchmark_fails(knick: Knick, tested: Project) -> None:
    assert check_tests(knick, tested) == (0, [])
    assert check_tests(knick, tested, "b3") == (1, ["failed: out of memory"])


def test_where_all_benchmarks_crashed_the_job_fails(knick: Knick, tested: Project) -> None:
    assert check_tests(knick, tested, *_NAMES) == (1, ["failed: out of memory"] * 10)


def test_a_shallow_clone_is_an_error_and_no_comparison_with_the_tip(
    knick: Knick, project: Project, tmp_path: Path
) -> None:
    new = project.write("new.csv", project.patch, values(400.0))
    clone = tmp_path / "clone"
    project.repository.git("clone", "--quiet", "--depth=1", project.repository.directory.as_uri(), str(clone))
    config = Path(".knickpoint/knickpoint.toml")
    config.write_text(config.read_text(encoding="utf-8").replace('".."', f'"{clone}"'), encoding="utf-8")
    ran = knick("check", new)
    assert (ran.code, ran.output, "fetch-depth: 0" in ran.errors) == (2, "", True)


def test_a_finding_that_its_commit_accepts_is_acknowledged_at_the_merge(knick: Knick, project: Project) -> None:
    with Path(".knickpoint/knickpoint.toml").open("a", encoding="utf-8") as file:
        file.write("\n[history]\nas_work = true\n")
    project.repository.git("switch", "--quiet", "main")
    accepted = project.repository.commit("Merge\n\nKnickpoint-Accept: b3, the new grammar costs it\n")
    after = [accepted, *project.repository.commits(9)]
    slower = [{**values(1.0, place), "b3": 1.5 + place / 1e3, "b4": 1.5 + place / 1e3} for place in range(10)]
    paths = [project.write(f"late{place}.csv", after[place], slower[place]) for place in range(10)]
    assert knick("import", *paths).code == 0
    assert knick("run").code == 0
    explained = [knick("explain", f"benchmark={name}", "--format", "json").output for name in ("b3", "b4")]
    assert ["acknowledged" in text for text in explained] == [True, False]


def _latencies(count: int, tail: float, wobble: int) -> list[float]:
    """Return samples around 10 whose slowest twentieth takes ``tail``."""
    return [10 + (sample + wobble) % 7 / 10 + (sample < count // 20) * (tail - 10) for sample in range(count)]


def _measured(project: Project, name: str, commits: Sequence[str], tail: float, count: int = 100) -> Path:
    rows = [
        f"{commit},s,latency,ms,{value}"
        for place, commit in enumerate(commits)
        for value in _latencies(count, tail + place % 3 / 10, place)
    ]
    path = project.repository.directory / name
    path.write_text("\n".join(["commit,suite,benchmark,unit,value", *rows, ""]), encoding="utf-8")
    return path


@pytest.fixture
def latencies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """Go to a repository with twelve commits of a hundred samples each, and a thirteenth without results."""
    repository = GitRepository.make(tmp_path / "latencies")
    old = repository.commits(12)
    project = Project(repository, old[-1], repository.commit("Slow down the tail"))
    with create_instance(repository.directory / ".knickpoint", repositories={"latencies": ".."}) as opened:
        import_files(
            opened,
            [_measured(project, f"{place}.csv", [commit], 20.0 + place % 3 / 10) for place, commit in enumerate(old)],
        )
    for service in _SERVICES:
        monkeypatch.delenv(service.sign, raising=False)
    monkeypatch.chdir(repository.directory)
    monkeypatch.setenv("KNICKPOINT_INSTANCE", ".knickpoint")
    return project


def test_a_slower_tail_regresses_by_its_percentile_and_not_by_the_median(knick: Knick, latencies: Project) -> None:
    new = _measured(latencies, "new.csv", [latencies.patch], 30.0)
    (by_median,) = rows(knick, new)
    assert by_median["verdict"] == "unchanged"
    (by_tail,) = rows(knick, new, "--summary", "p99")
    assert (by_tail["verdict"], by_tail["after"]) == ("regressed", pytest.approx(30, abs=0.7))


def test_a_check_by_percentile_says_so(knick: Knick, latencies: Project) -> None:
    new = _measured(latencies, "new.csv", [latencies.patch], 20.0)
    assert "Compared: the p99 of the samples of each run." in knick("check", new, "--summary", "p99").output


def test_new_results_with_too_few_samples_for_a_percentile_have_no_verdict(knick: Knick, latencies: Project) -> None:
    new = _measured(latencies, "new.csv", [latencies.patch], 30.0, count=40)
    ran = knick("check", new, "--summary", "p99", "--format", "json")
    (row,) = json.loads(ran.output)
    assert (ran.code, row["verdict"]) == (3, "no data")
    assert "p99 needs 100 samples of a run, and there are at most 40" in row["reason"]


def test_a_history_with_too_few_samples_for_a_percentile_gives_no_verdict(knick: Knick, latencies: Project) -> None:
    new = _measured(latencies, "new.csv", [latencies.patch], 30.0, count=2000)
    (row,) = json.loads(knick("check", new, "--summary", "p99.9", "--format", "json").output)
    assert row["reason"] == "the history has too few samples: p99.9 needs 1,000 samples of a run"


# ---- Against other files


def write_runs(path: Path, *levels: float) -> Path:
    """Write a results file with a run of two benchmarks for each level, that names no commit."""
    rows = [f"{run},b{name},ms,{level + name}" for run, level in enumerate(levels) for name in range(2)]
    path.write_text("\n".join(["run,benchmark,unit,value", *rows, ""]), encoding="utf-8")
    return path


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Go to a directory without an instance."""
    for name in ("KNICKPOINT_INSTANCE", *(service.sign for service in _SERVICES)):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


STEADY = (400.0, 401.0, 399.0, 400.5, 399.5, 400.2)


def test_a_file_is_judged_against_another_one_without_an_instance(knick: Knick, nowhere: Path) -> None:
    before, after = write_runs(Path("before.csv"), *STEADY), write_runs(Path("after.csv"), 480.0, 481.0, 480.5)
    ran = knick("check", after, "--against", before)
    assert (ran.code, ran.output.splitlines()[0]) == (1, "Do not merge: 2 regressed, of 2 benchmarks.")
    assert "Base: before.csv, 6 runs." in ran.output
    assert knick("check", before, "--against", before).code == 0
    assert sorted(path.name for path in nowhere.iterdir()) == ["after.csv", "before.csv"]


@pytest.mark.usefixtures("nowhere")
def test_a_base_of_several_commits_is_a_history_whatever_the_order_of_its_rows(knick: Knick) -> None:
    levels = [*STEADY, *(level * 1.5 for level in STEADY), *(level * 1.5 for level in STEADY)]
    lines = [f"{number + 1:010x},{1_700_000_000 + number * 86_400},b,ms,{level}" for number, level in enumerate(levels)]
    after = write_runs(Path("after.csv"), 601.0)
    after.write_text("benchmark,unit,value\nb,ms,601\n")
    verdicts = []
    for name, ordered in (("oldest.csv", lines), ("newest.csv", lines[::-1])):
        Path(name).write_text("\n".join(["commit,commit_time,benchmark,unit,value", *ordered, ""]), encoding="utf-8")
        (row,) = rows(knick, after, "--against", Path(name))
        verdicts.append((row["verdict"], row["before"]))
    assert verdicts[0] == verdicts[1]
    assert verdicts[0][0] == "unchanged"


@pytest.mark.usefixtures("nowhere")
def test_several_files_are_the_runs_of_the_base(knick: Knick) -> None:
    files = [write_runs(Path(f"{number}.csv"), level) for number, level in enumerate(STEADY)]
    against = [part for file in files for part in ("--against", file)]
    (row, _) = rows(knick, files[0], *against)
    assert (row["verdict"], row["base_commits"], row["base"]) == ("unchanged", 6, None)
    assert row["base_reason"] == f"--against {' '.join(map(str, files))}"


@pytest.mark.usefixtures("nowhere")
def test_the_file_and_line_that_are_wrong_are_named(knick: Knick) -> None:
    before = write_runs(Path("before.csv"), *STEADY)
    after = write_runs(Path("after.csv"), 480.0)
    before.write_text(before.read_text().replace("4,b0,ms,399.5", "4,b0,ms"))
    ran = knick("check", after, "--against", before)
    assert ran.code == 2
    assert "before.csv, line 10" in ran.errors


@pytest.mark.usefixtures("nowhere")
def test_a_base_of_the_history_beside_a_file_is_refused(knick: Knick) -> None:
    before = write_runs(Path("before.csv"), *STEADY)
    ran = knick("check", before, "--against", before, "--base", "HEAD~1")
    assert (ran.code, "Give one of the two" in ran.errors) == (2, True)


@pytest.mark.usefixtures("nowhere")
def test_an_instance_that_is_named_and_is_none_is_an_error_also_beside_a_file(knick: Knick) -> None:
    before = write_runs(Path("before.csv"), *STEADY)
    assert knick("check", before, "--against", before, "--instance", "missing").code == 2


def test_a_query_restricts_a_check_to_a_part(knick: Knick, project: Project) -> None:
    new = project.write("new.csv", project.patch, {**values(400.0), "b3": 480.0, "b5": 600.0})
    found = rows(knick, new, "--query", "benchmark=b3|b4")
    assert {row["trace"]: row["verdict"] for row in found} == {
        ",benchmark=b3,suite=s,": "regressed",
        ",benchmark=b4,suite=s,": "unchanged",
    }
    ran = knick("check", new, "--query", "benchmark=b77")
    assert (ran.code, "selects none of the 10 traces" in ran.errors) == (2, True)
