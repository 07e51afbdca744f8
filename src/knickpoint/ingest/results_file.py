"""Results files as they arrive: their bytes, what is known beside them, and how much memory reading them may take.

Files and runs are identified: which execution a run is, and whether its content is stored already.
"""

from __future__ import annotations

import base64
import gc
import hashlib
import json
import resource
import sys
import zlib
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import IO, Final, TypeVar

from knickpoint.formats import find_format
from knickpoint.formats.toolbox.file_content import ReadingLimits
from knickpoint.ingest.settings import IngestSettings
from knickpoint.ingest.sidecar import STATED_KEY, FileContext, hashes_in_name
from knickpoint.model.errors import FormatError, InputError
from knickpoint.model.plain_text import path_text
from knickpoint.model.report import RunReport
from knickpoint.store.array_codec import decompressed

Result = TypeVar("Result")

_MEGABYTE: Final = 1_000_000
_SMALL: Final = 100_000
"""Bytes of a plain file below which no memory is looked for: it takes a thousandth of what any process has."""

_PACKED: Final = (b"\x1f\x8b", b"PAR1")
"""Beginnings of compressed files, which may unpack to any size."""

_PIECE: Final = 1 << 20
_STATUS: Final = Path("/proc/self/statm")
_MEMORY: Final = Path("/proc/meminfo")
_GROUP: Final = Path("/sys/fs/cgroup")
_LIMIT: Final = "Split the file, or raise parsing_megabytes of [ingest] in knickpoint.toml."
_LEFT: Final = "Split the file, or import it where more memory is free."


def reading_limits(settings: IngestSettings, data: bytes) -> ReadingLimits:
    """Return the limits for reading the file ``data``: those of the settings, and no more than is left."""
    unpacked, allowed = settings.largest_megabytes * _MEGABYTE, settings.parsing_megabytes * _MEGABYTE
    left = memory_left() if len(data) >= _SMALL or data.startswith(_PACKED) else None
    if left is None or left >= allowed:
        return ReadingLimits(unpacked, allowed, _LIMIT)
    return ReadingLimits(min(unpacked, left), left, _LEFT)


def memory_left() -> int | None:
    """Return the bytes that this process may still take, None if not known.

    It is the least of what the limit of its address space, its control group and the machine leave.
    """
    known = [left for left in (_left_of_address_space(), _left_of_group(), _left_of_machine()) if left is not None]
    return max(0, min(known)) if known else None


def _left_of_address_space() -> int | None:
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    text = _read(_STATUS)
    if limit == resource.RLIM_INFINITY or not text:
        return None
    return limit - int(text.split()[0]) * resource.getpagesize()


def _left_of_group() -> int | None:
    """Return the bytes that the control group leaves; files that it has cached give way."""
    limit, used = _read(_GROUP / "memory.max").strip(), _read(_GROUP / "memory.current").strip()
    if not (limit.isdecimal() and used.isdecimal()):
        return None
    cached = _number_after("inactive_file", _read(_GROUP / "memory.stat")) or 0
    return int(limit) - int(used) + cached


def _left_of_machine() -> int | None:
    kilobytes = _number_after("MemAvailable:", _read(_MEMORY))
    return None if kilobytes is None else kilobytes * 1024


def _number_after(name: str, text: str) -> int | None:
    for line in text.splitlines():
        words = line.split()
        if len(words) > 1 and words[0] == name:
            return int(words[1])
    return None


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii")
    except (OSError, ValueError):
        return ""


def within_memory(work: Callable[[], Result], where: str) -> Result:
    """Return the result of ``work``; where the memory does not suffice for it, that is an error of the file ``where``.

    Raises:
        FormatError: the memory does not suffice.
    """
    with suppress(MemoryError):
        return work()
    # Out of the ``with``, so that the error no longer holds what the work held; the frames of errors hold each other.
    gc.collect()
    raise FormatError("it needs more memory than this process may use", where=where, remedy=_LEFT)


def read_at_most(file: IO[bytes], limit: int) -> bytes:
    """Return at most ``limit`` bytes of a file.

    Unlike ``file.read(limit)``, it takes no memory for more than there are.
    """
    data = bytearray()
    while piece := file.read(min(_PIECE, limit - len(data))):
        data += piece
    return bytes(data)


