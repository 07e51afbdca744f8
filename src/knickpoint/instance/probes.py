"""Probes of an instance: the pool of devices that runs them, and the import of what they measured."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from knickpoint.bisect.settings import RecipeSettings
from knickpoint.history import is_url
from knickpoint.instance.instance import Instance
from knickpoint.model.bisection import PROBE_FACT, ProbeResult, ResultsFile
from knickpoint.model.errors import ConfigError

if TYPE_CHECKING:
    from knickpoint.bisect.job import DevicePool
    from knickpoint.ingest import ImportSummary


# Open the pool of devices that the configuration asks for: this machine, or those that lend themselves.


_LOG: Final = logging.getLogger("knickpoint.instance")
WORKSPACE: Final = "probes"
"""The directory below the instance in which this machine makes probes."""


def open_probe_pool(instance: Instance, progress: Callable[[str, str], None] | None = None) -> DevicePool:
    """Open the pool of ``[pool]``; ``progress`` hears of each probe of this machine its id and a line.

    Close it at the end.

    Raises:
        ConfigError: its address or its credentials cannot be used.
        ServiceError: Dask is not installed, or the scheduler does not answer.
    """
    from knickpoint.bisect.pool import open_pool
    from knickpoint.bisect.runner import Workspace

    settings = instance.config.pool
    workspace = Workspace(instance.directory / WORKSPACE, settings.space_megabytes)
    return open_pool(
        settings,
        instance.directory,
        workspace,
        devices=instance.config.devices,
        progress=progress,
        announce=_LOG.warning,
    )


def git_location(instance: Instance, repository: str) -> str:
    """Return the location of a repository for devices: its URL, or its absolute path.

    Raises ``ConfigError`` if it has none.
    """
    settings = instance.repositories.get(repository)
    if settings is None or not settings.location:
        raise ConfigError(
            "it has no git repository",
            where=f"[repositories.{repository}]",
            remedy="Give its location: a path or a URL.",
        )
    if is_url(settings.location):
        return settings.location
    return str((instance.directory / Path(settings.location).expanduser()).resolve())


def absolute_recipe(instance: Instance, recipe: RecipeSettings) -> RecipeSettings:
    """Return a recipe whose directory of finished artefacts does not depend on where it is read."""
    if not recipe.prebuilt or "://" in recipe.prebuilt:
        return recipe
    return replace(recipe, prebuilt=str(instance.directory.absolute() / Path(recipe.prebuilt).expanduser()))


# Import what probes measured: each results file is a re-run of its commit, never a correction of what is there.


_FURTHER_FACTS: Final = ("host_name",)
"""What formats call the name of a machine, beside what the configuration names."""


def import_probe_results(
    instance: Instance,
    repository: str,
    result: ProbeResult,
    *,
    execution: str,
    format: str = "",  # noqa: A002 - the word of the recipe
    branch: str = "",
    params: Mapping[str, str] | None = None,
    environment: Mapping[str, str] | None = None,
    links: Mapping[str, str] | None = None,
) -> ImportSummary:
    """Import the results files of one probe through the ordinary pipeline, each exactly once.

    Args:
        instance: the open instance.
        repository: name of the repository.
        result: what the probe measured. The commits of the other repositories become revisions of the run, and the
            device a fact of its environment.
        execution: what names the probe, as in ``bisection B12 probe 3``. With the name of the file it identifies the
            run, also where the file has a run id: else a second measurement would replace the first.
        format: name of the format, "" to recognise it.
        branch: the branch of the commit, "" for any.
        params: params to add to every result.
        environment: facts to add to those of the results.
        links: name → URL.

    Raises:
        HistoryError: the repository cannot be read.
        StoreError: the store cannot be written; importing again changes nothing that is in.
    """
    from knickpoint.ingest import ImportSummary
    from knickpoint.ingest.pipeline import ImportPipeline
    from knickpoint.ingest.results_file import ResultsFile as IncomingFile
    from knickpoint.ingest.sidecar import FileContext, Sidecar

    pipeline = ImportPipeline(instance, allow_empty=True)
    summaries = []
    for file in result.files:
        name = f"{execution} {file.name}"
        stated = Sidecar(
            commit=result.target.commit,
            branch=branch,
            repository=repository,
            run=name,
            time=result.started,
            format=format,
            params=dict(params or {}),
            environment={**(environment or {}), "device": result.device},
            links=dict(links or {}),
            revisions=dict(result.target.pins),
        )
        summaries.append(pipeline.import_file(IncomingFile(name, file.content, FileContext(stated, execution=name))))
    pipeline.finish()
    return ImportSummary.of(summaries, pipeline.commit_sources.notes())


def measured_elsewhere(
    instance: Instance,
    repository: str,
    slots: Sequence[int],
    file: ResultsFile,
    *,
    format: str = "",  # noqa: A002 - the word of the command line
) -> bool:
    """Return True if a results file may come from another machine than the results of the commits ``slots``.

    The facts that name a machine decide (``[quarantine] machine``), all of them that are there. Where the file names
    none, it may. A file that cannot be read is left to the import, which refuses it with its reason.
    """
    from knickpoint.ingest.results_file import ResultsFile as IncomingFile
    from knickpoint.ingest.sidecar import FileContext, Sidecar
    from knickpoint.ingest.stages.read import read_results
    from knickpoint.model.errors import KnickpointError

    try:
        incoming = IncomingFile(file.name, file.content, FileContext(Sidecar(format=format)))
        read = read_results(incoming, instance.ingest)
    except KnickpointError:
        return False
    if read is None or read.errors:
        return False
    store = instance.store
    names = (*instance.config.quarantine.machine, *_FURTHER_FACTS)
    here = {_machine(run.environment, names) for run in read.report.runs}
    runs = store.runs.at(store.commits.repository(repository), list(slots))
    there = {_machine(run.environment, names) for run in runs if PROBE_FACT not in run.environment}
    return not here or () in here or not here <= there


def _machine(facts: Mapping[str, str], names: Sequence[str]) -> tuple[str, ...]:
    """Return all facts that name the machine: a single one may be that of its kind, as ``x86_64``."""
    return tuple(f"{name}={facts[name]}" for name in names if facts.get(name))
