"""What a release is checked for before it is made: the files in it, its notes, its bill of materials, its workflow."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest
import yaml

from distributions import DistributionError, check_names, release_notes
from sbom import bill_of_materials

_TOP = Path(__file__).parents[2]
_WHEEL = ["knickpoint/py.typed", "knickpoint/server/static/index.html", "knickpoint/native/_kernels.abi3.so"]
_SOURCE = ["building/backend.py", "src/knickpoint/server/static/index.html", "frontend/src/main.ts", "PKG-INFO"]
_WORKFLOWS = _TOP / ".github" / "workflows"
_WORKFLOW = _WORKFLOWS / "release.yml"


def test_a_wheel_with_its_files_passes() -> None:
    check_names("a.whl", [*_WHEEL, "knickpoint/model/params.py", "knickpoint-1.0.dist-info/METADATA"])


def test_every_data_file_of_the_package_is_expected_in_a_wheel() -> None:
    settings = tomllib.loads((_TOP / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]
    source = _TOP / "src"
    found = {file for pattern in settings["knickpoint"] for file in (source / "knickpoint").glob(pattern)}
    assert len(found) > 20
    check_names("a.whl", [*_WHEEL, *(file.relative_to(source).as_posix() for file in found if file.is_file())])


@pytest.mark.parametrize(
    "name",
    [
        "tests/test_a.py",
        "knickpoint/native/flags.h",
        "knickpoint/notes.txt",
        "knickpoint/native/_kernels.cpython-311.so",
    ],
)
def test_a_file_that_came_into_a_wheel_by_accident_is_named(name: str) -> None:
    with pytest.raises(DistributionError, match=re.escape(f"a.whl has files that are not expected in it: {name}.")):
        check_names("a.whl", [*_WHEEL, name])


@pytest.mark.parametrize("name", ["tests/test_a.py", "frontend/node_modules/lit/index.js", "action.yml", "src/a.py"])
def test_a_file_that_came_into_a_source_distribution_by_accident_is_named(name: str) -> None:
    check_names("a.tar.gz", _SOURCE)
    with pytest.raises(DistributionError, match=re.escape(name)):
        check_names("a.tar.gz", [*_SOURCE, name])


@pytest.mark.parametrize("missing", _WHEEL)
def test_a_wheel_without_a_file_that_it_needs_is_refused(missing: str) -> None:
    with pytest.raises(DistributionError, match=f"a.whl lacks {re.escape(missing)}"):
        check_names("a.whl", [name for name in _WHEEL if name != missing])


_CHANGES = "# Changes\n\n## Unreleased\n\n## 1.2.0 (2026-12-01)\n\n- New.\n\n### Store\n\n- Old.\n\n## 1.1.0 (2026-11-01)\n\n- First.\n"


def test_the_notes_of_a_release_are_its_section_of_the_changes() -> None:
    assert release_notes(_CHANGES, "1.2.0") == "- New.\n\n### Store\n\n- Old.\n"
    assert release_notes(_CHANGES, "1.1.0") == "- First.\n"


@pytest.mark.parametrize("version", ["1.3.0", "1.2", "Unreleased"])
def test_a_release_without_notes_is_refused(version: str) -> None:
    with pytest.raises(DistributionError, match=f"CHANGELOG.md has nothing about {version}"):
        release_notes(_CHANGES, version)


def test_changes_have_a_section_for_what_is_not_released() -> None:
    assert re.findall(r"^## (.*)", (_TOP / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)[0] == "Unreleased"


def test_the_bill_of_materials_names_what_the_wheel_contains_and_what_it_needs() -> None:
    bill = json.loads(bill_of_materials(_TOP, "1.2.0", "Apache-2.0 AND MIT", 1_800_000_000))
    release = bill["metadata"]["component"]
    assert release["purl"] == "pkg:pypi/knickpoint@1.2.0"
    assert bill["metadata"]["timestamp"] == "2027-01-15T08:00:00Z"
    dashboard = json.loads((_TOP / "frontend" / "package.json").read_text(encoding="utf-8"))["dependencies"]
    bundled = {each["name"]: each["version"] for each in release["components"]}
    assert dashboard.items() <= bundled.items()
    assert all(re.fullmatch(r"[0-9a-f]{128}", each["hashes"][0]["content"]) for each in release["components"])
    names = {each["name"]: each["scope"] for each in bill["components"]}
    assert names["numpy"] == "required"
    assert names["sqlalchemy"] == "optional"
    assert "setuptools-scm" not in names
    needed = {each["ref"]: each["dependsOn"] for each in bill["dependencies"]}
    assert any(each.startswith("pkg:pypi/numpy@") for each in needed[release["purl"]])
    assert {ref for refs in needed.values() for ref in refs} <= set(needed)


def test_jobs_of_the_release_have_the_rights_that_they_need_and_no_others() -> None:
    workflow = yaml.safe_load(_WORKFLOW.read_text(encoding="utf-8"))
    assert workflow["permissions"] == {}
    assert {name: job["permissions"] for name, job in workflow["jobs"].items()} == {
        "source": {"contents": "read"},
        "wheels": {"contents": "read"},
        "attest": {"attestations": "write", "id-token": "write"},
        "index": {"id-token": "write"},
        "announce": {"contents": "write"},
    }
    assert "secrets." not in _WORKFLOW.read_text(encoding="utf-8")


def test_the_job_of_the_site_may_publish_pages_and_nothing_else() -> None:
    workflow = yaml.safe_load((_WORKFLOWS / "site.yml").read_text(encoding="utf-8"))
    assert workflow["permissions"] == {}
    (job,) = workflow["jobs"].values()
    assert job["permissions"] == {"contents": "read", "pages": "write", "id-token": "write"}
    assert any("make site" in step.get("run", "") for step in job["steps"])


@pytest.mark.parametrize("workflow", sorted(_WORKFLOWS.iterdir()), ids=lambda path: path.stem)
def test_actions_of_our_workflows_are_pinned_to_commits(workflow: Path) -> None:
    used = re.findall(r"uses: (\S+)", workflow.read_text(encoding="utf-8"))
    assert used
    assert [each for each in used if not re.search(r"@[0-9a-f]{40}$", each)] == []
