"""Hooks of the site: pages from the top of the repository, and links that leave the documentation.

The pages are read in three places: in a checkout, at a forge and on the site. Their links are those of a checkout. The
site has the pages of the top as well; a link to a source file, which it does not have, becomes the name of the file.
"""

from __future__ import annotations

import re
from pathlib import Path
from posixpath import dirname, join, normpath
from typing import Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

_TOP: Final = Path(__file__).parent.parent
_PAGES: Final = ("CHANGELOG.md", "CONTRIBUTING.md")
_LINK: Final = re.compile(r"(!?)\[([^\]]*)\]\(([^)#\s]+)(#[^)]*)?\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages of the top of the repository to those of the documentation."""
    for name in _PAGES:
        files.append(File.generated(config, name, content=(_TOP / name).read_text(encoding="utf-8")))
    return files


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

    return _LINK.sub(rewritten, markdown)