@dataclass(frozen=True, slots=True)
class ResultsFile:
    """A results file as it arrives.

    Attributes:
        source: the path or URL that names the file among all others.
        data: its bytes.
        context: what is known beside it.
        companions: the files beside it that formats ask for, by their last name.
        found: whether it was found in a folder or a bucket, not named by a person; it may then hold no results.
        written: when the file was written, where HEAD of a work tree may be the commit that it does not name; None for
            a file that comes from elsewhere or from another time.
        references: whether the commit stated beside it may be a branch or a tag, because it was stated just now.
    """

    source: str
    data: bytes
    context: FileContext = field(default_factory=FileContext)
    companions: Mapping[str, bytes] = field(default_factory=dict)
    found: bool = False
    written: datetime | None = None
    references: bool = False

    def as_options(self, format: str = "") -> dict[str, object]:  # noqa: A002 - as everywhere in this room
        """Return, as plain values, what is kept with the bytes so that they can be read again.

        ``format`` is the one that the file was read as, "" where it could not be read. Only the companions that this
        format asks for are kept.
        """
        asked = find_format(format).companions if format and not self.context.mapping else None
        kept = {
            name: base64.b64encode(zlib.compress(data)).decode()
            for name, data in self.companions.items()
            if asked is None or any(path.endswith(name) for path in asked)
        }
        options = self.context.as_options()
        return {**options, "companions": kept} if kept else options

    @classmethod
    def kept(cls, source: str, payload: bytes, options: Mapping[str, object]) -> ResultsFile:
        """Return a file from what the store kept: its bytes compressed by zlib, and the values of :meth:`as_options`.

        Raises:
            StoreError: they are damaged.
        """
        stored = options.get("companions")
        companions = (
            {str(name): decompressed(str(data)) for name, data in stored.items()} if isinstance(stored, Mapping) else {}
        )
        return cls(source, decompressed(payload), FileContext.from_options(options), companions)


# Read files of this machine: results, what stands beside them, and mappings.


def is_stream(path: Path) -> bool:
    """Return True if ``path`` is standard input (``-``), or a pipe that the shell gave a name (``<(command)``)."""
    return str(path) in {"-", "/dev/stdin"} or str(path.parent) in {"/dev/fd", "/proc/self/fd"}


def read_file(path: Path, megabytes: int) -> bytes:
    """Return the bytes of a file or stream, at most one more than ``megabytes`` allow.

    Raises:
        InputError: it cannot be read.
    """
    if str(path) == "-":
        return read_at_most(sys.stdin.buffer, megabytes * 1_000_000 + 1)
    try:
        if path.exists() and not path.is_file() and not is_stream(path):
            raise InputError(
                "this is neither a file nor a folder",
                where=path_text(path),
                remedy="Name a file or a folder, or pipe into -.",
            )
        with path.open("rb") as file:
            return read_at_most(file, megabytes * 1_000_000 + 1)
    except OSError as error:
        raise cannot_read(path, error) from error


def cannot_read(path: Path, error: OSError) -> InputError:
    """Return the error that says why a file or folder cannot be read."""
    if isinstance(error, FileNotFoundError):
        return InputError("there is no such file or folder", where=path_text(path), remedy="Correct the name.")
    if isinstance(error, PermissionError):
        return InputError("permission denied", where=path_text(path), remedy="Grant read access to it.")
    return InputError(
        f"it cannot be read: {error.strerror}", where=path_text(path), remedy="Copy it elsewhere, then retry."
    )


def reader_of_neighbours(megabytes: int) -> Callable[[str], bytes | None]:
    """Return a function that reads the files beside results; a file beside many results is read once."""

    @lru_cache(maxsize=8)
    def read(name: str) -> bytes | None:
        try:
            data = read_file(Path(name), megabytes)
        except InputError:
            return None
        return data if len(data) <= megabytes * 1_000_000 else None

    return read


def read_format_option(format: str) -> tuple[str, str]:  # noqa: A002 - the word of the command line
    """Return the name of a format and the text of a mapping, one of them "": ``format`` is a name or a path.

    Raises:
        InputError: the mapping cannot be read.
    """
    if not format.lower().endswith(".toml"):
        return format, ""
    try:
        return "", read_file(Path(format), 1).decode()
    except UnicodeDecodeError as error:
        raise InputError("the mapping is not UTF-8", where=format, remedy="Save it as UTF-8.") from error


def written_at(path: Path) -> datetime | None:
    """Return when the file was written, now for a stream; None where that is unknown."""
    if is_stream(path):
        return datetime.now(UTC)
    try:
        return datetime.fromtimestamp(path.stat().st_mtime, UTC)
    except (OSError, ValueError, OverflowError):
        return None


