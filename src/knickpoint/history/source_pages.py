"""The pages of lines of files at the host of a repository, as they are in one commit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final
from urllib.parse import quote

from knickpoint.history.git import Git
from knickpoint.model.commit import Commit

_COMMIT: Final = "/commit/"
_GITILES: Final = "/+/"


class SourcePages:
    """The files of a commit, and the page of a line in each.

    Addresses follow from that of the commit: ``…/commit/HASH`` on GitHub, GitLab and Forgejo, ``…/+/HASH`` on Gitiles.
    """

    def __init__(self, commit: Commit, paths: Iterable[str]) -> None:
        self._commit = commit
        self._named: dict[str, list[Sequence[str]]] = {}
        for path in paths:
            parts = tuple(path.split("/"))
            self._named.setdefault(parts[-1], []).append(parts)

    @classmethod
    def read(cls, git: Git, commit: Commit) -> SourcePages:
        """Read the files of a commit, unless it has no page. Raises ``HistoryError`` where git lacks it."""
        if not _has_page(commit):
            return cls(commit, ())
        listed = git.run("ls-tree", "-r", "-z", "--name-only", "--full-tree", commit.hash)
        return cls(commit, listed.decode(errors="replace").split("\0"))

    def page(self, file: str, line: int) -> str:
        """Return the page of a line of a file that a profile names; "" where no one file of the commit is meant.

        A profile has the path of another machine: of it and the path in the repository, the shorter one ends the other.
        """
        wanted = tuple(part for part in file.replace("\\", "/").split("/") if part not in {"", "."})
        shared: Mapping[Sequence[str], int] = {
            parts: length
            for parts in self._named.get(wanted[-1] if wanted else "", ())
            if parts[-(length := min(len(parts), len(wanted))) :] == wanted[-length:]
        }
        best = [parts for parts, length in shared.items() if length == max(shared.values())]
        return self._page("/".join(best[0]), line) if len(best) == 1 else ""

    def _page(self, path: str, line: int) -> str:
        url, name = self._commit.url, self._commit.hash
        if url.endswith(f"{_COMMIT}{name}"):
            page, mark = f"{url.removesuffix(f'{_COMMIT}{name}')}/blob/{name}/{quote(path)}", "#L"
        else:
            page, mark = f"{url}/{quote(path)}", "#"
        return f"{page}{mark}{line}" if line > 0 else page


def _has_page(commit: Commit) -> bool:
    return commit.url.endswith((f"{_COMMIT}{commit.hash}", f"{_GITILES}{commit.hash}"))
