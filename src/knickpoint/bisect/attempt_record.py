"""The record of a session of attempts: one JSON file, with every value, from which anyone can judge again."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Final

from knickpoint.bisect.attempts import AttemptEnd, AttemptVerdict, SessionRules, Stage, replay_attempt
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
