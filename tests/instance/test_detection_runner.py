"""Where alerts detect: in threads, in processes, and on a cluster of Dask that proves who it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.instance.test_worker import Clock, pending, with_a_step
from tests.store.conftest import Cluster as PostgreSQL
from tests.store.conftest import own_cluster as own_cluster  # noqa: PLC0414  # a fixture

from knickpoint.bisect.pool.access import make_certificate_files
from knickpoint.instance import CONFIG_FILE, Instance, Worker, create_instance, open_instance
from knickpoint.instance.alert_round import run_alert_round
from knickpoint.instance.config import read_config
from knickpoint.model.errors import ConfigError, ServiceError
from knickpoint.store import Event, EventKind, close_references
from knickpoint.watch.detection import trace_detection
from knickpoint.work import Serial

distributed = pytest.importorskip("distributed")
_SOURCE = '[history]\nas_work = true\n[ingest.sources.here]\nlocation = "results"\n'


def configured(directory: Path, work: str, *, store: str = "knickpoint.db") -> Instance:
    text = f'[store]\nlocation = "{store}"\n{_SOURCE}[work]\n{work}\n'
    (directory / CONFIG_FILE).write_text(text, encoding="utf-8")
    return open_instance(directory)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Make an instance whose source has thirty runs of one benchmark with a step."""
    create_instance(tmp_path).close()
    (tmp_path / "results").mkdir()
    with configured(tmp_path, "") as instance:
        with_a_step(instance)
    return tmp_path


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("certificates")
    make_certificate_files(folder, ("worker", "cluster"))
    return folder


@pytest.fixture(scope="module")
def cluster(certificates: Path) -> Iterator[str]:
    """Start a cluster that talks to nobody without a certificate, and return the settings that use it."""
    security: Any = distributed.Security(
        require_encryption=True,
        tls_ca_file=str(certificates / "authority.pem"),
        **{f"tls_{role}_cert": str(certificates / "cluster.pem") for role in ("client", "scheduler", "worker")},
        **{f"tls_{role}_key": str(certificates / "cluster-key.pem") for role in ("client", "scheduler", "worker")},
    )
    started: Any = distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0", security=security, protocol="tls"
    )
    yield (
        f'runner = "dask"\nscheduler = "{started.scheduler_address}"\ncertificate = "{certificates}/worker.pem"\n'
        f'private_key = "{certificates}/worker-key.pem"\nauthorities = "{certificates}/authority.pem"'
    )
    started.close()


def found(instance: Instance) -> list[tuple[float, float]]:
    """Import what waits, run the alerts, and return the levels before and after of each change."""
    Worker(instance, clock=Clock()).once()
    store = instance.store
    (change,) = store.findings.changes(store.commits.repository("main"))
    return [(point.numbers.before.mean, point.numbers.after.mean) for point in store.findings.live_members(change.id)]


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("runner", ["threads", "processes", "dask"])
def test_the_findings_are_the_same_wherever_the_alerts_detect(
    directory: Path, runner: str, request: pytest.FixtureRequest
) -> None:
    work = request.getfixturevalue("cluster") if runner == "dask" else f'runner = "{runner}"\nprocesses = 1'
    with configured(directory, work) as instance:
        ((before, after),) = found(instance)
    assert (round(before), round(after)) == (10, 20)


@pytest.mark.long
@pytest.mark.postgres
@pytest.mark.filterwarnings("ignore")
def test_workers_of_a_cluster_read_the_server_of_the_instance(
    tmp_path: Path, cluster: str, own_cluster: PostgreSQL, monkeypatch: pytest.MonkeyPatch
) -> None:
    own_cluster.execute("CREATE DATABASE shards")
    create_instance(tmp_path, store=own_cluster.url("shards")).close()
    (tmp_path / "results").mkdir()
    with configured(tmp_path, "", store=own_cluster.url("shards")) as instance:
        with_a_step(instance)

    def refuse(*_: object) -> object:
        raise AssertionError("values are sent to the workers")

    monkeypatch.setattr(trace_detection, "_detect_values", refuse)
    with configured(tmp_path, cluster, store=own_cluster.url("shards")) as instance:
        ((before, after),) = found(instance)
    close_references()
    assert (round(before), round(after)) == (10, 20)


@pytest.mark.filterwarnings("ignore")
def test_results_wait_for_a_cluster_that_is_gone_and_are_judged_afterwards(
    directory: Path, cluster: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("knickpoint.work.CONNECT_SECONDS", 0.2)
    gone = cluster.replace(cluster.split('"')[3], "tls://127.0.0.1:9")
    announced: list[str] = []
    with configured(directory, gone) as instance:
        Worker(instance, announced.append, clock=Clock()).step()
        assert pending(instance)[EventKind.TRACES_CHANGED] == 30
    assert any("the Dask scheduler does not answer" in line for line in announced)
    with configured(directory, cluster) as instance:
        assert len(found(instance)) == 1


@dataclass
class Lost(Serial):
    """A cluster that does not answer; while it is waited for, ``meanwhile`` happens."""

    meanwhile: Callable[[], object]

    def connect(self) -> None:
        """Wait, and find nobody."""
        self.meanwhile()
        raise ServiceError("the cluster does not answer")


def test_a_worker_that_waits_for_a_cluster_holds_no_events(directory: Path) -> None:
    with configured(directory, "") as instance:
        Worker(instance, clock=Clock())._poll_sources(None)
        claim = partial(instance.store.outbox.claim, [EventKind.TRACES_CHANGED], "another worker", 60.0, 100)
        claimed: list[Event] = []
        instance.__dict__["runner"] = Lost(lambda: claimed.extend(claim()))
        Worker(instance, clock=Clock()).step()
        assert [event.attempts for event in claimed] == [1] * 30


def test_a_run_by_hand_says_that_the_cluster_is_gone(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("knickpoint.work.CONNECT_SECONDS", 0.2)
    with configured(directory, "") as instance:
        Worker(instance, clock=Clock())._poll_sources(None)
    with (
        configured(directory, 'runner = "dask"\nscheduler = "tcp://127.0.0.1:9"') as instance,
        pytest.raises(ServiceError, match="does not answer"),
    ):
        run_alert_round(instance)


@pytest.mark.parametrize(
    ("work", "reason"),
    [
        ('runner = "cluster"', "threads"),
        ("processes = -1", "processes is -1"),
        ('runner = "dask"', "scheduler is ''"),
        ('runner = "dask"\nscheduler = "host:8786"', "scheduler is 'host:8786'"),
        ('runner = "dask"\nscheduler = "tls://host:99999"', "out of range"),
        ('runner = "dask"\nscheduler = "tcp://dask.example.org:8786"', "Start it with TLS"),
        ('runner = "dask"\nscheduler = "tls://dask.example.org:8786"', "certificate is missing"),
    ],
)
def test_a_section_that_cannot_be_used_is_refused(directory: Path, work: str, reason: str) -> None:
    (directory / CONFIG_FILE).write_text(f"[work]\n{work}\n", encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        read_config(directory / CONFIG_FILE)
    assert reason in str(caught.value)


def test_a_certificate_that_is_not_there_is_named(directory: Path) -> None:
    work = 'runner = "dask"\nscheduler = "tls://127.0.0.1:9"\ncertificate = "a.pem"\nauthorities = "b.pem"'
    with configured(directory, work) as instance, pytest.raises(ConfigError, match=r"there is no file .*a\.pem"):
        _ = instance.runner
