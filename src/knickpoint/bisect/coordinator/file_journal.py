"""A journal in one file, for a bisection without an instance: a line of JSON for each step, written before the next."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Self

from knickpoint.bisect.coordinator.bisection import BisectionProgress, JournalEntry
from knickpoint.bisect.pool.documents import result_from_text, text_of_result
from knickpoint.bisect.runner import try_lock
from knickpoint.bisect.search.problem import PlannedProbe
from knickpoint.model.bisection import ProbePurpose, ProbeResult, Target
from knickpoint.model.errors import InputError, StoreError

_VERSION: Final = 1


class FileJournal:
    """The journal of one bisection in the file ``path``; one process at a time may have it open.

    Each line is one object with one member: ``bisection`` (what is searched, the first line), ``begin``, ``result``,
    ``drop`` or ``log``. A line counts once it ends with a line break and is on the disk. What a kill left of a last
    line is cut off. The contents of results files are left out.

    Attributes:
        path: the file.
        about: what is searched, as plain values of JSON; a resumed bisection knows its own journal by it.
    """

    def __init__(self, path: Path, about: Mapping[str, Any], *, resume: bool) -> None:
        """Open the journal, or make a new one: in its place unless ``resume``, and where there is none.

        Raises:
            InputError: another process has it open, or it belongs to another search.
            StoreError: it cannot be read or written.
        """
        self.path = path
        self.about = about
        self._entries: dict[str, JournalEntry] = {}
        self._lock: int | None = None
        self._file = -1
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._lock = self._take_lock()
            if not resume:
                path.unlink(missing_ok=True)
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            self._read()
        except OSError as error:
            self.close()
            raise _failure(path, error) from error
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file and release its lock."""
        for descriptor in (self._file, self._lock):
            if descriptor is not None and descriptor >= 0:
                os.close(descriptor)
        self._file, self._lock = -1, None

    def load(self) -> Sequence[JournalEntry]:
        """Return the probes in the order in which they began, without those that were dropped."""
        return tuple(self._entries.values())

    def begin(self, probe: str, planned: PlannedProbe, target: Target) -> None:
        """Note a probe before it is submitted."""
        self._write(
            "begin",
            {
                "probe": probe,
                "place": planned.place,
                "device": planned.device,
                "purpose": planned.purpose.value,
                "commit": target.commit,
                "pins": [list(pin) for pin in target.pins],
            },
        )

    def record(self, result: ProbeResult) -> None:
        """Keep the result of a probe; one that is there already stays."""
        entry = self._entries.get(result.probe)
        if entry is not None and entry.result is None:
            self._write("result", json.loads(text_of_result(replace(result, files=()))))

    def drop(self, probe: str) -> None:
        """Note that a probe was cancelled, since its answer does not matter any more."""
        self._write("drop", probe)

    def log(self, line: str) -> None:
        """Keep a line for people."""
        self._write("log", line)

    def state(self, progress: BisectionProgress) -> None:
        """Keep nothing: where the bisection stands follows from its probes."""

    def _take_lock(self) -> int:
        lock = try_lock(self.path.with_suffix(".lock"))
        if lock is None:
            raise InputError(
                "another process runs this bisection", where=str(self.path), remedy="Wait for its end, or stop it."
            )
        return lock

    def _write(self, kind: str, value: object) -> None:
        """Append a line and wait until it is on the disk."""
        data = json.dumps({kind: value}, ensure_ascii=True).encode() + b"\n"
        try:
            written = 0
            while written < len(data):
                written += os.write(self._file, data[written:])
            os.fsync(self._file)
        except OSError as error:
            raise _failure(self.path, error) from error
        self._take(kind, value)

    def _read(self) -> None:
        """Read the lines of an earlier process, or write the first one."""
        with os.fdopen(os.dup(self._file), "rb") as file:
            file.seek(0)
            data = file.read()
        whole = data.rpartition(b"\n")[0]
        if not whole:
            os.ftruncate(self._file, 0)
            self._write("bisection", {"version": _VERSION, **self.about})
            _sync_directory(self.path.parent)
            return
        if len(whole) + 1 < len(data):
            os.ftruncate(self._file, len(whole) + 1)
        for number, line in enumerate(whole.split(b"\n"), 1):
            try:
                ((kind, value),) = json.loads(line).items()
                self._take(kind, value)
            except (ValueError, KeyError, TypeError, AttributeError, InputError) as error:
                raise InputError(
                    f"the journal cannot be resumed: {error}",
                    where=f"{self.path}, line {number}",
                    remedy="Start again without --resume.",
                ) from error

    def _take(self, kind: str, value: Any) -> None:
        """Bring the probes up to date with a line."""
        match kind:
            case "bisection" if value != {"version": _VERSION, **self.about}:
                raise InputError("it belongs to another search")
            case "begin":
                planned = PlannedProbe(int(value["place"]), str(value["device"]), ProbePurpose(value["purpose"]))
                target = Target(str(value["commit"]), tuple((str(name), str(pin)) for name, pin in value["pins"]))
                self._entries[value["probe"]] = JournalEntry(str(value["probe"]), planned, target)
            case "result":
                entry = self._entries[value["probe"]]
                if entry.result is None:
                    result = result_from_text(json.dumps(value))
                    self._entries[value["probe"]] = replace(entry, result=result)
            case "drop":
                del self._entries[value]
            case _:
                pass


def _sync_directory(directory: Path) -> None:
    """Wait until a new file is known to its directory on the disk."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _failure(path: Path, error: OSError) -> StoreError:
    return StoreError(
        f"the journal cannot be written: {error.strerror}",
        where=str(path),
        remedy="Free disk space or correct the permissions, then continue with --resume.",
    )
