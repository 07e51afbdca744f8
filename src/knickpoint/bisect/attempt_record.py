"""The record of a session of attempts, one JSON file from which anyone can judge again, and the journal of an attempt.

The journal has the rounds as they are made; an attempt goes on from it after its process was killed. Going on must not
help an attempt that is not faster. The screening goes on behind its rounds, since the error of the session does not
depend on it. A confirmation that was interrupted counts, and the next one is made of fresh rounds: who kills one that
looks bad spends its share of the error. The size goes on; each interruption can cost it the round that was being made,
and few are allowed.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, is_dataclass, replace
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from knickpoint.bisect.attempts import AttemptEnd, AttemptVerdict, SessionRules, Stage, replay_attempt
from knickpoint.bisect.comparison import Round
from knickpoint.bisect.runner import try_lock
from knickpoint.bisect.settings import RecipeSettings
from knickpoint.model.errors import InputError
from knickpoint.model.plain_text import counted
from knickpoint.model.quantity_text import percent_text

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


FORMAT: Final = 1


@dataclass(frozen=True, slots=True)
class Attempt:
    """A commit that was tried, when and for how many seconds; ``end`` is None until it is judged.

    Of edits that were not committed, ``work_tree`` is true, and the commit is kept below ``refs/knickpoint/attempts``.
    ``interruptions`` are the stages in which it was interrupted and from which it went on.
    """

    commit: str
    began: datetime
    seconds: float = 0.0
    end: AttemptEnd | None = None
    work_tree: bool = False
    interruptions: tuple[Stage, ...] = ()

    @property
    def lost_confirmations(self) -> int:
        """The confirmations that were interrupted and made anew."""
        return self.interruptions.count(Stage.CONFIRM)

    @property
    def confirmations(self) -> int:
        """The confirmations that it made; one that did not come to its end may have made one, and counts."""
        made = self.end is None or any(each.stage is Stage.CONFIRM for each in self.end.stages)
        return self.lost_confirmations + made


@dataclass(frozen=True, slots=True)
class AttemptSession:
    """A session: what attempts are compared with, how they are measured and judged, and all that were made.

    ``machine`` is the machine on which it is, ``protected`` are patterns of paths that attempts must not change. Of a
    session of an instance, ``repository`` is the name, and ``who`` began it; ``earlier`` attempts were made in sessions
    before it with the same base and recipe.
    """

    location: str
    base: str
    recipe: RecipeSettings
    machine: str
    started: datetime
    rules: SessionRules = field(default_factory=SessionRules)
    protected: tuple[str, ...] = ()
    added_params: Mapping[str, str] = field(default_factory=dict)
    attempts: tuple[Attempt, ...] = ()
    repository: str = ""
    who: str = ""
    earlier: int = 0
    ended: datetime | None = None
    format: int = FORMAT

    @property
    def confirmations(self) -> int:
        """The confirmations that were made."""
        return sum(each.confirmations for each in self.attempts)


@contextmanager
def attempting(path: Path) -> Iterator[int]:
    """Hold the record for an attempt; the value is the open file of the lock, which has the id of this process.

    Raises:
        InputError: another attempt of the session is being measured.
    """
    held = try_lock(lock_of(path))
    if held is None:
        raise InputError(
            "an attempt of this session is being measured", where=str(path), remedy="Wait for its end, and try again."
        )
    try:
        os.truncate(held, 0)
        os.pwrite(held, str(os.getpid()).encode(), 0)
        yield held
    finally:
        os.close(held)


def lock_of(path: Path) -> Path:
    """Return the file that who measures an attempt of a record has locked."""
    return path.with_name(f"{path.name}.lock")


def write_session(path: Path, session: AttemptSession) -> None:
    """Write the record, whole or not at all."""
    new = path.with_name(f"{path.name}.new")
    with new.open("w", encoding="utf-8") as file:
        file.write(json.dumps(plain_value(session), indent=1, ensure_ascii=False) + "\n")
        file.flush()
        os.fsync(file.fileno())
    os.replace(new, path)  # noqa: PTH105  # atomic


def read_session(path: Path) -> AttemptSession:
    """Read a record.

    Raises:
        InputError: there is none, or it cannot be read.
    """
    from pydantic import TypeAdapter, ValidationError

    try:
        found = TypeAdapter(AttemptSession).validate_python(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise InputError(
            "there is no session", where=str(path), remedy="Begin one: knick try start --base main -- COMMAND"
        ) from None
    except (OSError, ValueError, ValidationError) as error:
        line = str(error).splitlines()[0]
        raise InputError(
            f"not the record of a session: {line}", where=str(path), remedy="Name another file."
        ) from error
    if found.format != FORMAT:
        raise InputError(
            f"the record has the format {found.format}", where=str(path), remedy="Use the version that wrote it."
        )
    return found


def plain_value(value: object) -> object:  # noqa: PLR0911  # one return a kind of value
    """Return ``value`` as JSON has it, without the fields that have their defaults; nan and infinity are texts."""
    if is_dataclass(value) and not isinstance(value, type):
        return _record(value)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {name: plain_value(each) for name, each in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain_value(each) for each in value]
    return value


def _record(value: DataclassInstance) -> dict[str, object]:
    found = {each.name: (getattr(value, each.name), each.default) for each in fields(value) if each.init}
    return {
        name: plain_value(each)
        for name, (each, default) in found.items()
        if name == "format" or not _same(each, default)
    }


def _same(value: object, default: object) -> bool:
    both_nan = value != value and default != default  # noqa: PLR0124
    return both_nan or (type(value) is type(default) and value == default)


_WITHOUT_STAGES: Final = frozenset({AttemptVerdict.CHANGED, AttemptVerdict.FAILED, AttemptVerdict.UNDECIDED})
"""Verdicts that may rest on no values."""


def differing_attempts(session: AttemptSession) -> list[int]:
    """Judge all values anew, and return the numbers of attempts whose verdicts or claims do not follow from them."""
    return [
        number
        for number, attempt in enumerate(session.attempts, 1)
        if attempt.end and not _follows(session, number, attempt.end)
    ]


def _follows(session: AttemptSession, number: int, end: AttemptEnd) -> bool:
    if not end.stages:
        return end.verdict in _WITHOUT_STAGES
    *before, attempt = session.attempts[:number]
    confirmations = sum(each.confirmations for each in before) + attempt.lost_confirmations
    anew = replay_attempt(end, session.rules, confirmations=confirmations, seed=number - 1)
    return _said(anew) == _said(end)


def _said(end: AttemptEnd) -> object:
    """Return all that an end says, without digits that another order of sums could change."""
    return (
        end.verdict,
        [(each.trace, f"{each.low:.9g}", f"{each.high:.9g}") for each in end.claims],
        [{each.trace: each.verdict for each in stage.benchmarks} for stage in end.stages],
    )


def write_report(session: AttemptSession) -> str:
    """Return the session as Markdown for a pull request."""
    confirmed = [
        (number, each)
        for number, each in enumerate(session.attempts, 1)
        if each.end and each.end.verdict is AttemptVerdict.CONFIRMED
    ]
    differing = differing_attempts(session)
    about = (
        f"Measured in turns with the base `{session.base[:12]}` on one machine, since"
        f" {session.started:%Y-%m-%d %H:%M} UTC, with `{_code(' '.join(session.recipe.measure))}`. At most"
        f" {percent_text(session.rules.error)} of sessions in which nothing is faster end with a confirmed attempt,"
        " however many are made. Sizes are 95 % intervals, from measurements that had no part in the choice."
    )
    if session.earlier:
        about += f" Sessions with the same base and recipe came before, with {counted(session.earlier, 'attempt')}."
    lines = [
        f"# {counted(len(session.attempts), 'attempt')}, {len(confirmed)} confirmed",
        *("", about, "", "| attempt | commit | verdict | why |", "|---|---|---|---|"),
    ]
    for number, each in enumerate(session.attempts, 1):
        verdict = each.end.verdict.value if each.end else "interrupted"
        reason = each.end.reason if each.end else "it has no verdict, and counts as a confirmation"
        bold = "**" if each.end and each.end.verdict is AttemptVerdict.CONFIRMED else ""
        kind = (", work tree" if each.work_tree else "") + (", resumed" if each.interruptions else "")
        lines.append(f"| {number} | `{each.commit[:12]}`{kind} | {bold}{verdict}{bold} | `{_code(reason)}` |")
    agreeing = "All verdicts follow from the values in the record."
    names = ", ".join(map(str, differing))
    lines += [
        "",
        f"**The verdicts of {names} do not follow from the values in the record.**" if differing else agreeing,
    ]
    return "\n".join(lines) + "\n"


def _code(text: str) -> str:
    """Return ``text`` for a span of code in a table."""
    line = "".join(each if each.isprintable() else " " for each in text)
    return line.replace("`", "'").replace("|", "/")


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
