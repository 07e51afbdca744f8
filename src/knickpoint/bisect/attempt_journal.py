"""The journal of an attempt: its rounds as they are made, from which it goes on after its process was killed.

Going on must not help an attempt that is not faster. The screening goes on behind its rounds, since the error of the
session does not depend on it. A confirmation that was interrupted counts, and the next one is made of fresh rounds: who
kills one that looks bad spends its share of the error. The size goes on; each interruption can cost it the round that
was being made, and few are allowed.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Self

from knickpoint.bisect.attempt_record import Attempt, AttemptSession, plain_value
from knickpoint.bisect.attempts import Stage
from knickpoint.bisect.comparison import Round

_MOST_INTERRUPTIONS: Final = 3


@dataclass(frozen=True, slots=True)
class _Line:
    """A stage that begins, or a round of it; the attempt took ``seconds`` until then."""

    stage: Stage
    seconds: float
    round: Round | None = None


@dataclass
class AttemptJournal:
    """The journal of ``attempt`` in the file ``path``: a line of JSON for each step, on the disk before the next step.

    ``stage`` is the newest one, ``rounds`` are those of each stage, and ``seconds`` what the attempt took until the
    last line.
    """

    path: Path
    attempt: Attempt
    stage: Stage = Stage.SCREEN
    rounds: dict[Stage, list[Round]] = field(default_factory=dict)
    seconds: float = 0.0
    _started: float = field(default_factory=time.monotonic)
    _earlier_seconds: float = 0.0
    _size: int = 0

    @classmethod
    def open(cls, record: Path, session: AttemptSession, commit: str, *, work_tree: bool) -> Self:
        """Go on with the newest attempt of a record if it is one of ``commit`` that can, or begin an attempt."""
        kept = cls.read(record, session)
        if kept is not None and kept.goes_on_with(commit):
            kept.go_on()
            return kept
        begun = cls(_journal_of(record), Attempt(commit, datetime.now(UTC), work_tree=work_tree))
        begun.path.write_text(f"{json.dumps(begun._head)}\n", encoding="utf-8")
        return begun

    @classmethod
    def read(cls, record: Path, session: AttemptSession) -> Self | None:
        """Return the journal of the newest attempt of a record, None if it came to its end or left none."""
        newest = session.attempts[-1] if session.attempts else None
        if newest is None or newest.end:
            return None
        found = cls(_journal_of(record), newest, seconds=newest.seconds)
        return found if found._load() else None

    def goes_on_with(self, commit: str) -> bool:
        """Whether the attempt is one of ``commit``, and was not interrupted too often."""
        return self.attempt.commit == commit and len(self.attempt.interruptions) < _MOST_INTERRUPTIONS

    @property
    def elapsed(self) -> float:
        """Seconds that the attempt took until now."""
        return self._earlier_seconds + time.monotonic() - self._started

    @property
    def _head(self) -> list[str]:
        return [self.attempt.commit, self.attempt.began.isoformat()]

    def _load(self) -> bool:
        """Read the lines, and return False if they are not of this attempt; what a kill left of the last one is cut."""
        from pydantic import TypeAdapter, ValidationError

        try:
            head, *lines = self.path.read_bytes().splitlines(keepends=True)
            if json.loads(head) != self._head:
                return False
        except (FileNotFoundError, ValueError):
            return False
        reader, self._size = TypeAdapter(_Line), len(head)
        for text in lines:
            try:
                line = reader.validate_json(text)
            except ValidationError:
                break
            if not text.endswith(b"\n"):
                break
            self._take(line)
            self._size += len(text)
        return True

    def _take(self, line: _Line) -> None:
        if line.round is None:
            self.rounds[line.stage] = []
        else:
            self.rounds.setdefault(line.stage, []).append(line.round)
        self.stage, self.seconds = line.stage, max(self.seconds, line.seconds)

    def go_on(self) -> None:
        """Take the attempt up again; a confirmation that was interrupted is made anew."""
        os.truncate(self.path, self._size)
        self.attempt = replace(self.attempt, interruptions=(*self.attempt.interruptions, self.stage))
        self._earlier_seconds = self.seconds
        if self.stage is Stage.CONFIRM:
            self.rounds[Stage.CONFIRM] = []

    def begin(self, stage: Stage) -> Sequence[Round]:
        """Begin a stage, or go on with it: return the rounds that it has."""
        if not self.rounds.get(stage):
            self._write(stage)
        return tuple(self.rounds[stage])

    def add(self, stage: Stage, measured: Round) -> None:
        """Keep a round of a stage."""
        self._write(stage, measured)

    def _write(self, stage: Stage, measured: Round | None = None) -> None:
        line = _Line(stage, self.elapsed, measured)
        self._take(line)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(f"{json.dumps(plain_value(line))}\n")
            file.flush()
            os.fsync(file.fileno())

    def remove(self) -> None:
        """Delete the file: the attempt came to its end."""
        self.path.unlink(missing_ok=True)


def _journal_of(record: Path) -> Path:
    return record.with_name(f"{record.name}.rounds")
