"""Complete the runs of a results file with what options, sidecars and the CI state about it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from functools import cache
from pathlib import Path, PurePosixPath
from posixpath import basename, dirname, join, normpath
from typing import Any, Final

from knickpoint.formats import all_formats
from knickpoint.formats.toolbox.numbers import in_utc
from knickpoint.formats.toolbox.storable_text import keepable_text
from knickpoint.ingest.ci import CiFacts
from knickpoint.model.commit import commit_name
from knickpoint.model.errors import InputError
from knickpoint.model.report import Report, RunReport

SIDECAR: Final = "knick.sidecar.json"
"""The sidecar of all files in its directory."""

SIDECAR_SUFFIX: Final = ".sidecar.json"
"""The suffix that makes the name of a file that of the sidecar for this file alone."""

_LARGEST: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Sidecar:
    """What a sidecar states; each value may be left out.

    Attributes:
        commit: hash, unique prefix or number.
        branch: the branch that was measured.
        repository: name or URL of the repository.
        run: the id of this execution, attempt included.
        time: when it ran, ISO 8601; UTC where it names no zone.
        format: name of the format of the results.
        params: params to add to every result.
        environment: facts about the machine.
        links: name → URL.
        revisions: other repositories taking part: name → revision.
    """

    commit: str = ""
    branch: str = ""
    repository: str = ""
    run: str = ""
    time: datetime | None = None
    format: str = ""
    params: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    links: Mapping[str, str] = field(default_factory=dict)
    revisions: Mapping[str, str] = field(default_factory=dict)

    def over(self, other: Sidecar) -> Sidecar:
        """Return the facts of both; where they differ, this one counts."""
        merged: dict[str, Any] = {}
        for each in fields(self):
            upper, lower = getattr(self, each.name), getattr(other, each.name)
            merged[each.name] = {**lower, **upper} if isinstance(upper, Mapping) else upper or lower
        return replace(self, **merged)


def is_sidecar(path: Path) -> bool:
    """Return True if ``path`` is a sidecar and not results."""
    return path.name == SIDECAR or path.name.endswith(SIDECAR_SUFFIX)


def sidecar_of(path: Path) -> Sidecar:
    """Return the sidecar of the results file ``path``, that of the file over that of its directory.

    Raises:
        InputError: a sidecar cannot be read.
    """
    found = Sidecar()
    for sidecar in (path.with_name(SIDECAR), path.with_name(path.name + SIDECAR_SUFFIX)):
        try:
            with sidecar.open("rb") as file:
                data = file.read(_LARGEST + 1)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            raise InputError(
                f"the sidecar cannot be read: {error.strerror}", where=str(sidecar), remedy="Grant read access to it."
            ) from error
        found = read_sidecar(data, where=str(sidecar)).over(found)
    return found


def read_sidecar(data: bytes, *, where: str) -> Sidecar:
    """Read a sidecar. Raises ``InputError`` where its JSON, a key or a type is wrong."""
    if len(data) > _LARGEST:
        raise InputError(f"a sidecar has at most {_LARGEST} bytes", where=where, remedy="Keep results out of it.")
    try:
        content = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InputError(f"the sidecar is not JSON: {error}", where=where, remedy="Correct it there.") from error
    if not isinstance(content, dict):
        raise InputError("the sidecar is not an object", where=where, remedy='Write {"commit": "…"}.')
    names = {each.name: each.type for each in fields(Sidecar)}
    values: dict[str, Any] = {}
    for key, value in content.items():
        if key not in names:
            raise InputError(
                f"unknown key {key!r} in the sidecar", where=where, remedy=f"Known keys are {', '.join(names)}."
            )
        values[key] = _checked(key, value, where)
    return Sidecar(**values)


def _checked(key: str, value: object, where: str) -> object:
    if key in {"params", "environment", "links", "revisions"}:
        if not isinstance(value, dict):
            raise InputError(f"{key!r} is not an object", where=where, remedy=f'Write "{key}": {{"name": "value"}}.')
        return {name: _plain_value(f"{key}.{name}", text, where) for name, text in value.items()}
    text = _plain_value(key, value, where)
    if key == "commit":
        return commit_name(text)
    if key != "time" or not text:
        return text or (None if key == "time" else "")
    try:
        moment = in_utc(datetime.fromisoformat(text))
    except ValueError:
        moment = None
    if moment is None:
        raise InputError(f"{text!r} is not a time", where=where, remedy="Write it as 2026-01-31T12:00:00Z.")
    return moment


def _plain_value(key: str, value: object, where: str) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return keepable_text(str(value)).strip()
    raise InputError(f"{key!r} is neither text nor number", where=where, remedy="Write it as a string.")


STATED_KEY: Final = "told"
"""The key of what was stated, in options that the store keeps and in digests; stores depend on this spelling."""


@dataclass(frozen=True, slots=True)
class CompletedRun:
    """A run of a results file, completed with what is known beside the file.

    ``execution`` is the id that a sidecar or the CI gives to the run, "" for none. ``keys`` are the keys of its results
    as the file has them, before any rule renames them.
    """

    run: RunReport
    execution: str
    keys: Sequence[str]


@dataclass(frozen=True, slots=True)
class FileContext:
    """What is known beside a results file.

    ``stated`` comes from options and sidecars, and overrides the file. ``fallback`` comes from the CI, and counts only
    for runs that name no commit. ``mapping`` is the TOML text that locates the results in the file, "" where a format
    does. ``execution`` is the id of the run where that of the file does not count, because the same file is measured
    again on purpose; "" elsewhere.
    """

    stated: Sidecar = field(default_factory=Sidecar)
    fallback: Sidecar = field(default_factory=Sidecar)
    mapping: str = ""
    execution: str = ""

    @classmethod
    def of(cls, stated: Sidecar, ci: CiFacts | None, mapping: str = "") -> FileContext:
        """Join what options and sidecars state with the facts of the CI, None outside of one."""
        if ci is None:
            return cls(stated, mapping=mapping)
        fallback = Sidecar(
            commit=ci.revision,
            branch=ci.branch,
            run=ci.identity,
            environment=ci.environment,
            links=ci.links,
            revisions=ci.revisions,
        )
        return cls(stated, fallback, mapping)

    def as_options(self) -> dict[str, object]:
        """Return the context as plain values, to be kept with a file that waits or is refused."""
        options: dict[str, object] = {
            STATED_KEY: _plain_members(self.stated),
            "fallback": _plain_members(self.fallback),
        }
        if self.execution:
            options["execution"] = self.execution
        return {**options, "mapping": self.mapping} if self.mapping else options

    @classmethod
    def from_options(cls, options: Mapping[str, object]) -> FileContext:
        """Read what :meth:`as_options` wrote."""
        stated, fallback = (
            read_sidecar(json.dumps(options.get(name, {})).encode(), where=name) for name in (STATED_KEY, "fallback")
        )
        return cls(stated, fallback, str(options.get("mapping", "")), str(options.get("execution", "")))

    def with_stated(self, *, commit: str = "", format: str = "", mapping: str = "") -> FileContext:  # noqa: A002 - the sidecar's word
        """Return the context with these values stated as well; empty texts change nothing."""
        stated = Sidecar(commit=commit, format=format).over(self.stated)
        return replace(self, stated=stated, mapping=mapping or ("" if format else self.mapping))

    def complete(self, report: Report) -> list[CompletedRun]:
        """Return the runs of ``report`` with commit, branch, environment and links filled in.

        A run that names no commit, and for which neither options, sidecars nor the CI state one, keeps the revision "".

        Raises:
            InputError: one commit is stated for results of several commits.
        """
        revisions = {run.revision for run in report.runs if run.revision}
        if self.stated.commit and len(revisions) > 1:
            raise InputError(
                f"the file has results of {len(revisions)} commits, but one commit was given for all",
                remedy="Leave out --commit, or the commit in the sidecar.",
            )
        return [self._complete(run) for run in report.runs]

    def _complete(self, run: RunReport) -> CompletedRun:
        stated = self.stated if self.stated.commit or run.revision else self.stated.over(self.fallback)
        completed = replace(
            run,
            revision=(stated.commit or run.revision).strip(),
            branch=stated.branch or run.branch,
            time=stated.time or run.time,
            environment={**run.environment, **stated.environment},
            links={**stated.links, **run.links},
            revisions={**run.revisions, **stated.revisions},
            identity=self.execution or run.identity,
        )
        return CompletedRun(completed, stated.run, run.results.keys)


def _plain_members(sidecar: Sidecar) -> dict[str, object]:
    values = {each.name: getattr(sidecar, each.name) for each in fields(sidecar)}
    return {
        name: value.isoformat() if isinstance(value, datetime) else dict(value) if isinstance(value, Mapping) else value
        for name, value in values.items()
        if value
    }


# Find the files that a format needs beside the results, such as a file with the units.


@cache
def _names() -> tuple[str, ...]:
    """Return the companions that formats ask for, as paths relative to the results."""
    return tuple(dict.fromkeys(name for known in all_formats() for name in known.companions))


def companions_of(name: str, read: Callable[[str], bytes | None]) -> dict[str, bytes]:
    """Return the companions of the file ``name``, by the last part of their names.

    ``read`` returns the bytes of a file, None where there is none.
    """
    found: dict[str, bytes] = {}
    for companion in _names():
        beside = normpath(join(dirname(name), companion))
        data = read(beside) if beside != name else None
        if data is not None:
            found[basename(companion)] = data
    return found


# Find what may be the hash of a commit in the name of a results file, or in that of the directory that it lies in.


_HASH: Final = re.compile(r"(?<![0-9A-Za-z])(?:(?=[0-9]*[a-f])[0-9a-f]{7,64}|[0-9]{8,64})(?![0-9A-Za-z])")
"""At least seven digits as git shortens hashes.

Eight where none is a letter, as in one of 27 hashes and in every date.
"""


def hashes_in_name(source: str, *, top: str = "") -> tuple[tuple[str, ...], ...]:
    """Return the possible hashes in the name of the file ``source`` (a path or URL), then those of its directory.

    Either may be empty. The directory ``top``, which holds a work tree, says nothing about one commit.
    """
    path = PurePosixPath(source.replace("\\", "/"))
    directory = "" if str(path.parent) == top else path.parent.name
    return tuple(tuple(dict.fromkeys(_HASH.findall(name))) for name in (path.name, directory))
