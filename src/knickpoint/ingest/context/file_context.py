"""Complete what results say with what was said beside them: options, sidecars, the CI."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime

from knickpoint.ingest.context.ci import CiFacts
from knickpoint.ingest.context.sidecar import Sidecar, read_sidecar
from knickpoint.model.errors import InputError
from knickpoint.model.report import Report, RunReport

__all__ = ["CompletedRun", "FileContext"]


@dataclass(frozen=True, slots=True)
class CompletedRun:
    """A run whose commit is known by name.

    ``execution`` is the id that sidecar or CI gave, "" if none; ``keys`` are the names of its results as the file
    has them, before any rule changes them.
    """

    run: RunReport
    execution: str
    keys: Sequence[str]


@dataclass(frozen=True, slots=True)
class FileContext:
    """What was said beside a results file.

    ``told`` stands over what the file says (options first, then sidecars); ``fallback`` is what the CI says,
    used only for results that name no commit. ``mapping`` is the TOML that says where in the file the results
    stand, "" where a format knows.
    """

    told: Sidecar = field(default_factory=Sidecar)
    fallback: Sidecar = field(default_factory=Sidecar)
    mapping: str = ""

    @classmethod
    def of(cls, told: Sidecar, ci: CiFacts | None, mapping: str = "") -> FileContext:
        """Join what options and sidecars say with what the CI says, None outside of one."""
        if ci is None:
            return cls(told, mapping=mapping)
        facts = Sidecar(
            commit=ci.revision,
            branch=ci.branch,
            run=ci.identity,
            environment=ci.environment,
            links=ci.links,
            revisions=ci.revisions,
        )
        return cls(told, facts, mapping)

    def as_options(self) -> dict[str, object]:
        """Return the context as plain values, to be kept with a file that waits or was refused."""
        options: dict[str, object] = {"told": _plain(self.told), "fallback": _plain(self.fallback)}
        return {**options, "mapping": self.mapping} if self.mapping else options

    @classmethod
    def from_options(cls, options: Mapping[str, object]) -> FileContext:
        """Read what :meth:`as_options` wrote."""
        told, fallback = (
            read_sidecar(json.dumps(options.get(name, {})).encode(), where=name) for name in ("told", "fallback")
        )
        return cls(told, fallback, str(options.get("mapping", "")))

    def with_told(self, *, commit: str = "", format: str = "", mapping: str = "") -> FileContext:  # noqa: A002 - the sidecar's word
        """Return the context with more said; empty texts say nothing."""
        told = Sidecar(commit=commit, format=format).over(self.told)
        return replace(self, told=told, mapping=mapping or ("" if format else self.mapping))

    def complete(self, report: Report, head: Callable[[RunReport], str]) -> list[CompletedRun]:
        """Return the runs of ``report`` with commit, branch, environment and links filled in.

        ``head`` gives the commit of a run for which nothing says one, or raises ``InputError``.

        Raises:
            InputError: nothing says the commit of a run, or one commit was given for results of several.
        """
        revisions = {run.revision for run in report.runs if run.revision}
        if self.told.commit and len(revisions) > 1:
            raise InputError(
                f"the file has results of {len(revisions)} commits, but one commit was given for all",
                remedy="Leave out --commit, or the commit in the sidecar.",
            )
        return [self._complete(run, head) for run in report.runs]

    def _complete(self, run: RunReport, head: Callable[[RunReport], str]) -> CompletedRun:
        told = self.told if self.told.commit or run.revision else self.told.over(self.fallback)
        completed = replace(
            run,
            revision=(told.commit or run.revision).strip(),
            branch=told.branch or run.branch,
            time=told.time or run.time,
            environment={**run.environment, **told.environment},
            links={**told.links, **run.links},
            revisions={**run.revisions, **told.revisions},
        )
        if not completed.revision:
            completed = replace(completed, revision=head(completed))
        return CompletedRun(completed, told.run, run.results.keys)


def _plain(sidecar: Sidecar) -> dict[str, object]:
    values = {each.name: getattr(sidecar, each.name) for each in fields(sidecar)}
    return {
        name: value.isoformat() if isinstance(value, datetime) else dict(value) if isinstance(value, Mapping) else value
        for name, value in values.items()
        if value
    }
