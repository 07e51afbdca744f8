"""Sessions of attempts of an instance: begin one, have a commit tried, see how it stands, end it.

A request names a recipe of the configuration and a commit, and nothing else that would run. Each session is a record in
the directory ``attempts``, which ``knick try`` reads as well. An attempt is measured by a process of its own, which
outlives the one that asked for it: an agent that loses its connection finds the verdict later. The process holds the
lock of the record, so that a session measures one attempt at a time, and a record whose last attempt has no verdict
while nobody holds the lock is one that was interrupted. It goes on when its commit is tried again.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from knickpoint.bisect.attempt_record import (
    AttemptJournal,
    AttemptSession,
    attempting,
    lock_of,
    read_session,
    write_session,
)
from knickpoint.bisect.attempt_run import choose_commit
from knickpoint.bisect.attempts import SessionRules
from knickpoint.bisect.coordinator.revision_range import find_revision
from knickpoint.bisect.pool import machine_name, measures_here
from knickpoint.bisect.runner import locked, try_lock
from knickpoint.bisect.settings import RecipeSettings
from knickpoint.history import Git, is_url
from knickpoint.instance.instance import Instance
from knickpoint.instance.probes import WORKSPACE, git_location
from knickpoint.model.access import AuditKind
from knickpoint.model.errors import AbsentError, InputError

_PLACE: Final = "attempts"
_END_SECONDS: Final = 20.0
_LOOK_SECONDS: Final = 0.05
_DAY: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class StoredAttempts:
    """A session of attempts with its number; ``measuring`` says that an attempt of it is under way."""

    id: int
    path: Path
    session: AttemptSession
    measuring: bool

    @property
    def name(self) -> str:
        """Its name, as ``T3``."""
        return f"T{self.id}"

    @property
    def journal(self) -> AttemptJournal | None:
        """What is kept of an attempt without a verdict."""
        return AttemptJournal.read(self.path, self.session)

    @property
    def last_lines(self) -> list[str]:
        """The last lines that the process of the newest attempt printed."""
        try:
            text = self.path.with_suffix(".log").read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return []
        return text.splitlines()[-3:]


def list_attempts(instance: Instance) -> list[StoredAttempts]:
    """List the sessions of an instance, the newest first."""
    numbers = (each.stem[1:] for each in (instance.directory / _PLACE).glob("T*.json"))
    return [find_attempts(instance, int(each)) for each in sorted(filter(str.isdecimal, numbers), key=int)[::-1]]


def find_attempts(instance: Instance, key: int) -> StoredAttempts:
    """Return a session.

    Raises:
        AbsentError: there is none of that number.
    """
    path = instance.directory / _PLACE / f"T{key}.json"
    if not path.is_file():
        raise AbsentError(f"there is no session T{key}", where="session", remedy="List the sessions.")
    measuring = _is_held(path)  # before the record is read, whose writer frees the lock after it
    return StoredAttempts(key, path, read_session(path), measuring)


def _is_held(path: Path) -> bool:
    if not lock_of(path).exists():
        return False
    held = try_lock(lock_of(path))
    if held is not None:
        os.close(held)
    return held is None


def allowed_recipes(instance: Instance, repository: str) -> list[str]:
    """Return the names of the recipes that sessions of a repository may use."""
    config = instance.config
    names = config.try_.recipes or tuple(config.bisect)
    return sorted(name for name in names if config.bisect[name].repository in {"", repository})


def start_attempts(
    instance: Instance, repository: str, base: str, recipe: str = "", *, who: str, rules: SessionRules
) -> StoredAttempts:
    """Begin a session, and return it; where one with the same base and recipe is open, that one is returned.

    Raises:
        InputError: this machine makes no measurements, or there is no such recipe.
        ConfigError: the repository has no location.
        HistoryError: it has no such commit.
    """
    _check_place(instance)
    chosen = _choose_recipe(instance, repository, recipe)
    location = git_location(instance, repository)
    if is_url(location):
        raise InputError(
            "the repository is not on this machine",
            where=f"[repositories.{repository}]",
            remedy="Ask the user to set its location to a clone.",
        )
    session = AttemptSession(
        location=location,
        base=find_revision(Git.at(Path(location)), base),
        recipe=replace(chosen, prebuilt=""),
        machine=machine_name(),
        started=datetime.now(UTC),
        rules=rules,
        protected=instance.config.try_.protected,
        repository=repository,
        who=who,
    )
    place = instance.directory / _PLACE
    place.mkdir(exist_ok=True)
    with locked(place / "sessions.lock"):
        known = list_attempts(instance)
        same = [each for each in known if _question(each.session) == _question(session)]
        for each in same:
            if each.session.ended is None:
                return each
        key = 1 + max((each.id for each in known), default=0)
        path = place / f"T{key}.json"
        earlier = sum(len(each.session.attempts) for each in same)
        write_session(path, replace(session, earlier=earlier))
    begun = find_attempts(instance, key)
    instance.store.audit.append(
        AuditKind.ATTEMPTS_STARTED, who, f"{begun.name}: {repository}, base {session.base[:12]}, recipe {chosen.name}"
    )
    return begun


def _question(session: AttemptSession) -> tuple[str, str, str, str]:
    return session.repository, session.base, session.recipe.digest, session.machine


def _check_place(instance: Instance) -> None:
    if not measures_here(instance.config.pool, ()):
        raise InputError(
            "the devices of a pool measure for this instance, and attempts are measured on one machine",
            where="[pool] address",
            remedy="Ask the user to run knick try on a machine of the pool.",
        )


def _choose_recipe(instance: Instance, repository: str, name: str) -> RecipeSettings:
    allowed = allowed_recipes(instance, repository)
    if name in allowed or (not name and len(allowed) == 1):
        return instance.config.bisect[name or allowed[0]]
    raise InputError(
        f"there is no recipe {name!r} for attempts" if name else "several recipes fit, or none",
        where="recipe",
        remedy=f"The recipes are: {', '.join(allowed)}."
        if allowed
        else "Ask the user to add a recipe to the configuration: [bisect.NAME].",
    )


def try_commit(instance: Instance, key: int, commit: str, *, who: str) -> str:
    """Have a commit tried in a process of its own, and return its full hash; the verdict comes into the record.

    Raises:
        AbsentError: there is no such session.
        InputError: it ended, measures already, or has used up its attempts or its time.
        HistoryError: there is no such commit.
    """
    _check_place(instance)
    found = find_attempts(instance, key)
    with attempting(found.path) as held:
        session = read_session(found.path)
        chosen = choose_commit(Git.at(Path(session.location)), session, commit)
        kept = AttemptJournal.read(found.path, session)
        goes_on = kept is not None and kept.goes_on_with(chosen)
        _check_open(instance, found.name, session, made=len(session.attempts) - goes_on)
        minutes = 60 * (instance.config.try_.budget_hours - hours_of_a_day(instance))
        if minutes <= 0:
            raise InputError(
                f"attempts of the last 24 hours took {instance.config.try_.budget_hours:g} hours",
                where="[try] budget_hours",
                remedy="Try again later, or ask the user for a larger budget.",
            )
        process = _start_process(instance, found.path, chosen, minutes, held)
        os.truncate(held, 0)
        os.pwrite(held, str(process.pid).encode(), 0)
    threading.Thread(target=process.wait, daemon=True, name=f"attempt of {found.name}").start()
    instance.store.audit.append(AuditKind.ATTEMPT_ASKED, who, f"{found.name}: {chosen[:12]}")
    return chosen


def _check_open(instance: Instance, name: str, session: AttemptSession, *, made: int) -> None:
    most = instance.config.try_.most_attempts
    if session.ended is not None:
        raise InputError(f"the session {name} has ended", where="session", remedy="Start another one.")
    if made >= most:
        raise InputError(
            f"the session {name} has made its {most} attempts",
            where="[try] most_attempts",
            remedy="Report what it found, or ask the user for a larger bound.",
        )


def hours_of_a_day(instance: Instance) -> float:
    """Return the hours that attempts of the instance took within the last 24 hours."""
    since = datetime.now(UTC) - _DAY
    found = list_attempts(instance)
    made = sum(each.seconds for one in found for each in one.session.attempts if each.began > since)
    kept = [each for one in found if (each := one.journal) and each.attempt.began > since]
    return (made + sum(each.seconds - each.attempt.seconds for each in kept)) / 3600


def _start_process(instance: Instance, path: Path, commit: str, minutes: float, held: int) -> subprocess.Popen[bytes]:
    """Start ``knick try attempt``, which inherits the lock; what it prints goes into a file beside the record."""
    words = ["try", "attempt", commit, "--record", str(path), "--held", "--most-minutes", f"{minutes:.3f}"]
    words += ["--instance", str(instance.directory), "--workspace", str(instance.directory / WORKSPACE)]
    with path.with_suffix(".log").open("wb") as log:
        return subprocess.Popen(  # noqa: S603  # our own program
            [sys.executable, "-m", "knickpoint.cli", *words],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            pass_fds=(held,),
        )


def stop_attempts(instance: Instance, key: int, *, who: str) -> StoredAttempts:
    """End a session, with the attempt that it measures, and return it. The record stays.

    Raises:
        AbsentError: there is no such session.
        InputError: it ended already, or the process that measures does not end.
    """
    found = find_attempts(instance, key)
    if found.session.ended is not None:
        raise InputError(f"the session {found.name} has ended", where="session", remedy="Start another one.")
    if found.session.machine != machine_name():
        raise InputError(
            f"the session is on {found.session.machine}, and this is {machine_name()}",
            where="session",
            remedy="Stop it there.",
        )
    with _ended(found.path):
        session = read_session(found.path)
        if kept := AttemptJournal.read(found.path, session):
            lost = replace(kept.attempt, seconds=round(kept.seconds, 1))
            session = replace(session, attempts=(*session.attempts[:-1], lost))
            kept.remove()
        write_session(found.path, replace(session, ended=datetime.now(UTC)))
    instance.store.audit.append(AuditKind.ATTEMPTS_STOPPED, who, found.name)
    return find_attempts(instance, key)


@contextmanager
def _ended(path: Path) -> Iterator[None]:
    """End the process that measures an attempt of a record, if there is one, and hold the record."""
    limit = time.monotonic() + _END_SECONDS
    with ExitStack() as held:
        while True:
            try:
                held.enter_context(attempting(path))
                break
            except InputError:
                if time.monotonic() > limit:
                    raise
            # The id is there a moment after the process; the lock says that it is still this one.
            process = lock_of(path).read_text(encoding="ascii")
            if process.isdecimal() and int(process) != os.getpid():
                os.kill(int(process), signal.SIGTERM)
            time.sleep(_LOOK_SECONDS)
        yield
