"""Write the published pages: beside the target first, which takes the place of the target when it is complete."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from knickpoint.instance import Instance
from knickpoint.model.errors import InputError
from knickpoint.publish.answers import Card, Chosen, SiteAnswers, read_answers
from knickpoint.server.dashboard import STATIC

_MANIFEST: Final = "knickpoint-site.json"
_FEW: Final = 3
_ADDRESS: Final = re.compile(r'(href|src)="/')
_DOUBLE: Final = 8

_FROM_DISK: Final = """  <script>
      if (location.protocol === "file:")
        document.querySelector("kp-app").outerHTML =
          "<p>Browsers do not load this site from files. Run <code>python3 -m http.server</code> in its directory, " +
          "and open <a href='http://localhost:8000'>http://localhost:8000</a>.</p>";
    </script>
  """
"""What a page says that somebody opens without a web server: modules and data do not load then."""


@dataclass(frozen=True, slots=True)
class Published:
    """What was published: traces, commits of their lines, files, and their size in bytes, raw and compressed."""

    traces: int
    commits: int
    files: int
    size: int
    compressed: int


def publish(instance: Instance, directory: Path, chosen: Chosen, *, static: Path = STATIC) -> Published:
    """Write the dashboard with the chosen repositories into ``directory``, in place of what was published there before.

    Raises:
        InputError: the directory holds something else or cannot be written, or the dashboard is not built.
        HistoryError: there is no such repository.
    """
    if not (static / "index.html").is_file():
        raise InputError(
            "this installation has no dashboard", remedy="Install a wheel, or run make setup in a checkout."
        )
    directory = directory.absolute()
    _check_target(directory)
    answers = read_answers(instance, chosen)
    files = _files(answers, chosen, static)
    try:
        _replace(directory, files)
    except OSError as error:
        raise InputError(
            f"the pages cannot be written: {error.strerror}; nothing was changed",
            where=str(directory),
            remedy="Choose a directory that you may write to, on a disk with room.",
        ) from error
    return Published(
        answers.traces,
        answers.commits,
        len(files),
        sum(map(len, files.values())),
        sum(min(len(content), len(gzip.compress(content, 6))) for content in files.values()),
    )


def _check_target(directory: Path) -> None:
    """Refuse a target that holds anything but published pages.

    Raises:
        InputError: it is a file or a link, or has other files.
    """
    if directory.is_symlink() or (directory.exists() and not directory.is_dir()):
        raise InputError("is not a directory", where=str(directory), remedy="Name a directory that is new or empty.")
    try:
        present = {path.relative_to(directory).as_posix() for path in directory.rglob("*") if not path.is_dir()}
        known = _known_files(directory) if present else set()
    except OSError as error:
        raise InputError(
            f"cannot be read: {error.strerror}", where=str(directory), remedy="Choose another directory."
        ) from error
    others = sorted(present - known)
    if others:
        shown = ", ".join(others[:_FEW]) + (", …" if len(others) > _FEW else "")
        raise InputError(
            f"holds files that knick publish did not write: {shown}",
            where=str(directory),
            remedy="Name a directory that is new or empty, or move these files away.",
        )


def _known_files(directory: Path) -> set[str]:
    """Return the files that the command wrote into ``directory`` before; none where there is no list of them."""
    try:
        known = json.loads((directory / _MANIFEST).read_bytes())["files"]
    except (FileNotFoundError, NotADirectoryError, ValueError, KeyError, TypeError):
        return set()
    return {_MANIFEST, *(name for name in known if isinstance(name, str))} if isinstance(known, list) else set()


def _files(answers: SiteAnswers, chosen: Chosen, static: Path) -> dict[str, bytes]:
    """Return the content of each file by its path below the directory."""
    files = {
        path.relative_to(static).as_posix(): path.read_bytes()
        for path in sorted(static.rglob("*"))
        if path.is_file() and path.suffix not in {".map", ".br"}  # few servers of files would find the latter
    }
    page = _published_page(files["index.html"].decode())
    files["index.html"] = page.replace(
        "</head>", f"{_tags(answers.cards[''], chosen.address, 'card.png')}</head>", 1
    ).encode()
    # GitHub Pages then serves the files as they are.
    files[".nojekyll"] = b""
    files |= {f"data/{name}.json": _json(value) for name, value in answers.json.items()}
    files |= {f"data/{name}.bin": pack(content) for name, content in answers.values.items()}
    for name, card in answers.cards.items():
        if card.picture:
            files[f"changes/{name}.png" if name else "card.png"] = card.picture
        if name:
            files[f"changes/{name}.html"] = _change_page(name, card, chosen.address)
    files |= {f"badges/{name}.svg": content for name, content in answers.badges.items()}
    manifest = {"published": chosen.now.isoformat(), "repositories": list(chosen.repositories), "files": sorted(files)}
    return files | {_MANIFEST: _json(manifest)}


def _published_page(page: str) -> str:
    """Return the page with relative addresses, and with the mark by which the dashboard reads files."""
    mark = '<meta name="knickpoint-published" content="data/" />\n  </head>'
    return _ADDRESS.sub(r'\1="./', page).replace("</head>", mark, 1).replace("</body>", f"{_FROM_DISK}</body>", 1)


def _tags(card: Card, address: str, picture: str) -> str:
    """Return the tags by which chats and search engines show a page: Open Graph, and a title."""
    base = f"{address.rstrip('/')}/" if address else ""
    named = {"og:type": "website", "og:site_name": "Knickpoint", "og:title": card.title, "og:description": card.text}
    if card.picture:
        named |= {"og:image": base + picture, "og:image:alt": card.text}
    tags = "".join(
        f"<meta property={quoteattr(name)} content={quoteattr(text)} />\n    " for name, text in named.items()
    )
    size = "summary_large_image" if card.picture else "summary"
    return f'{tags}<meta name="twitter:card" content="{size}" />\n    <meta name="description" content={quoteattr(card.text)} />\n  '


def _change_page(name: str, card: Card, address: str) -> bytes:
    """Return a page to share: chats read its tags, and a browser goes on to the page of the change.

    The page of the change is in the fragment of an address, which no chat sends to a server.
    """
    picture = f"changes/{name}.png" if address else f"{name}.png"
    return f"""<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <title>{escape(card.title)}</title>
    <link rel="icon" href="../icon.svg" />
    <meta http-equiv="refresh" content="0; url=../#/change/{name}" />
    {_tags(card, address, picture)}</head>
  <body>
    <p><a href="../#/change/{name}">{escape(card.title)}</a>: {escape(card.text)}</p>
  </body>
</html>
""".encode()


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def pack(content: bytes) -> bytes:
    """Return float64 numbers compressed: first the first byte of each number, then the second, and so on, then gzip."""
    planes = np.frombuffer(content, dtype=np.uint8).reshape(-1, _DOUBLE).T
    return gzip.compress(planes.tobytes(), 9, mtime=0)


def _replace(directory: Path, files: dict[str, bytes]) -> None:
    """Write ``files`` beside ``directory``, then exchange the two; on an error, the directory stays as it was."""
    directory.parent.mkdir(parents=True, exist_ok=True)
    beside = Path(tempfile.mkdtemp(prefix=f".{directory.name}-", dir=directory.parent))
    new, old = beside / "new", beside / "old"
    try:
        for name, content in files.items():
            path = new / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        if directory.exists():
            directory.rename(old)
        try:
            new.rename(directory)
        except OSError:
            if old.exists():
                old.rename(directory)
            raise
    finally:
        shutil.rmtree(beside, ignore_errors=True)
