"""The sections of ``knickpoint.toml`` as frozen dataclasses; the reference page is made from their docstrings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Final

from knickpoint.access.settings import AccessSettings, CiJobSettings, RoleSettings, SignInSettings
from knickpoint.bisect.settings import DeviceSettings, PoolSettings, RecipeSettings, ScheduleSettings, TrySettings
from knickpoint.ingest.settings import IngestSettings, RepositorySettings
from knickpoint.model.alert import Alert
from knickpoint.model.direction import DirectionRule
from knickpoint.model.errors import ConfigError
from knickpoint.model.notification import AnnouncementRule
from knickpoint.model.plain_text import address_with_secret, secret
from knickpoint.model.query import parse_query
from knickpoint.model.unit_names import Better
from knickpoint.notify.settings import ChannelSettings, NotifySettings
from knickpoint.outgoing.rule import OutgoingSettings
from knickpoint.people import PersonSettings

# The limits on what one caller, one connection and one request may take from the server.


@dataclass(frozen=True, slots=True)
class LimitSettings:
    """Bound what one caller, one connection and one request may take; ``[limits]``.

    Attributes:
        requests_per_minute: requests to the API a minute from one caller: by name, or by address where the caller is
            not known. More are refused (429).
        sign_ins_per_minute: attempts to sign in, and requests with credentials that are refused, a minute from one
            address. More are refused (429).
        costly_at_once: requests that read values, traces or findings, and decisions, that are worked on at the same
            time.
        costly_per_caller: how many of them may be of one caller.
        uploads_at_once: uploads of results that are imported at the same time, each in a process of its own; one place
            is kept free of those of one caller.
        uploads_per_caller: uploads of one caller that are received at the same time.
        uploads_waiting: uploads of all callers that are under way or wait; further ones are refused at once (429), with
            the time to wait.
        upload_megabytes_waiting: the same for their size in megabytes.
        wait_seconds: how long a costly request waits for its turn; after that, it is refused (429 where the caller has
            too many, 503 where all callers together have).
        upload_wait_seconds: how long an upload waits for its turn.
        import_seconds: how long an upload may take to be imported, and a file of a watched source to be read; after
            that, it is stopped, and the file is refused (400).
        request_seconds: how long a costly request may work; after that, it is stopped (503).
        request_values: values (traces × commits) that a request may read at a time, and a formula in total.
        body_bytes: size of the body of a request, uploads excepted (413).
        large_bodies_per_minute: bodies of more than 20,000 bytes a minute from one address, uploads excepted (429).
        address_bytes: size of the address of a request, with its parameters (414).
        header_bytes: size of all headers of a request (431).
        head_seconds: how long a client may take for the address and the headers of a request; then it is disconnected.
        idle_seconds: how long a connection stays open without a request.
        body_seconds: how long a client may pause while it sends a body or takes a response, and the time for the first
            bytes of a body (408).
        body_bytes_per_second: the least rate, on average, at which a body is sent after that time (408).
        connections: connections that are open at the same time; further ones are refused (503).
        connections_per_address: how many of them may be from one address; proxies of `[server]` are excepted.
        shortcuts: short ids that are kept; further ones are refused.
    """

    requests_per_minute: int = 6000
    sign_ins_per_minute: int = 60
    costly_at_once: int = 8
    costly_per_caller: int = 4
    uploads_at_once: int = 3
    uploads_per_caller: int = 8
    uploads_waiting: int = 200
    upload_megabytes_waiting: int = 1000
    wait_seconds: float = 20.0
    upload_wait_seconds: float = 300.0
    import_seconds: float = 300.0
    request_seconds: float = 45.0
    request_values: int = 20_000_000
    body_bytes: int = 4_000_000
    large_bodies_per_minute: int = 30
    address_bytes: int = 64_000
    header_bytes: int = 64_000
    head_seconds: float = 10.0
    idle_seconds: int = 15
    body_seconds: float = 20.0
    body_bytes_per_second: int = 10_000
    connections: int = 900
    connections_per_address: int = 300
    shortcuts: int = 100_000


# The settings of what an instance says about itself: its log, and its metrics for Graphite.


_PREFIX: Final = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*")
_UNFIT: Final = re.compile(r"[^A-Za-z0-9_-]+")
_GREATEST_PORT: Final = 65_535


class LogChoice(Enum):
    """The form of the log."""

    TEXT = "text"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class MonitoringSettings:
    """The reports of an instance about itself; ``[monitoring]``. Prometheus reads `/api/v1/metrics` without a setting.

    Attributes:
        log: `text` for people, or `json`: a line of JSON for each message and each request, with the id of the request.
        graphite: `host:port` of a Graphite server (plaintext protocol) to which each process sends its metrics.
        graphite_prefix: what the names of the metrics begin with there. `{host}` is the name of the machine, and
            `{process}` what the process runs, and its port, as in `api-8765`: so processes with one configuration do
            not write over each other.
        graphite_seconds: how often they are sent.
    """

    log: LogChoice = LogChoice.TEXT
    graphite: str = ""
    graphite_prefix: str = "knickpoint.{host}.{process}"
    graphite_seconds: float = 60.0


def graphite_address(settings: MonitoringSettings) -> tuple[str, int] | None:
    """Return host and port of the Graphite server, None where there is none or the setting is not an address."""
    host, colon, port = settings.graphite.rpartition(":")
    if not (host and colon and port.isdecimal() and 0 < int(port[:6]) <= _GREATEST_PORT):
        return None
    return host.strip("[]"), int(port)


def graphite_prefix(settings: MonitoringSettings, host: str, process: str) -> str:
    """Return the prefix of the process ``process`` of the machine ``host``.

    What divides names in Graphite becomes a dash.
    """
    return _filled(settings.graphite_prefix, _UNFIT.sub("-", host), _UNFIT.sub("-", process))


def _filled(prefix: str, host: str, process: str) -> str:
    return prefix.replace("{host}", host).replace("{process}", process)


def check_monitoring(settings: MonitoringSettings, path: Path) -> None:
    """Check the section ``[monitoring]`` of the file at ``path``.

    Raises:
        ConfigError: a setting cannot be used.
    """
    where = f"{path}, [monitoring]"
    if settings.graphite and graphite_address(settings) is None:
        raise ConfigError(
            f"graphite is {settings.graphite!r}",
            where=where,
            remedy='Write host:port, as in "graphite.example.org:2003".',
        )
    if not _PREFIX.fullmatch(_filled(settings.graphite_prefix, "host", "process")):
        raise ConfigError(
            f"graphite_prefix is {settings.graphite_prefix!r}",
            where=where,
            remedy="Use letters, digits, _ and -, with dots between, and {host} and {process} in it.",
        )
    if settings.graphite_seconds < 1:
        raise ConfigError(
            f"graphite_seconds is {settings.graphite_seconds:g}", where=where, remedy="Give 1 or more seconds."
        )


# The settings of quarantined results and of the hooks that ask for re-runs.


@dataclass(frozen=True, slots=True)
class QuarantineSettings:
    """Say when results of a machine that moved are quarantined; ``[quarantine]``.

    Attributes:
        watch: whether results are quarantined at all.
        wait_hours: without an outcome, quarantined results count after this time.
        minimum_effect: canaries that move by less, as a share of their level, have not moved.
        machine: facts of the environment that name the machine of a run; the first that it states counts.
        facts: facts of the environment whose change makes results suspect where no canary was measured.
        stays: so many commits in a row with a moved canary are a new level of the machine, and their results count.
        facts_stay: the same for changed facts without canaries.
    """

    watch: bool = True
    wait_hours: float = 48.0
    minimum_effect: float = 0.02
    machine: tuple[str, ...] = ("machine", "host", "hostname", "node")
    facts: tuple[str, ...] = ("kernel", "cpu", "cpu_governor", "governor", "microcode", "compiler", "os")
    stays: int = 5
    facts_stay: int = 3


@dataclass(frozen=True, slots=True)
class HookSettings:
    """Call a command or an address once for each run that is quarantined, to ask for a re-run; ``[hooks.NAME]``.

    Attributes:
        name: unique in the instance.
        command: program and arguments, as in `["/opt/bench/rerun", "--quick"]`; no shell reads it. The facts are in its
            environment.
        url: address that gets the facts as JSON, signed.
        signing_secret: of an address: the secret that signs, as in `${HOOK_SECRET}`.
        seconds: time after which a call counts as failed, and the command is ended.
        attempts: how often a call is tried.
    """

    name: str
    command: tuple[str, ...] = ()
    url: str = address_with_secret("")
    signing_secret: str = secret()
    seconds: float = 60.0
    attempts: int = 6


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """The place of values and findings; ``[store]``.

    Attributes:
        location: path of an SQLite file, relative to the instance, or `postgresql://…`. Of several servers, as in
            `postgresql://db-1,db-2/knickpoint`, the primary is used.
        replicas: servers that follow the primary, as in `["db-2", "db-3:5433"]`. What the dashboard and the API read,
            these answer as far as they have come; everything else of their address is as in `location`.
    """

    location: str = address_with_secret("knickpoint.db")
    replicas: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """The address of the dashboard and the API; ``[server]``.

    Attributes:
        host: address to listen at.
        port: port to listen at.
        names: names under which people reach the server, in addition to addresses and localhost.
        address: public address of the dashboard, as in `https://perf.example.org`, for links, sign-in and cookies.
            Default: the address that a request names.
        proxies: networks of the proxies in front of the server, as in `10.0.0.0/8`, whose `X-Forwarded-For`,
            `X-Forwarded-Proto` and `X-Forwarded-Host` are believed.
        upload_token: secret with which machines upload results, as in `${KNICKPOINT_UPLOAD_TOKEN}`, in addition to the
            tokens of `knick tokens`.
        drain_seconds: how long a process that is to end (SIGTERM) may take for the requests and the task that it works
            on.
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
        replicas: on how many nodes of a cluster of NATS the stream is kept, where it is made anew: with 3, one may be
            lost.
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
    """The place where alerts detect."""

    THREADS = "threads"
    PROCESSES = "processes"
    DASK = "dask"


