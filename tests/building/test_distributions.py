"""What users install: distributions built from a clean clone, in an environment of their own."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.request import urlopen

import pytest

pytestmark = pytest.mark.long

_TOP: Final = Path(__file__).parents[2]
_ENVIRONMENT: Final = {
    name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "KNICKPOINT", "VIRTUAL_ENV"))
}


def _run(*command: str | Path, cwd: Path, environment: Mapping[str, str] = _ENVIRONMENT) -> str:
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False, timeout=900)
    assert done.returncode == 0, f"{command}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    return done.stdout


def _clone(directory: Path) -> Path:
    _run("git", "clone", "--quiet", "--no-hardlinks", _TOP, directory, cwd=_TOP)
    return directory


def _python(directory: Path, *packages: str | Path) -> Path:
    """Make a virtual environment with ``packages``, and return its Python."""
    _run(sys.executable, "-m", "venv", directory, cwd=directory.parent)
    python = directory / "bin" / "python"
    if packages:
        _run(python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", *packages, cwd=directory)
    return python


@pytest.fixture(scope="module")
def bare_path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A PATH without a compiler and without Node."""
    directory = tmp_path_factory.mktemp("bare")
    for name in ("git", "sh"):
        found = shutil.which(name)
        assert found
        (directory / name).symlink_to(found)
    return str(directory)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory with the sdist and the wheel that `python -m build` makes of a clean clone."""
    directory = tmp_path_factory.mktemp("built")
    clone = _clone(directory / "clone")
    _run(_python(directory / "venv", "build"), "-m", "build", cwd=clone)
    return clone / "dist"


@pytest.fixture(scope="module")
def pure_wheel(tmp_path_factory: pytest.TempPathFactory, bare_path: str) -> Path:
    """The wheel that pip makes of a clean clone on a machine without a compiler and without Node."""
    directory = tmp_path_factory.mktemp("pure")
    clone = _clone(directory / "clone")
    python = _python(directory / "venv")
    environment = {**_ENVIRONMENT, "PATH": bare_path, "CC": "no-such-compiler"}
    _run(python, "-m", "pip", "wheel", "--no-deps", "-w", directory, clone, cwd=directory, environment=environment)
    return next(directory.glob("*.whl"))


def _wheel(built: Path) -> Path:
    return next(built.glob("*.whl"))


def _names(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


@contextmanager
def _serving(python: Path, directory: Path) -> Iterator[str]:
    """Serve a new instance in ``directory``, and give its address."""
    knick = python.parent / "knick"
    _run(knick, "init", cwd=directory)
    with subprocess.Popen(
        [knick, "serve", "--port", "0", "--only", "api"],
        cwd=directory,
        env=_ENVIRONMENT,
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        try:
            assert server.stdout
            found = re.search(r"http://\S+", server.stdout.readline())
            assert found
            yield found[0].rstrip("/")
        finally:
            server.terminate()


def _uses(python: Path, directory: Path) -> tuple[set[str], str]:
    """Return the types of the page and its files, as the server answers, and what ``knick detect`` says of a step."""
    types = set()
    with _serving(python, directory) as address:
        with urlopen(f"{address}/") as answer:  # the address is that of the server above
            types.add(answer.headers.get_content_type())
            page = answer.read().decode()
        for file in re.findall(r"/assets/[\w.-]+", page):
            with urlopen(address + file) as answer:
                types.add(answer.headers.get_content_type())
    series = directory / "series.csv"
    series.write_text("value\n" + "".join(f"{level + step % 3}\n" for level in (100, 200) for step in range(30)))
    return types, _run(python.parent / "knick", "detect", series, cwd=directory)


def test_a_wheel_with_kernels_says_so_in_its_tag(built: Path) -> None:
    assert re.fullmatch(r"knickpoint-[^-]+-cp311-abi3-(linux|macosx)_\w+\.whl", _wheel(built).name)


def test_a_wheel_without_kernels_fits_every_machine(pure_wheel: Path) -> None:
    assert re.fullmatch(r"knickpoint-[^-]+-py3-none-any\.whl", pure_wheel.name)
    assert not [name for name in _names(pure_wheel) if name.endswith(".so")]


def test_a_wheel_has_what_is_read_at_run_time_and_no_sources_of_it(built: Path) -> None:
    names = _names(_wheel(built))
    for pattern in (
        r"knickpoint/py\.typed",
        r"knickpoint/native/_kernels\.abi3\.so",
        r"knickpoint/server/static/index\.html",
        r"knickpoint/server/static/assets/.*\.js",
        r"knickpoint/store/migrations/versions/\d{4}_first\.py",
        r"knickpoint/store/migrations/script\.py\.mako",
        r"knickpoint/detect/methods/default/forest\.json",
    ):
        assert any(re.fullmatch(pattern, name) for name in names), pattern
    assert not [name for name in names if re.search(r"\.([chot]|ts|pyc)$|node_modules|^(tests|building)/", name)]


def test_a_source_distribution_has_the_dashboard_and_what_it_is_made_from(built: Path) -> None:
    with tarfile.open(next(built.glob("*.tar.gz"))) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    kernels = set(_run("git", "ls-files", "src/knickpoint/native", cwd=_TOP).split())
    assert {
        "src/knickpoint/server/static/index.html",
        "frontend/package-lock.json",
        "frontend/src/main.ts",
        "building/backend.py",
        *kernels,
    } <= names
    assert not [name for name in names if "node_modules" in name or name.endswith(".so")]


def test_an_installed_wheel_serves_its_dashboard_and_finds_steps(built: Path, tmp_path: Path) -> None:
    types, found = _uses(_python(tmp_path / "venv", f"{_wheel(built)}[server]"), tmp_path)
    assert types == {"text/css", "text/html", "text/javascript"}
    assert "+99.0 %" in found


def test_an_installed_source_distribution_needs_neither_node_nor_a_compiler(
    built: Path, bare_path: str, tmp_path: Path
) -> None:
    python = _python(tmp_path / "venv", f"{_wheel(built)}[server]")
    environment = {**_ENVIRONMENT, "PATH": bare_path, "CC": "no-such-compiler", "npm_config_offline": "true"}
    again = ("install", "--quiet", "--no-deps", "--force-reinstall", next(built.glob("*.tar.gz")))
    _run(python, "-m", "pip", *again, cwd=tmp_path, environment=environment)
    types, found = _uses(python, tmp_path)
    assert types == {"text/css", "text/html", "text/javascript"}
    assert "+99.0 %" in found


def test_a_wheel_without_kernels_works_with_numpy_alone(pure_wheel: Path, tmp_path: Path) -> None:
    python = _python(tmp_path / "venv", f"{pure_wheel}[server]")
    assert _run(python, "-c", "from knickpoint.native import COMPILED; print(COMPILED)", cwd=tmp_path) == "False\n"
    types, found = _uses(python, tmp_path)
    assert types == {"text/css", "text/html", "text/javascript"}
    assert "+99.0 %" in found


def test_a_build_that_cannot_make_the_dashboard_fails_and_says_why(tmp_path: Path) -> None:
    clone = _clone(tmp_path / "clone")
    (clone / "frontend" / "package-lock.json").write_text("{}")
    python = _python(tmp_path / "venv")
    wheel = (python, "-m", "pip", "wheel", "--no-deps", "-w", tmp_path, clone)
    done = subprocess.run(wheel, cwd=tmp_path, env=_ENVIRONMENT, capture_output=True, text=True, check=False)
    assert done.returncode
    assert "the dashboard cannot be built: `npm ci" in done.stdout + done.stderr
    _run(*wheel, cwd=tmp_path, environment={**_ENVIRONMENT, "KNICKPOINT_WITHOUT_DASHBOARD": "1"})
    assert not [name for name in _names(next(tmp_path.glob("*.whl"))) if "server/static" in name]


def test_the_steps_of_the_image_install_a_program_with_everything_that_containers_need(
    built: Path, tmp_path: Path
) -> None:
    text = (_TOP / "deploy" / "Containerfile").read_text(encoding="utf-8").replace("\\\n", "")
    step = next(line.removeprefix("RUN ") for line in text.splitlines() if line.startswith("RUN python3 -m venv"))
    wheels, program = tmp_path / "wheels", tmp_path / "program"
    wheels.mkdir()
    shutil.copy(_wheel(built), wheels)
    _run("sh", "-ec", step.replace("/tmp/", f"{wheels}/").replace("/opt/knickpoint", str(program)), cwd=tmp_path)
    assert list(wheels.iterdir()) == []
    _run(program / "bin" / "knick", "init", tmp_path / "instance", cwd=tmp_path)
    needed = "import distributed, fsspec, nats, psycopg, prometheus_client, uvicorn"
    _run(program / "bin" / "python", "-c", needed, cwd=tmp_path)
