"""Files that are profiles: which benchmark they are of, and how they are kept beside the results of their commit.

The benchmark is the param ``benchmark`` that an option or a sidecar states, else the name of the file without its
ending and a number before it: ``parse.2.folded`` is a profile of ``parse``.
"""

from __future__ import annotations

import re
from typing import Final

from knickpoint.ingest.import_summary import FileSummary, ImportState
from knickpoint.ingest.results_file import ResultsFile
from knickpoint.ingest.settings import Destination
from knickpoint.ingest.stages.resolve import ResolvedRuns
from knickpoint.ingest.stages.write import record_file
from knickpoint.model.errors import InputError
from knickpoint.model.params import encode_key
from knickpoint.model.report import Problem, Severity
from knickpoint.store import Store
from knickpoint.store.profiles import ProfileWrite

_BENCHMARK: Final = "benchmark"
_NAME: Final = re.compile(
    r"(?P<name>.+?)(?:\.\d+)?(?:\.(?:speedscope|pprof|firefox|samply))?(?:\.[a-z][\w-]*)(?:\.gz)?", re.IGNORECASE
)


def benchmark_of(file: ResultsFile) -> str:
    """Return the benchmark that a profile is of.

    Raises:
        InputError: nothing says it.
    """
    stated = file.context.stated.params.get(_BENCHMARK, "")
    name = file.source.removeprefix("upload:").replace("\\", "/").rpartition("/")[2]
    found = _NAME.fullmatch(name)
    if not stated and (found is None or file.source.startswith("standard input")):
        raise InputError(
            "nothing says which benchmark the profile is of",
            where=file.source,
            remedy="Name the file BENCHMARK.folded, or state it: --param benchmark=NAME, or params in a sidecar.",
        )
    return stated or (found["name"] if found else "")


def params_of(file: ResultsFile) -> str:
    """Trace key of the params besides the benchmark that are stated for a profile, "" for none."""
    params = {name: value for name, value in file.context.stated.params.items() if name != _BENCHMARK}
    return encode_key(params) if params else ""


def write_profile(destination: Destination, resolved: ResolvedRuns) -> FileSummary:
    """Keep the profile of a file, unless it waits for its commit; the caller opens the transaction around it.

    Raises:
        InputError: nothing says which benchmark it is of, or a param breaks the rules.
    """
    from knickpoint.profiles import pack_profile

    store, file, profile = destination.store, resolved.read.file, resolved.read.profile
    assert profile is not None
    benchmark, new, corrected = benchmark_of(file), 0, 0
    for run in resolved.runs:
        is_new, is_other = store.profiles.write(
            resolved.repository,
            ProfileWrite(
                slot=run.slot,
                identity=run.identity,
                benchmark=benchmark,
                params=params_of(file),
                content=pack_profile(profile),
                format=profile.format,
                kind=profile.kind.value,
                unit=profile.unit,
                source=file.source,
                size=len(file.data),
            ),
        )
        new, corrected = new + is_new, corrected + is_other
    record_file(destination, resolved)
    state = ImportState.IMPORTED if new or corrected else ImportState.UNCHANGED
    return FileSummary(
        file.source,
        ImportState.WAITING if resolved.unknown else state,
        repository=resolved.repository.name,
        format=profile.format,
        waiting=len(resolved.reports) - len(resolved.runs),
        unknown=resolved.unknown,
        profile=benchmark if new or corrected else "",
        problems=(*resolved.warnings, *_without_results(store, benchmark, file.source)),
        notes=resolved.notes,
        head=resolved.head,
    )


def _without_results(store: Store, benchmark: str, source: str) -> tuple[Problem, ...]:
    """Warn of a benchmark that no results have: its name may be mistyped, or results may come later."""
    if benchmark in store.traces.param_values(_BENCHMARK).split("\n"):
        return ()
    remedy = "If its results never come, name the benchmark as they do: --param benchmark=NAME, or in a sidecar."
    return (Problem(f"no results of the benchmark {benchmark!r} yet", source, remedy, Severity.WARNING),)
