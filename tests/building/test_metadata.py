"""What the build says about the package: its version, its page and its archives."""

from __future__ import annotations

import io
import re
import tarfile
from importlib.metadata import metadata, version
from pathlib import Path

import pytest
from click.testing import CliRunner

import knickpoint
from archives import write_reproducibly
from knickpoint.cli.program import knick
from readme import index_page

_TOP = Path(__file__).parents[2]


@pytest.mark.parametrize("option", ["-V", "--version"])
def test_the_program_prints_the_version_that_is_installed(option: str) -> None:
    assert CliRunner().invoke(knick, [option]).output == f"knick {version('knickpoint')}\n"


def test_the_library_has_the_version_that_is_installed() -> None:
    assert knickpoint.__version__ == version("knickpoint")
    assert not hasattr(knickpoint, "__versions__")


def test_every_link_of_the_page_of_an_index_is_absolute_and_leads_to_a_file() -> None:
    page = index_page(_TOP)
    source = re.search(r"^Source, (\S+)$", "\n".join(metadata("knickpoint").get_all("Project-URL") or ()), re.MULTILINE)
    assert source
    links = re.findall(r"\]\(([^)]+)\)", page)
    assert "docs/quick-start.md" in (_TOP / "README.md").read_text(encoding="utf-8")
    assert f"{source[1]}/blob/HEAD/docs/quick-start.md" in links
    for link in links:
        beginning, head, path = link.partition("/HEAD/")
        assert beginning in {f"{source[1]}/blob", f"{source[1]}/raw"}, link
        assert head
        assert (_TOP / path.partition("#")[0]).exists(), link


def test_images_of_the_page_lead_to_their_bytes(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[project.urls]\nSource = "https://forge.example/a"\n')
    (tmp_path / "README.md").write_text("![shot](docs/a.png) [here](#b) [there](https://x.example/) [file](c.md#d)")
    assert index_page(tmp_path) == (
        "![shot](https://forge.example/a/raw/HEAD/docs/a.png) [here](#b) [there](https://x.example/) "
        "[file](https://forge.example/a/blob/HEAD/c.md#d)"
    )


def _pack(archive: Path, *names: str, owner: str, seconds: int, mode: int) -> None:
    with tarfile.open(archive, "w:gz") as packed:
        for name in names:
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime, entry.uname, entry.mode = len(name), seconds, owner, mode
            packed.addfile(entry, io.BytesIO(name.encode()))


def test_an_archive_does_not_depend_on_who_packed_it_when_and_in_what_order(tmp_path: Path) -> None:
    first, second = tmp_path / "first.tar.gz", tmp_path / "second.tar.gz"
    _pack(first, "a", "b", owner="ada", seconds=1, mode=0o600)
    _pack(second, "b", "a", owner="ben", seconds=2, mode=0o664)
    for archive in (first, second):
        write_reproducibly(archive, 1_000_000)
    assert first.read_bytes() == second.read_bytes()
    with tarfile.open(first) as packed:
        entries = [(each.name, each.mtime, each.mode, each.uname) for each in packed]
    assert entries == [("a", 1_000_000, 0o644, ""), ("b", 1_000_000, 0o644, "")]
