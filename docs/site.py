"""Hooks of the site: pages from the top of the repository, and links that leave the documentation.

The pages are read in three places: in a checkout, at a forge and on the site. Their links are those of a checkout. The
site has the pages of the top as well; a link to a source file, which it does not have, becomes the name of the file.
``make site`` also puts the published demonstration on it. A comment ``<!-- site: … -->`` is text of the site with it.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from posixpath import dirname, join, normpath
from typing import Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

_TOP: Final = Path(__file__).parent.parent
_PAGES: Final = ("CHANGELOG.md", "CONTRIBUTING.md")
_DEMONSTRATION: Final = _TOP / "build" / "demonstration"
_FRONT: Final = "demonstration/index.html"
_SITE_ONLY: Final = re.compile(r"<!-- site: (.*?) -->", re.DOTALL)
_LINK: Final = re.compile(r"(!?)\[([^\]]*)\]\(([^)#\s]+)(#[^)]*)?\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages of the top of the repository to those of the documentation, and the demonstration where it is built."""
    for name in _PAGES:
        files.append(File.generated(config, name, content=(_TOP / name).read_text(encoding="utf-8")))
    front = _DEMONSTRATION / "index.html"
    if front.is_file():  # pages link to it; the files beside it are copied as they are
        files.append(File.generated(config, _FRONT, abs_src_path=str(front)))
    return files


def on_post_build(config: MkDocsConfig) -> None:
    """Copy the demonstration, where it is built."""
    if _DEMONSTRATION.is_dir():
        shutil.copytree(_DEMONSTRATION, Path(config.site_dir) / _DEMONSTRATION.name, dirs_exist_ok=True)


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Return the text of a page with links that the site can follow."""
    del config
    here = page.file.src_uri
    # In the repository, pages of the top lie beside ``docs``, and those of ``docs`` below it.
    place = here if here in _PAGES else f"docs/{here}"

    def rewritten(match: re.Match[str]) -> str:
        picture, text, link, anchor = match.groups(default="")
        if "://" in link or link.startswith("mailto:"):
            return match[0]
        target = normpath(join(dirname(place), link))
        on_site = target.removeprefix("docs/")
        if files.get_file_from_path(on_site) is None:
            return text if picture else f"`{text.strip('`')}`"
        depth = here.count("/")
        return f"{picture}[{text}]({'../' * depth}{on_site}{anchor})"

    if files.get_file_from_path(_FRONT) is not None:
        markdown = _SITE_ONLY.sub(r"\1", markdown)
    return _LINK.sub(rewritten, markdown)
