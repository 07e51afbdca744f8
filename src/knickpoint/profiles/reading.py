"""Read a profile by its content: the name of the file decides nothing."""

from __future__ import annotations

import re
from functools import lru_cache, partial
from typing import Final

from knickpoint.formats.toolbox.file_content import FileContent, ReadingLimits
from knickpoint.model.errors import FormatError
from knickpoint.profiles.callgrind import is_callgrind, read_callgrind
from knickpoint.profiles.json_formats import (
    is_cpuprofile,
    is_dhat,
    is_firefox,
    is_speedscope,
    read_cpuprofile,
    read_dhat,
    read_firefox,
    read_speedscope,
)
from knickpoint.profiles.packed import is_packed, unpack_profile
from knickpoint.profiles.perf_script import is_perf_script, read_perf_script
from knickpoint.profiles.pprof import is_pprof, read_pprof
from knickpoint.profiles.profile import MOST_BYTES, Profile, ProfileBuilder, ValueKind
from knickpoint.profiles.python_stats import is_python_stats, read_python_stats

FORMATS: Final = (
    "folded stacks",
    "speedscope",
    "cpuprofile (V8, Chrome)",
    "pprof",
    "Callgrind",
    "cProfile (pstats)",
    "Firefox profiler",
    "perf script",
    "DHAT",
)
"""What :func:`read_profile` reads."""

_FOLDED: Final = re.compile(r"(?P<stack>.*) (?P<cost>\d+(?:\.\d+)?(?:e[+-]?\d+)?)")
_PLACED: Final = re.compile(r"(?P<name>.*) \((?P<file>[^()]*):\d+\)")
"""A frame of py-spy: the function, and the file with the line that was running."""
_PROCESS: Final = re.compile(r"process \d+.*|thread \(?(?:0x[0-9a-fA-F]+|\d+|[\w-]+)\)?(?:: .*)?")
"""The outermost frames of py-spy, whose numbers differ from run to run."""
_BINARY: Final = 1024
"""Bytes at the beginning that are looked at for a zero, which no text has."""

_LOOKED_AT: Final = 50
_MOST_MEMORY: Final = 3_000_000_000
"""Bytes of memory that reading a profile may take; JSON takes many times its length."""
_LIMITS: Final = ReadingLimits(unpacked=MOST_BYTES, memory=_MOST_MEMORY, remedy="Profile a shorter run.")


def read_profile(data: bytes, name: str = "", *, value: str = "") -> Profile:
    """Read one profile, packed with gzip or not.

    Args:
        data: the content of the file.
        name: its name, for messages.
        value: the value to read where the profile has several, such as ``alloc_space``; "" for the usual one.

    Raises:
        FormatError: the content is in no known format, damaged, or too large.
    """
    found = find_profile(data, name, value=value, flat=True)
    if found is None:
        raise FormatError(
            "not a profile in a known format", where=name, remedy=f"These are read: {', '.join(FORMATS)}."
        )
    return found


def find_profile(data: bytes, name: str = "", *, value: str = "", flat: bool = False) -> Profile | None:
    """Read a file that may be a profile; None where it is in no known format.

    Lines that end with a number are folded stacks where half of them have several frames; ``flat`` takes any.

    Raises:
        FormatError: the profile is damaged, or too large.
    """
    file = FileContent(data, name, limits=_LIMITS)
    content = file.unpacked
    if len(content) > MOST_BYTES:
        raise FormatError(
            f"more than {MOST_BYTES:,} bytes", where=name, remedy="Profile a shorter run, or sample less often."
        )
    binary = (
        (is_packed, unpack_profile),
        (is_python_stats, read_python_stats),
        (is_pprof, partial(read_pprof, value=value)),
    )
    for is_known, read in binary:
        if is_known(content):
            return read(content, name)
    if b"\0" in content[:_BINARY]:
        return None
    if content[:64].lstrip()[:1] == b"{":
        file.check_memory()
        return _read_json(file.json, name, value)
    return _read_text(file, name, value, flat=flat)


def _read_text(file: FileContent, name: str, value: str, *, flat: bool) -> Profile | None:
    if is_callgrind(file.text):
        return read_callgrind(file.lines, name, value)
    if is_perf_script(file.lines):
        return read_perf_script(file.lines, name)
    filled = [line.rstrip() for line in file.lines[:_LOOKED_AT] if line.strip() and line[:1] != "#"]
    stacks = [_FOLDED.fullmatch(line) for line in filled]
    known = sum(bool(found and found["stack"].strip()) for found in stacks)
    deep = sum(bool(found and ";" in found["stack"]) for found in stacks)
    if known and all(stacks[:-1]) and (flat or 2 * deep >= len(stacks)):
        return _read_folded(file, name)
    return None


def _read_json(document: object, name: str, value: str) -> Profile | None:
    if is_speedscope(document):
        return read_speedscope(document, name, value)
    if is_cpuprofile(document):
        return read_cpuprofile(document, name, value)
    if is_firefox(document):
        return read_firefox(document, name)
    if is_dhat(document):
        return read_dhat(document, name, value)
    return None


def _read_folded(file: FileContent, where: str) -> Profile:
    """Read folded stacks: a line has frames, the outermost first, and a number of samples."""
    builder = ProfileBuilder(where)
    frames: dict[str, int] = {}
    samples = 0.0
    for number, line in enumerate(map(str.rstrip, file.lines), start=1):
        if not line or line[0] == "#":
            continue
        found = _FOLDED.fullmatch(line)
        if found is None:
            raise FormatError(
                f"expected frames and a number, got {line[:60]!r}",
                where=f"{where}, line {number}" if where else f"line {number}",
                remedy="The file is damaged or truncated; record the profile again.",
            )
        stack, cost = found["stack"], float(found["cost"])
        path = stack.split(";") if stack.strip() else []
        while len(path) > 1 and _is_process(path[0]):
            del path[0]
        try:
            known = list(map(frames.__getitem__, path))
        except KeyError:
            for text in path:
                if text not in frames:
                    placed = _PLACED.fullmatch(text)
                    frames[text] = builder.frame(placed["name"], placed["file"]) if placed else builder.frame(text)
            known = [frames[text] for text in path]
        samples += cost
        builder.add_path(known, cost, f"line {number}")
    return builder.build("folded stacks", ValueKind.COUNT, "samples", samples=samples)


@lru_cache(maxsize=1_000)
def _is_process(frame: str) -> bool:
    return _PROCESS.fullmatch(frame) is not None
