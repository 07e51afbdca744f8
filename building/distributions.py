"""Build the source distribution and the wheel of the last commit into ``dist/``, and check them: ``make dist``.

Both are built twice, from two clones in different directories; they have to be the same, byte for byte. The wheel is
built from the source distribution, as pip does where no wheel fits. Run with the Python that has
``requirements/release.txt``.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Mapping
from email import message_from_bytes
from pathlib import Path
from typing import Final

from sbom import bill_of_materials

__all__ = ["DistributionError", "check_names", "release_notes"]

_TOP: Final = Path(__file__).resolve().parent.parent
_WORK: Final = _TOP / "build" / "distributions"
_TARGET: Final = _TOP / "dist"
_SBOM: Final = "knickpoint.cdx.json"

_IN_WHEEL: Final = re.compile(
    r"knickpoint/(?:[a-z_]+/)*(?:\w+\.py|py\.typed|_kernels\.abi3\.so)"
    r"|knickpoint/agents/(?:instructions|guide/(?:detect/)?[\w-]+)\.md"
    r"|knickpoint/detect/methods/\w+/\w+\.json"
    r"|knickpoint/notify/messages/templates/[\w.]+\.(?:html|md|txt)"
    r"|knickpoint/profiles/page/\w+\.(?:css|html|js)"
    r"|knickpoint/server/static/(?:index\.html|icon\.svg|views\.json|third-party-licenses\.md|assets/[\w.-]+\.(?:css|js)(?:\.br)?)"
    r"|knickpoint/store/migrations/(?:script\.py\.mako|versions/\d{4}_\w+\.py)"
    r"|knickpoint-[^/]+\.dist-info/(?:licenses/LICENSE|METADATA|WHEEL|RECORD|entry_points\.txt|top_level\.txt)"
)
"""What a wheel may have; anything else is a file that came in by accident, or one that belongs in this list."""

_IN_SOURCE: Final = re.compile(
    r"(?:CHANGELOG\.md|LICENSE|MANIFEST\.in|PKG-INFO|README\.md|pyproject\.toml|setup\.cfg|setup\.py)"
    r"|building/\w+\.py"
    r"|docs/guide/(?:detect/)?[\w-]+\.md"
    r"|frontend/(?:\.npmrc|index\.html|package\.json|package-lock\.json|tsconfig\.json|vite\.config\.ts)"
    r"|frontend/(?:public|src)/(?:[\w.-]+/)*[\w.-]+\.(?:css|svg|ts)"
    r"|src/knickpoint\.egg-info/[\w.-]+"
    r"|src/knickpoint/native/(?:\w+/)*\w+\.[ch]"
)
"""What a source distribution may have besides the files of the wheel below ``src/``."""

_NEEDED: Final = ("knickpoint/py.typed", "knickpoint/server/static/index.html", "knickpoint/native/_kernels.abi3.so")


class DistributionError(Exception):
    """A distribution is not what it should be."""


def check_names(archive: str, names: list[str]) -> None:
    """Check that an archive has what it needs and nothing that came in by accident.

    Args:
        archive: the name of the file, which says its kind.
        names: the files in it; those of a source distribution without its top directory.

    Raises:
        DistributionError: something is missing, or is not expected there.
    """
    wheel = archive.endswith(".whl")

    def expected(name: str) -> bool:
        if wheel:
            return _IN_WHEEL.fullmatch(name) is not None
        within = name.removeprefix("src/")
        return bool(_IN_SOURCE.fullmatch(name) or (within != name and _IN_WHEEL.fullmatch(within)))

    if strange := sorted(name for name in names if not expected(name)):
        listed = ", ".join(strange[:10])
        raise DistributionError(
            f"{archive} has files that are not expected in it: {listed}. See MANIFEST.in and {__file__}"
        )
    for name in _NEEDED if wheel else (f"src/{_NEEDED[1]}", "building/backend.py"):
        if name not in names:
            raise DistributionError(f"{archive} lacks {name}")


def release_notes(changes: str, version: str) -> str:
    """Return the section of ``version`` in the text of ``CHANGELOG.md``, without its heading.

    Raises:
        DistributionError: there is no such section, or it is empty.
    """
    found = re.search(rf"^## {re.escape(version)}(?: [^\n]*)?\n(.*?)(?=^## |\Z)", changes, re.MULTILINE | re.DOTALL)
    if found is None or not found[1].strip():
        raise DistributionError(
            f"CHANGELOG.md has nothing about {version}: name its section `## {version} (YEAR-MONTH-DAY)`"
        )
    return found[1].strip() + "\n"


def _run(*command: str | Path, cwd: Path = _TOP, environment: Mapping[str, str] | None = None) -> str:
    """Run a command and return what it printed.

    Raises:
        DistributionError: it failed; the message has what it printed.
    """
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise DistributionError(f"`{' '.join(map(str, command))}` failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def _build(directory: Path, seconds: int) -> list[Path]:
    """Build both distributions from a new clone in ``directory``, and return their files."""
    _run("git", "clone", "--quiet", "--no-hardlinks", _TOP, directory)
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(seconds)}
    _run(sys.executable, "-m", "build", cwd=directory, environment=environment)
    return sorted((directory / "dist").iterdir())


def _names(archive: Path) -> list[str]:
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            return wheel.namelist()
    with tarfile.open(archive) as source:
        return [member.name.partition("/")[2] for member in source if member.isfile()]


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _check(files: list[Path]) -> None:
    """Check contents, metadata, the interface of Python that the kernels use, and the C library that they need."""
    wheel = next(file for file in files if file.suffix == ".whl")
    for file in files:
        check_names(file.name, _names(file))
    _run(sys.executable, "-m", "twine", "check", "--strict", *files)
    if "-cp311-abi3-" not in wheel.name:
        raise DistributionError(
            f"{wheel.name} has no kernels for every Python: is a C compiler with Python's headers here?"
        )
    _run(sys.executable, "-m", "abi3audit", "--strict", wheel)
    if sys.platform == "linux":
        shown = " ".join(_run(sys.executable, "-m", "auditwheel", "show", wheel).split())
        found = re.search(r'platform tag: "(\w+)"', shown)
        print(f"The C library that the wheel needs: {found[1] if found else shown}")


def _write_sbom(clone: Path, wheel: Path, seconds: int) -> Path:
    """Write the bill of materials, and check it against the schema of CycloneDX."""
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    with zipfile.ZipFile(wheel) as archive:
        name = next(each for each in archive.namelist() if each.endswith(".dist-info/METADATA"))
        metadata = message_from_bytes(archive.read(name))
    text = bill_of_materials(clone, metadata["Version"], metadata["License-Expression"], seconds)
    if problem := JsonStrictValidator(SchemaVersion.V1_6).validate_str(text):
        raise DistributionError(f"the bill of materials is not valid: {problem}")
    file = _TARGET / _SBOM
    file.write_text(text, encoding="utf-8")
    return file


def _make() -> None:
    """Build twice, compare, check, and list what was made."""
    if _run("git", "status", "--porcelain"):
        print("The last commit is built; changes that are not committed are left out.")
    os.umask(0o022)
    seconds = int(_run("git", "log", "-1", "--format=%ct"))
    shutil.rmtree(_WORK, ignore_errors=True)
    first, second = (_build(_WORK / name, seconds) for name in ("first", "the-second"))
    for one, other in zip(first, second, strict=True):
        if (one.name, _digest(one)) != (other.name, _digest(other)):
            raise DistributionError(f"{one.name} and {other.name} of the same commit differ: compare {one} and {other}")
    _check(first)
    shutil.rmtree(_TARGET, ignore_errors=True)
    _TARGET.mkdir()
    made = [Path(shutil.copy2(file, _TARGET)) for file in first]
    wheel = next(file for file in made if file.suffix == ".whl")
    for file in (*made, _write_sbom(_WORK / "first", wheel, seconds)):
        print(f"{_digest(file)}  {file.stat().st_size / 1e6:5.2f} MB  {file.relative_to(_TOP)}")


def _main(arguments: list[str]) -> None:
    """Make the distributions, or print the notes of a release: ``notes VERSION``."""
    try:
        if arguments[:1] == ["notes"]:
            print(release_notes((_TOP / "CHANGELOG.md").read_text(encoding="utf-8"), arguments[1]), end="")
        else:
            _make()
    except DistributionError as error:
        sys.exit(f"make dist: {error}")


if __name__ == "__main__":
    _main(sys.argv[1:])
