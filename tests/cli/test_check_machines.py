"""``knick check`` knows the machines: what another or a busy one does to all benchmarks fails no pull request."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from tests.cli.conftest import Knick
from tests.repositories import GitRepository

from knickpoint.ingest import import_files
from knickpoint.ingest.ci import _SERVICES
from knickpoint.instance import create_instance, open_instance

_COUNT = 12
_OURS = {"node": "ci-1", "cpu": {"brand_raw": "EPYC 7763", "count": 4, "hz_advertised_friendly": "3.5000 GHz"}}
_OTHER = {"node": "ci-77", "cpu": {"brand_raw": "EPYC 7763", "count": 4, "hz_advertised_friendly": "2.9000 GHz"}}
_DIFFERENCE = "Other machine: frequency 2.9 against 3.5 GHz, host ci-77 against ci-1"

Machine = Mapping[str, Any]


@dataclass(frozen=True)
class Suite:
    """A repository with 20 measured commits on main, and a commit of a branch."""

    directory: Path
    patch: str

    def write(self, name: str, factor: float, machine: Machine, *, odd: float = 1.0, commit: str = "") -> str:
        """Write results that are ``factor`` times as slow, and the first benchmark by ``odd`` more."""
        rng = np.random.default_rng(sum(map(ord, name)))
        rows = []
        for place in range(_COUNT):
            seconds = 0.1 * (place + 1) * factor * (1 if place else odd) * (1 + 0.005 * rng.standard_normal(3))
            rows.append({"fullname": f"t.py::test_{place}", "name": f"test_{place}", "params": None, "param": None,
                         "group": None, "extra_info": {}, "options": {},
                         "stats": {"data": seconds.tolist(), "median": float(np.median(seconds)), "rounds": 3}})  # fmt: skip
        document = {"machine_info": machine, "commit_info": {"id": commit or self.patch}, "benchmarks": rows,
                    "datetime": "2023-11-14T23:00:00+00:00", "version": "4.0.0"}  # fmt: skip
        (self.directory / name).write_text(json.dumps(document), encoding="utf-8")
        return name

    def three(self, factor: float, machine: Machine, *, odd: float = 1.0) -> list[str]:
        """Write three runs of the patch."""
        return [self.write(f"{factor}-{odd}-{number}.json", factor, machine, odd=odd) for number in range(3)]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Suite:
    repository = GitRepository.make(tmp_path_factory.mktemp("made") / "project")
    suite = Suite(repository.directory, "")
    names = repository.commits(20)
    paths = [suite.directory / suite.write(f"h{at}.json", 1.0, _OURS, commit=name) for at, name in enumerate(names)]
    with create_instance(suite.directory / ".knickpoint", repositories={"project": ".."}) as opened:
        import_files(opened, paths)
    repository.git("switch", "--quiet", "--create", "patch")
    return Suite(suite.directory, repository.commit("Change something"))


@pytest.fixture
def suite(made: Suite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Suite:
    for service in _SERVICES:
        monkeypatch.delenv(service.sign, raising=False)
    shutil.copytree(made.directory, tmp_path / "project")
    monkeypatch.chdir(tmp_path / "project")
    monkeypatch.setenv("KNICKPOINT_INSTANCE", ".knickpoint")
    return Suite(tmp_path / "project", made.patch)


def test_what_moves_with_the_machine_is_said_first_and_fails_nothing(knick: Knick, suite: Suite) -> None:
    ran = knick("check", *suite.three(1.48, _OTHER))
    assert ran.output.splitlines()[0] == (
        f"{_DIFFERENCE}; all 12 moved alike, +48 %, which is attributed to it."
        " May be merged: nothing regressed, of 12 benchmarks."
    )
    assert ran.code == 0


def test_what_stands_out_on_another_machine_fails_and_is_conditional(knick: Knick, suite: Suite) -> None:
    files = suite.three(1.48, _OTHER, odd=1.2)
    ran = knick("check", *files)
    assert ran.code == 1
    assert ran.output.startswith(f"{_DIFFERENCE}; 11 of 12 moved alike, +48 %")
    assert "Do not merge: 1 regressed, of 12 benchmarks." in ran.output.splitlines()[0]
    rows = json.loads(knick("check", *files, "--format", "json").output)
    (worse,) = (row for row in rows if row["fails"])
    assert worse["benchmark"] == "t.py::test_0"
    assert (worse["conditional"], worse["together"], worse["again"]) == (True, False, False)
    assert worse["condition"].startswith(_DIFFERENCE)
    assert {row["together"] for row in rows if not row["fails"]} == {True}


def test_another_machine_of_the_same_speed_is_said(knick: Knick, suite: Suite) -> None:
    ran = knick("check", *suite.three(1.0, _OTHER))
    assert ran.code == 0
    assert ran.output.startswith(f"{_DIFFERENCE}; the benchmarks did not move together. May be merged: nothing")


def test_a_common_move_on_a_machine_alike_is_to_be_measured_again_in_every_form(knick: Knick, suite: Suite) -> None:
    files = suite.three(1.48, _OURS)
    reports = [f"--report={form}=a.{form}" for form in ("markdown", "html", "json", "junit", "sarif")]
    ran = knick("check", *files, *reports, "--report", "annotations")
    sentence = "All 12 moved together, +48 %, by the patch or on a busy machine."
    assert (ran.code, ran.output.splitlines()[0]) == (3, f"{sentence} Measure again.")
    assert f"::warning title=knick check::{sentence.replace('%', '%25')} Measure again." in ran.output
    texts = {path.suffix: path.read_text(encoding="utf-8") for path in Path().glob("a.*")}
    assert "### 🟡" in texts[".markdown"]
    assert all("Measure again." in text for form, text in texts.items() if form != ".json")
    assert {(row["again"], row["verdict"], row["fails"]) for row in json.loads(texts[".json"])} == {
        (True, "unstable", False)
    }
    suites = ET.fromstring(texts[".junit"])
    assert (len(suites.findall(".//skipped")), len(suites.findall(".//failure"))) == (12, 0)
    (run,) = json.loads(texts[".sarif"])["runs"]
    (notification,) = run["invocations"][0]["toolExecutionNotifications"]
    assert (notification["level"], notification["message"]["text"]) == ("warning", f"{sentence} Measure again.")


def test_a_common_move_fails_where_unstable_ones_do(knick: Knick, suite: Suite) -> None:
    files = suite.three(1.48, _OURS)
    assert knick("check", *files, "--fail-on", "unstable").code == 1
    assert knick("check", *files, "--fail-on", "none").code == 3


def test_a_commit_accepts_what_moved_together(knick: Knick, suite: Suite) -> None:
    message = "Check everything\n\nKnickpoint-Accept: metric=time, each check costs a third\n"
    patch = GitRepository(suite.directory, 100).commit(message)
    ran = knick("check", *Suite(suite.directory, patch).three(1.48, _OURS))
    assert ran.code == 0
    assert ran.output.splitlines()[0] == (
        "All 12 moved together, +48 %, by the patch or on a busy machine."
        " May be merged: 12 benchmarks accepted, of 12 benchmarks."
    )


def test_software_that_a_patch_may_have_brought_is_named_and_excuses_nothing(knick: Knick, suite: Suite) -> None:
    (suite.directory / ".knickpoint").rename("with-python")
    python = [_OURS | {"python_version": version} for version in ("3.12.1", "3.13.0")]
    with create_instance(Path(".knickpoint"), repositories={"project": ".."}) as opened:
        hashes = GitRepository(suite.directory, 0).git("rev-list", "--reverse", "main").split()
        paths = [Path(suite.write(f"p{at}.json", 1.0, python[0], commit=name)) for at, name in enumerate(hashes)]
        import_files(opened, paths)
    ran = knick("check", *suite.three(1.48, python[1]))
    assert ran.code == 3
    assert ran.output.splitlines()[0] == (
        "All 12 moved together, +48 %, by the patch or on a busy machine, and other software was used"
        " (toolchain 3.13.0 against 3.12.1). Measure again."
    )


def test_files_know_their_machines_too(knick: Knick, suite: Suite) -> None:
    base = [part for at in range(8) for part in ("--against", f"h{at}.json")]
    assert knick("check", *suite.three(1.48, _OTHER), *base).code == 0
    assert knick("check", *suite.three(1.48, _OURS), *base).code == 3
    few = ("--against", "h0.json", "--against", "h1.json")
    ran = knick("check", *suite.three(1.48, _OTHER), *few)
    assert (ran.code, ran.output.startswith(_DIFFERENCE)) == (0, True)


@pytest.mark.parametrize(("machine", "code"), [(_OTHER, 0), (_OURS, 3)])
def test_stored_results_know_their_machines_too(knick: Knick, suite: Suite, machine: Machine, code: int) -> None:
    with open_instance(Path(".knickpoint")) as opened:
        import_files(opened, [Path(suite.write("new.json", 1.48, machine))])
    ran = knick("check", "--stored", suite.patch, "--base", "main")
    assert (ran.code, ran.output.startswith("Other machine")) == (code, code == 0)


def test_hostile_facts_stay_text(knick: Knick, suite: Suite) -> None:
    hostile = _OURS | {"node": "ci\x1b[31m`@ada`<img>"}
    ran = knick("check", *suite.three(1.48, hostile), "--report", "markdown=a.md")
    assert "\x1b" not in ran.output
    text = Path("a.md").read_text(encoding="utf-8")
    assert not any(sign in text for sign in ("<img", "@ada", "`@"))
