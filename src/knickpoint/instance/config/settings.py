"""The sections of ``knickpoint.toml`` as frozen dataclasses; the reference page is made from their docstrings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from knickpoint.access.settings import AccessSettings, CiJobSettings, RoleSettings, SignInSettings
from knickpoint.bisect.settings import DeviceSettings, PoolSettings, RecipeSettings, ScheduleSettings
from knickpoint.ingest.settings import IngestSettings, RepositorySettings
from knickpoint.instance.config.limits import LimitSettings
from knickpoint.instance.config.monitoring import MonitoringSettings
from knickpoint.instance.config.quarantine import HookSettings, QuarantineSettings
from knickpoint.model.alert import Alert
from knickpoint.model.announcement import AnnouncementRule
from knickpoint.model.direction import DirectionRule
from knickpoint.model.query import parse_query
from knickpoint.model.secrets import address_with_secret, secret
from knickpoint.model.unit import Better
from knickpoint.notify.settings import ChannelSettings, NotifySettings
from knickpoint.outgoing.settings import OutgoingSettings
from knickpoint.people.settings import PersonSettings

__all__ = [
    "CanarySettings",
    "CheckSettings",
    "Config",
    "DirectionChoice",
    "DirectionSettings",
    "FindingSettings",
    "HistorySettings",
    "MissingSettings",
    "NatsSettings",
    "RetentionSettings",
    "RunnerChoice",
    "ServerSettings",
    "StoreSettings",
    "TicketSettings",
    "WorkSettings",
    "WorkerSettings",
]


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """Say where values and findings are kept; ``[store]``.

    Attributes:
        location: path of an SQLite file, relative to the instance, or `postgresql://…`. Of several servers, as in
            `postgresql://db-1,db-2/knickpoint`, the primary is used.
        replicas: servers that follow the primary, as in `["db-2", "db-3:5433"]`. What the dashboard and the API read, these answer
            as far as they have come; everything else of their address is as in `location`.
    """

    location: str = address_with_secret("knickpoint.db")
    replicas: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Say where the dashboard and the API are served; ``[server]``.

    Attributes:
        host: address to listen at.
        port: port to listen at.
        names: names under which people reach the server, in addition to addresses and localhost.
        address: public address of the dashboard, as in `https://perf.example.org`, for links, sign-in and cookies. Default:
            the address that a request names.
        proxies: networks of the proxies in front of the server, as in `10.0.0.0/8`, whose `X-Forwarded-For`,
            `X-Forwarded-Proto` and `X-Forwarded-Host` are believed.
        upload_token: secret with which machines upload results, as in `${KNICKPOINT_UPLOAD_TOKEN}`, in addition to the
            tokens of `knick tokens`.
        drain_seconds: how long a process that is to end (SIGTERM) may take for the requests and the task that it works on.
        embed: websites that may show pages with `?embed` in a frame, and pictures, as in `https://wiki.example.org`.
    """

    host: str = "127.0.0.1"
    port: int = 8765
    names: tuple[str, ...] = ()
    address: str = ""
    proxies: tuple[str, ...] = ()
    upload_token: str = secret()
    drain_seconds: int = 30
    embed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NatsSettings:
    """Name the NATS server on which events are published and files are announced; ``[nats]``.

    Attributes:
        url: address of a NATS server with JetStream, as in `nats://user:${NATS_PASSWORD}@host:4222`; several are
            separated by commas. Without it, NATS is not used.
        stream: name of the stream. Default: `knickpoint-NAME`, a stream for this instance only.
        credentials: path of a file of credentials (`.creds`) or of the seed of an nkey, relative to the instance.
        authorities: path of a file (PEM), relative to the instance, with the certificates of the authorities to trust.
            Default: those of the system.
        replicas: on how many nodes of a cluster of NATS the stream is kept, where it is made anew: with 3, one may be lost.
        publish: whether events are published.
        files: whether announced files are imported.
    """

    url: str = address_with_secret("")
    stream: str = ""
    credentials: str = ""
    authorities: str = ""
    replicas: int = 1
    publish: bool = True
    files: bool = True


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """Set the schedule of the worker; ``[worker]``.

    Attributes:
        poll_seconds: pause after a round in which there was nothing to do.
        lease_seconds: how long a worker may hold an event before another worker claims it.
        every_seconds: how often to run all alerts over all traces, without an event.
        history_seconds: how often to look for new commits, and to import the files that wait for them.
        seal_seconds: how often to seal tiles that are full.
        event_days: how long to keep an event that no worker processed.
        most_events: how many events of a kind to keep; the oldest ones are deleted.
    """

    poll_seconds: float = 1.0
    lease_seconds: float = 300.0
    every_seconds: float = 3600.0
    history_seconds: float = 300.0
    seal_seconds: float = 60.0
    event_days: float = 7.0
    most_events: int = 100_000


