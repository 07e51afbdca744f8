"""Read what ``perf script`` prints: samples as blocks of lines, the innermost frame first."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from knickpoint.model.errors import FormatError
from knickpoint.profiles.profile import Profile, ProfileBuilder, ValueKind, is_library_file

_FRAME: Final = re.compile(r"\s+[0-9a-f]+ (?P<symbol>.+?)(?:\+0x[0-9a-f]+)? \((?P<file>[^()]*(?: \(deleted\))?)\)")
_LOOKED_AT: Final = 20


def is_perf_script(lines: Sequence[str]) -> bool:
    """Whether the lines begin with a sample: the name of a program, and indented frames below it."""
    filled = [line for line in lines[:_LOOKED_AT] if line.strip() and line[:1] != "#"]
    return len(filled) > 1 and not filled[0][:1].isspace() and _FRAME.fullmatch(filled[1].rstrip()) is not None


def read_perf_script(lines: Sequence[str], where: str) -> Profile:
    """Read the samples; each counts once.

    Raises:
        FormatError: an indented line is not a frame.
    """
    builder = ProfileBuilder(where)
    path: list[int] = []
    samples = 0
    for number, line in enumerate([*lines, ""], start=1):
        if line[:1].isspace() and line.strip():
            found = _FRAME.fullmatch(line.rstrip())
            if found is None:
                raise FormatError(
                    f"expected an address, a symbol and its file, got {line.strip()[:60]!r}",
                    where=f"{where}, line {number}" if where else f"line {number}",
                    remedy="Print it with: perf script -F comm,ip,sym,dso.",
                )
            file = found["file"]
            name = f"[{file}]" if found["symbol"] == "[unknown]" else found["symbol"]
            path.append(builder.frame(name, file if is_library_file(file) else ""))
        elif path:
            builder.count(len(path))
            builder.add_path(path[::-1], 1.0, f"line {number}")
            samples += 1
            path = []
    return builder.build("perf script", ValueKind.COUNT, "samples", samples=samples)
