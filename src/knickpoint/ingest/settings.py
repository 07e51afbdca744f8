"""The settings of repositories and of imports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from knickpoint.model.plain_text import address_with_secret, secret_options

if TYPE_CHECKING:
    from knickpoint.outgoing import OutgoingRule
    from knickpoint.store import Store


class CommitOrder(Enum):
    """Name what orders new commits where no git repository does."""

    TIME = "time"
    GIVEN = "given"


@dataclass(frozen=True, slots=True)
class RepositorySettings:
    r"""Describe one repository; ``[repositories.NAME]``.

    Attributes:
        location: path of a git repository, relative to the instance, or its URL. Without it, commits are taken
            from the results themselves.
        branch: name of the default branch. Without it, git is asked; where there is no git, `main`.
        branches: patterns (`release-*`) of further branches whose lines are kept. A branch that results name is
            always kept.
        number: regular expression whose one group is the number of a commit in its message
            (`Position: (\d+)`), for results that name commits by number.
        addresses: further URLs or names by which results files name this repository.
        web: page of the repository, for links to `WEB/commit/HASH`. Without it, it is taken from the remote.
        alerts_file: path of a file in the repository that defines alerts for it, as in `knickpoint-alerts.toml`.
            Without it, the repository defines none.
        alerts_channels: names of the channels that its alerts may use.
        alerts_most: how many alerts its file may define.
    """

    location: str = address_with_secret("")
    branch: str = ""
    branches: tuple[str, ...] = ()
    number: str = ""
    addresses: tuple[str, ...] = ()
    web: str = ""
    alerts_file: str = ""
    alerts_channels: tuple[str, ...] = ()
    alerts_most: int = 20


@dataclass(frozen=True, slots=True)
class Rename:
    """Describe a rename of benchmarks; one table of ``[[ingest.renames]]``.

    Attributes:
        old: params that a result must have to be renamed.
        new: params that take the place of those in `old`.
    """

    old: Mapping[str, str]
    new: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class SourceSettings:
    """Describe a file source that is polled; ``[ingest.sources.NAME]``.

    Attributes:
        location: directory, relative to the instance, or URL of a bucket (`s3://bucket/prefix`).
        pattern: names to take, as in `**/*.json`.
        format: name of the format. Without it, the format of each file is recognised.
        repository: name of the repository. Without it, each file states its own.
        branch: branch of all results.
        params: params to add to every result.
        options: options of the bucket's file system, such as `endpoint_url`.
        every_seconds: seconds between two polls.
    """

    location: str = address_with_secret()
    pattern: str = "**/*"
    format: str = ""
    repository: str = ""
    branch: str = ""
    params: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, str] = secret_options()
    every_seconds: float = 60.0


@dataclass(frozen=True, slots=True)
class IngestSettings:
    """Describe how results are imported; ``[ingest]``.

    Attributes:
        largest_megabytes: a results file larger than this is refused.
        parsing_megabytes: memory that reading one results file may take, by an estimate; a file that would take more,
            or more than is left, is refused before it is parsed.
        waiting_files: how many files may wait for their commits; beyond that, the oldest goes into quarantine.
        waiting_days: how long a file may wait; after that, it goes into quarantine.
        quarantine_files: how many refused files are kept; beyond that, the oldest is deleted.
        drop_params: names of volatile params that are removed from every result, with a warning.
        refuse_params: names of volatile params whose presence refuses a file.
        renames: benchmarks that were renamed, so that old and new results make one trace.
        sources: file sources that the worker polls.
    """

    largest_megabytes: int = 512
    parsing_megabytes: int = 8192
    waiting_files: int = 1000
    waiting_days: float = 30.0
    quarantine_files: int = 1000
    drop_params: tuple[str, ...] = ()
    refuse_params: tuple[str, ...] = ()
    renames: tuple[Rename, ...] = ()
    sources: Mapping[str, SourceSettings] = field(default_factory=dict)


class Destination(Protocol):
    """Where results go: an instance, or anything else with a store, a directory and these settings."""

    @property
    def store(self) -> Store:
        """The store that keeps the results."""

    @property
    def directory(self) -> Path:
        """The directory that locations are relative to; clones of repositories are kept below it."""

    @property
    def repositories(self) -> Mapping[str, RepositorySettings]:
        """The repositories by name."""

    @property
    def ingest(self) -> IngestSettings:
        """How results are imported."""

    @property
    def outgoing(self) -> OutgoingRule:
        """The rule for addresses that come from outside the configuration."""