class RunnerChoice(Enum):
    """Say where alerts detect."""

    THREADS = "threads"
    PROCESSES = "processes"
    DASK = "dask"


@dataclass(frozen=True, slots=True)
class WorkSettings:
    """Say where alerts detect; ``[work]``. The findings are the same everywhere.

    Attributes:
        runner: `threads` of the worker, `processes` of its machine, or the machines of a `dask` cluster.
        processes: how many processes. Default: one a core.
        scheduler: address of the scheduler of Dask, as in `tls://dask.example.org:8786`. A scheduler runs what it is sent, so
            one on another machine needs `tls://`.
        certificate: path of a file (PEM), relative to the instance, with the certificate that the worker shows.
        private_key: path of the private key of the certificate. Default: the file of the certificate.
        authorities: path of a file (PEM) with the certificates of the authorities to trust.
    """

    runner: RunnerChoice = RunnerChoice.THREADS
    processes: int = 0
    scheduler: str = ""
    certificate: str = ""
    private_key: str = ""
    authorities: str = ""


@dataclass(frozen=True, slots=True)
class CheckSettings:
    """Say how `knick check` decides; ``[check]``. Options of the command go before.

    Attributes:
        false_positives: share of unchanged pull requests that may fail, over all benchmarks together: 0.01 is one in a
            hundred.
        minimum_effect: the smallest relative change that counts: 0.02 is 2 %.
        summary: what of the samples of a run is compared: `median`, `min`, `max`, or a percentile such as `p99`.
    """

    false_positives: float = 0.01
    minimum_effect: float = 0.0
    summary: str = "median"


@dataclass(frozen=True, slots=True)
class HistorySettings:
    """Say whether findings of the first run over a repository are history; ``[history]``.

    Attributes:
        as_work: whether they are to be triaged. Without it, findings at or before the newest commit of the first run are
            history: listed, and never announced. It applies to repositories without a run.
    """

    as_work: bool = False


@dataclass(frozen=True, slots=True)
class FindingSettings:
    """Say what is announced of findings, and when; ``[findings]``.

    Attributes:
        improvements: whether senders hear of improvements. The announcement ledger has them in any case.
        late_minutes: minutes for which a settled finding waits for results of the unmeasured commits in its suspect
            range, where results arrive late.
    """

    improvements: bool = True
    late_minutes: float = 0.0

    @property
    def rule(self) -> AnnouncementRule:
        """The rule of announcements."""
        return AnnouncementRule(self.improvements, self.late_minutes)


@dataclass(frozen=True, slots=True)
class RetentionSettings:
    """Say how long samples and values are kept, in each repository; ``[retention]``.

    Traces with a triaged finding, and results of other branches, are always kept.

    Attributes:
        samples_commits: number of newest commits of the default line that keep their samples; older points keep
            their median. 0 keeps all.
        values_commits: number of newest commits of the default line that keep their values. 0 keeps all.
        every_hours: how often the worker applies the rule.
    """

    samples_commits: int = 0
    values_commits: int = 0
    every_hours: float = 24.0


@dataclass(frozen=True, slots=True)
class CanarySettings:
    """Name benchmarks that no commit should change: when they move, the machines moved; ``[canaries.NAME]``.

    Attributes:
        name: unique in the instance.
        query: which traces.
        repository: name of the repository; "" means all.
    """

    name: str
    query: str
    repository: str = ""


class DirectionChoice(Enum):
    """Say which direction of a value is better, or that neither is."""

    LOWER = "lower"
    HIGHER = "higher"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class DirectionSettings:
    """Say which direction is better for some traces, against what files and units say; ``[directions.NAME]``.

    It applies to new and existing traces. Where several sections match a trace, the last one in the file counts.

    Attributes:
        query: which traces.
        better: `lower`, `higher`, or `none` where neither is.
        repository: name of the repository; "" means all.
    """

    query: str
    better: DirectionChoice
    repository: str = ""

    @property
    def rule(self) -> DirectionRule:
        """The section as a rule, with its query parsed."""
        better = {DirectionChoice.LOWER: Better.LOWER, DirectionChoice.HIGHER: Better.HIGHER}
        return DirectionRule(parse_query(self.query), better.get(self.better, Better.UNKNOWN), self.repository)


