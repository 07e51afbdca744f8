"""Name files as a reader knows them: relative to the repository, and without what leads to a library."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from posixpath import commonpath, dirname, isabs, relpath
from typing import Final

from knickpoint.profiles.profile import is_library_file

_BEFORE_LIBRARY: Final = re.compile(
    r"""^.*/(?:site|dist)-packages/ | ^.*/lib(?:64)?/python\d[\d.]*/ | ^.*/node_modules/ | ^/rustc/[^/]+/(?:library/)?
    | ^.*/registry/src/[^/]+/ | ^.*/go/pkg/mod/ | ^.*/go(?:-?[\d.]+)?/(?:[^/]+/){0,2}src/(?=[a-z0-9]+/)
    | ^/usr/(?:local/)?include/ | ^(?:/usr)?/lib(?:64)?/(?:[\w.]+-linux-gnu/)?(?=[^/]+$)""",
    re.VERBOSE,
)
"""What leads to a package: the rest names it."""


def shown_files(files: Iterable[str], find: Callable[[str], str] = lambda _: "") -> Mapping[str, str]:
    """Map the files of profiles to shorter names.

    ``find`` has the path in the repository, "" where it has none. What neither it nor a directory of packages shortens
    is relative to the directory that all such files share.
    """
    found: dict[str, str] = {}
    alone = []
    for file in set(files):
        path = file.replace("\\", "/")
        own = "" if is_library_file(file) else find(file)
        found[file] = own or _BEFORE_LIBRARY.sub("", path, count=1) or path
        if found[file] == path and isabs(path) and not is_library_file(file):
            alone.append(file)
    if alone:
        shared = commonpath([dirname(found[file]) for file in alone])
        found |= {file: relpath(found[file], shared) for file in alone if shared != "/"}
    return found