_LONGEST: Final = 2000
"""Bytes of an identity; an index of PostgreSQL takes 2,700."""


def digest_bytes(data: bytes, context: Mapping[str, object]) -> str:
    """Return the digest of a file's bytes and of what is stated beside it: commit, branch, params."""
    key = json.dumps(context, sort_keys=True, default=str, separators=(",", ":"))
    return hashlib.blake2b(data, digest_size=20, key=hashlib.blake2b(key.encode(), digest_size=32).digest()).hexdigest()


def file_digests(file: ResultsFile, settings: IngestSettings) -> tuple[str, ...]:
    """Return the digests by which the content of ``file`` may be known, one or two.

    The first covers the file and what is stated beside it. The second is for results that name no commit: it adds what
    takes the place of the commit, which is the CI, the name of the file, or else HEAD. With HEAD, the time when the
    file was written belongs to it, as equal results may have been measured at another commit. The naming rules belong
    to both: under other rules the file is read again.
    """
    options = file.context.as_options()
    stated: dict[str, object] = {STATED_KEY: options[STATED_KEY]}
    rules = [list(settings.drop_params), [[dict(each.old), dict(each.new)] for each in settings.renames]]
    if any(rules):
        stated["rules"] = rules
    instead: dict[str, object] = {}
    if options["fallback"]:
        instead |= options
    elif file.written:
        instead["written"] = file.written
    if any(hashes := hashes_in_name(file.source)):
        instead["name"] = hashes
    return (_digest(file, stated), *([_digest(file, stated | instead)] if instead else []))


def _digest(file: ResultsFile, context: Mapping[str, object]) -> str:
    """Return the digest of the bytes, the mapping and the companions of ``file``, with ``context``."""
    beside = dict(context)
    if file.context.mapping:
        beside["mapping"] = file.context.mapping
    if file.companions:
        beside["companions"] = {name: digest_bytes(data, {}) for name, data in file.companions.items()}
    return digest_bytes(file.data, beside)


def digest_run(run: RunReport) -> str:
    """Return the digest of all that a run reports, except for its commit and its branch."""
    table = run.results
    digest = hashlib.blake2b(digest_size=20)
    for column in (table.samples, table.offsets, table.unit_codes, table.better_codes, table.outcome_codes):
        digest.update(column.tobytes())
    facts = (table.keys, table.units, table.messages, table.summaries, table.links)
    about = (run.identity, run.time, run.environment, run.links, run.revisions)
    text = json.dumps(
        [dict(fact) if isinstance(fact, Mapping) else fact for fact in (*facts, *about)],
        sort_keys=True,
        default=str,
        separators=(",", ":"),
    )
    digest.update(text.encode())
    return digest.hexdigest()


def run_identity(
    run: RunReport,
    *,
    commit: str,
    source: str,
    ci: str = "",
    keys: Iterable[str] = (),
    params: Mapping[str, str],
) -> str:
    """Return the text that names the execution ``run`` within its repository.

    The first of these that is there decides:

    1. the id that the file gives to the run;
    2. in a history file, the entry with the names of its results, as two files may hold different benchmarks of one
       entry;
    3. the execution that the CI or a sidecar names, with the name of the file;
    4. the source with the commit and, where the file has it, the time of the run: the file of the same name at the next
       commit is another run, and so is a second execution.

    ``params`` that are added to all results always belong to the identity: the same file may come from two machines.
    ``keys`` are the names as the file has them, so that a naming rule does not make another run of it. A digest stands
    for a text that is too long for an index of the database.
    """
    if run.identity:
        parts = ["id", run.identity, run.entry]
    elif run.entry:
        names = hashlib.blake2b("".join(sorted(keys)).encode(), digest_size=8).hexdigest()
        parts = ["entry", run.entry, names]
    elif ci:
        parts = ["ci", ci, source.rpartition("/")[2], commit]
    else:
        parts = ["file", source, commit, run.time.isoformat() if run.time else ""]
    parts.extend(f"{name}={params[name]}" for name in sorted(params))
    identity = ":".join(part.replace("%", "%25").replace(":", "%3A") for part in parts)
    data = identity.encode(errors="surrogatepass")
    return identity if len(data) <= _LONGEST else f"digest:{hashlib.blake2b(data, digest_size=20).hexdigest()}"
