"""What works with the packages of one extra alone: the library with NumPy, ``detect`` and ``check`` with ``cli``."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Final

import pytest

_SOURCE: Final = Path(__file__).parents[2] / "src"
_ENVIRONMENT: Final = {
    name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "KNICKPOINT", "VIRTUAL_ENV"))
}


def _required(names: list[str]) -> Iterator[str]:
    """Yield ``names`` and all that they need here, each once; optional packages are left out."""
    waiting, seen = list(names), set[str]()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        try:
            found = distribution(name)
        except PackageNotFoundError:
            continue  # for other systems or versions
        yield name
        waiting += [
            re.split(r"[ ;<>=!~\[(]", each, maxsplit=1)[0] for each in found.requires or () if "extra" not in each
        ]


def _packages_of(*extras: str) -> list[str]:
    """Return the packages of the program that ``extras`` need, as its metadata states them."""
    found = []
    for each in distribution("knickpoint").requires or ():
        extra = re.search(r"extra == ['\"](\w+)['\"]", each)
        if (extra is None or extra[1] in extras) and not each.startswith("knickpoint"):
            found.append(re.split(r"[ ;<>=!~\[(]", each, maxsplit=1)[0])
    return found


def python_with(directory: Path, *extras: str) -> list[str]:
    """Return the start of a command that runs Python with these packages and no others."""
    site = directory / "site"
    site.mkdir()
    for name in _required(_packages_of(*extras)):
        files = distribution(name).files or ()
        for top in sorted({file.parts[0] for file in files if file.parts[0] not in {"..", "__pycache__"}}):
            target = Path(str(distribution(name).locate_file(top)))
            if target.exists() and not (site / top).exists():
                (site / top).symlink_to(target)
    paths = f"import sys; sys.path[1:1] = [{str(_SOURCE)!r}, {str(site)!r}]"
    return [sys.executable, "-I", "-S", "-c", f"{paths}; sys.argv[0] = 'knick'; "]


def _run(start: list[str], code: str, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [*start[:-1], start[-1] + code, *arguments]
    return subprocess.run(command, cwd=cwd, env=_ENVIRONMENT, capture_output=True, text=True, check=False, timeout=120)


_KNICK: Final = "from knickpoint.cli import main; main()"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return python_with(tmp_path_factory.mktemp("library"))


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return python_with(tmp_path_factory.mktemp("cli"), "cli")


def test_the_library_needs_numpy_alone(library: list[str], tmp_path: Path) -> None:
    code = (
        "from knickpoint.detect import find_steps, judge; from knickpoint.native import COMPILED; "
        "from knickpoint.formats.sniffer import FORMATS; import knickpoint.calc; "
        "print([step.index for step in find_steps([1.0, 1.1, 0.9, 1.0] * 8 + [2.0, 2.1, 1.9, 2.0] * 8)])"
    )
    done = _run(library, code, cwd=tmp_path)
    assert done.stdout == "[32]\n", done.stderr
    assert _packages_of() == ["numpy"]


def test_the_program_without_its_packages_says_what_to_install(library: list[str], tmp_path: Path) -> None:
    done = _run(library, _KNICK, "detect", cwd=tmp_path)
    assert done.returncode == 2
    assert re.fullmatch(r'knick: this needs the package click.*pip install "knickpoint\[cli\]"\n', done.stderr)


def test_detect_works_on_the_slim_program(program: list[str], tmp_path: Path) -> None:
    (tmp_path / "series.csv").write_text("value\n" + "1\n1.1\n" * 15 + "2\n2.1\n" * 15)
    done = _run(program, _KNICK, "detect", "series.csv", "--format", "csv", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 2


@pytest.mark.long
def test_a_history_is_imported_run_and_checked_on_the_slim_program(program: list[str], tmp_path: Path) -> None:
    rows = "".join(f"c{day},2026-01-{day:02}T00:00:00Z,parse,{10 + day % 3},ms\n" for day in range(1, 29))
    (tmp_path / "history.csv").write_text("commit,time,benchmark,value,unit\n" + rows)
    (tmp_path / "new.csv").write_text("benchmark,value,unit\nparse,30,ms\n")
    for arguments in (["init"], ["import", "history.csv"], ["run"]):
        done = _run(program, _KNICK, *arguments, cwd=tmp_path)
        assert done.returncode == 0, (arguments, done.stdout, done.stderr)
    checked = _run(program, _KNICK, "check", "new.csv", cwd=tmp_path)
    assert checked.returncode == 1, (checked.stdout, checked.stderr)


@pytest.mark.long
def test_serving_on_the_slim_program_says_what_to_install(program: list[str], tmp_path: Path) -> None:
    _run(program, _KNICK, "init", cwd=tmp_path)
    done = _run(program, _KNICK, "serve", cwd=tmp_path)
    assert done.returncode == 2
    assert re.fullmatch(r'knick: this needs the package \w+.*pip install "knickpoint\[server\]"\n', done.stderr)