@dataclass(frozen=True, slots=True)
class MissingSettings:
    """Say which benchmarks are reported when they stop; ``[missing]``.

    Attributes:
        watch: whether missing results are reported.
        query: which traces; "" means all.
    """

    watch: bool = True
    query: str = ""


@dataclass(frozen=True, slots=True)
class TicketSettings:
    """Say where tickets of an issue tracker come from; ``[tickets]``.

    Attributes:
        file: path of a CSV or JSON file, relative to the instance, that your script keeps up to date. It is the complete
            list: other tickets are removed.
        every_seconds: how often the worker reads it.
        sync_seconds: how often the worker reads what changed in the trackers of the channels.
    """

    file: str = ""
    every_seconds: float = 3600.0
    sync_seconds: float = 300.0


@dataclass(frozen=True, slots=True)
class Config:
    """The whole configuration.

    Attributes:
        name: name of the instance on its pages and in its messages.
        store: where values and findings are kept.
        repositories: the repositories by name.
        ingest: how results are imported.
        alerts: what to watch, by name. Without any, one alert watches every trace in both directions.
        directions: which direction of some traces is better, by name of the section.
        canaries: benchmarks that no commit should change, by name.
        quarantine: when results of a machine that moved are quarantined.
        hooks: what is called to run quarantined benchmarks again, by name.
        missing: which benchmarks are reported when they stop.
        check: how `knick check` decides.
        tickets: where tickets of an issue tracker come from.
        server: where the dashboard is served.
        limits: what one caller, one connection and one request may take from the server.
        access: what callers may do who have not signed in, and how long a sign-in lasts.
        sign_in: the ways to sign in, by name. Without any, the user of this machine is the only person.
        roles: who has which role, by name of the section.
        ci_jobs: jobs of CI services that may upload results, by name.
        outgoing: which hosts the program may contact beside those of the public Internet.
        worker: the schedule of the worker.
        work: where alerts detect.
        monitoring: how the instance reports about itself.
        nats: where events are published and files are announced.
        retention: how long samples and values are kept.
        history: whether findings of the first run are history.
        findings: what is announced of findings, and when.
        notify: when messages go out.
        channels: what carries messages, by name.
        people: people and their addresses, by name.
        bisect: how commits are built and measured, by name of the recipe.
        pool: where probes run.
        devices: the devices of the pool, by name.
        schedule: which commits are measured, by name.
    """

    name: str = "Knickpoint"
    store: StoreSettings = field(default_factory=StoreSettings)
    repositories: Mapping[str, RepositorySettings] = field(default_factory=dict)
    ingest: IngestSettings = field(default_factory=IngestSettings)
    alerts: Mapping[str, Alert] = field(default_factory=dict)
    directions: Mapping[str, DirectionSettings] = field(default_factory=dict)
    canaries: Mapping[str, CanarySettings] = field(default_factory=dict)
    quarantine: QuarantineSettings = field(default_factory=QuarantineSettings)
    hooks: Mapping[str, HookSettings] = field(default_factory=dict)
    missing: MissingSettings = field(default_factory=MissingSettings)
    check: CheckSettings = field(default_factory=CheckSettings)
    tickets: TicketSettings = field(default_factory=TicketSettings)
    server: ServerSettings = field(default_factory=ServerSettings)
    limits: LimitSettings = field(default_factory=LimitSettings)
    access: AccessSettings = field(default_factory=AccessSettings)
    sign_in: Mapping[str, SignInSettings] = field(default_factory=dict)
    roles: Mapping[str, RoleSettings] = field(default_factory=dict)
    ci_jobs: Mapping[str, CiJobSettings] = field(default_factory=dict)
    outgoing: OutgoingSettings = field(default_factory=OutgoingSettings)
    worker: WorkerSettings = field(default_factory=WorkerSettings)
    work: WorkSettings = field(default_factory=WorkSettings)
    monitoring: MonitoringSettings = field(default_factory=MonitoringSettings)
    nats: NatsSettings = field(default_factory=NatsSettings)
    retention: RetentionSettings = field(default_factory=RetentionSettings)
    history: HistorySettings = field(default_factory=HistorySettings)
    findings: FindingSettings = field(default_factory=FindingSettings)
    notify: NotifySettings = field(default_factory=NotifySettings)
    channels: Mapping[str, ChannelSettings] = field(default_factory=dict)
    people: Mapping[str, PersonSettings] = field(default_factory=dict)
    bisect: Mapping[str, RecipeSettings] = field(default_factory=dict)
    pool: PoolSettings = field(default_factory=PoolSettings)
    devices: Mapping[str, DeviceSettings] = field(default_factory=dict)
    schedule: Mapping[str, ScheduleSettings] = field(default_factory=dict)
