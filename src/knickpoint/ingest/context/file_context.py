"""Complete the runs of a results file with what options, sidecars and the CI state about it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from functools import cache
from pathlib import PurePosixPath
from posixpath import basename, dirname, join, normpath
from typing import Final

from knickpoint.formats import all_formats
from knickpoint.ingest.context.ci import CiFacts
from knickpoint.ingest.context.sidecar import Sidecar, read_sidecar
from knickpoint.model.errors import InputError
from knickpoint.model.report import Report, RunReport

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
        options: dict[str, object] = {STATED_KEY: _plain(self.stated), "fallback": _plain(self.fallback)}
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


def _plain(sidecar: Sidecar) -> dict[str, object]:
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