@dataclass(frozen=True, slots=True)
class WorkSettings:
    """The place where alerts detect; ``[work]``. The findings are the same everywhere.

    Attributes:
        runner: `threads` of the worker, `processes` of its machine, or the machines of a `dask` cluster.
        processes: how many processes. Default: one a core.
        scheduler: address of the scheduler of Dask, as in `tls://dask.example.org:8786`. A scheduler runs what it is
            sent, so one on another machine needs `tls://`.
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
    """The rules by which `knick check` decides; ``[check]``. Options of the command take precedence.

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
    """The findings of the first run over a repository: history or work; ``[history]``.

    Attributes:
        as_work: whether they are to be triaged. Without it, findings at or before the newest commit of the first run
            are history: listed, and never announced. It applies to repositories without a run.
    """

    as_work: bool = False


@dataclass(frozen=True, slots=True)
class FindingSettings:
    """The announcements of findings, and their times; ``[findings]``.

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
    """The time for which profiles, samples and values are kept, in each repository; ``[retention]``.

    Traces with a triaged finding, their profiles, and what belongs to other branches are always kept.

    Attributes:
        profiles_commits: number of newest commits of the default line that keep their profiles, which go no later than
            samples and values. 0 keeps all.
        samples_commits: number of newest commits of the default line that keep their samples; older points keep
            their median. 0 keeps all.
        values_commits: number of newest commits of the default line that keep their values. 0 keeps all.
        every_hours: how often the worker applies the rule.
    """

    profiles_commits: int = 0
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
    """The better direction of a value, or neither."""

    LOWER = "lower"
    HIGHER = "higher"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class DirectionSettings:
    """The better direction of some traces, whatever files and units say; ``[directions.NAME]``.

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
    """The benchmarks that are reported when they stop; ``[missing]``.

    Attributes:
        watch: whether missing results are reported.
        query: which traces; "" means all.
    """

    watch: bool = True
    query: str = ""


@dataclass(frozen=True, slots=True)
class TicketSettings:
    """The source of tickets of an issue tracker; ``[tickets]``.

    Attributes:
        file: path of a CSV or JSON file, relative to the instance, that your script keeps up to date. It is the
            complete list: other tickets are removed.
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
        try_: sessions of attempts to make something faster.
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
    try_: TrySettings = field(default_factory=TrySettings)
