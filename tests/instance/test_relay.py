from __future__ import annotations

import json
import queue
import shutil
import threading
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from tests.instance.conftest import SECONDS, NatsServer, NewServer

from knickpoint.ingest import FileSummary, ImportState, ImportSummary
from knickpoint.instance import CONFIG_FILE, Instance, Worker, open_instance
from knickpoint.instance.relay import Relay, Subjects
from knickpoint.instance.relay import session as receiver_module
from knickpoint.instance.relay.session import Receiver, Reply
from knickpoint.model.errors import ServiceError, StoreError
from knickpoint.model.query import Query
from knickpoint.model.report import Problem
from knickpoint.store import EventKind, Outbox, create_store
from knickpoint.store.events import TracesChanged

_NUMBERS = count()
_KIND = EventKind.TRACES_CHANGED

NewInstance = Callable[..., Instance]


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("empty") / "knickpoint.db"
    create_store(place).close()
    return place


@pytest.fixture
def new_instance(tmp_path: Path, empty_store: Path) -> Iterator[NewInstance]:
    """Make instances, each with a name of its own, that use a server."""
    opened: list[Instance] = []

    def make(url: str, more: str = "", worker: str = "") -> Instance:
        number = next(_NUMBERS)
        directory = tmp_path / f"instance-{number}"
        directory.mkdir()
        shutil.copy(empty_store, directory)
        (tmp_path / "results").mkdir(exist_ok=True)
        text = f"""
name = "{tmp_path.name} {number}"
[nats]
url = "{url}"
{more}
[worker]
poll_seconds = 0.02
{worker}
[ingest.sources.here]
location = "file://{tmp_path}/results"
every_seconds = 1e9
"""
        (directory / CONFIG_FILE).write_text(text, encoding="utf-8")
        opened.append(open_instance(directory))
        return opened[-1]

    yield make
    for instance in opened:
        instance.close()


def subjects(instance: Instance) -> Subjects:
    return Subjects.of(instance.config.name, instance.config.nats.stream)


def told_by(instance: Instance) -> list[str]:
    """Let a relay do one round; return what it announced."""
    announced: list[str] = []
    Relay(instance, "one", announced.append).once()
    return announced


def publish(instance: Instance, *numbers: int) -> None:
    for number in numbers:
        instance.store.outbox.publish(TracesChanged("main", slots=(number,), runs=(), traces={"count": 0}))


def relayed(server: NatsServer, instance: Instance, number: int) -> list[int]:
    """Wait for messages of an instance, and return what they say, in the order of the stream."""
    names = subjects(instance)

    async def read(jetstream: Any) -> list[int]:
        inbox = await jetstream.subscribe(names.of_kind(_KIND), stream=names.stream)
        messages = [await inbox.next_msg(timeout=SECONDS) for _ in range(number)]
        return [json.loads(message.data)["payload"]["slots"][0] for message in messages]

    return server.ask(read)


def kept(server: NatsServer, instance: Instance) -> int:
    """Count the messages of the stream."""

    async def read(jetstream: Any) -> int:
        return int((await jetstream.stream_info(subjects(instance).stream)).state.messages)

    return server.ask(read)


def announce(server: NatsServer, instance: Instance, *bodies: bytes) -> None:
    async def send(jetstream: Any) -> None:
        for body in bodies:
            await jetstream.publish(subjects(instance).files_arrived, body, timeout=SECONDS)

    server.ask(send)


def unanswered(server: NatsServer, instance: Instance) -> int:
    """Count the announcements without a final reply."""
    names = subjects(instance)

    async def read(jetstream: Any) -> int:
        info = await jetstream.consumer_info(names.stream, names.consumer)
        return int(info.num_pending + info.num_ack_pending)

    return server.ask(read)


def results(instance: Instance, name: str, value: float = 1.0) -> bytes:
    """Write a results file where the source of the instance is, and return its announcement."""
    folder = instance.directory.parent / "results"
    entries = [{"key": {"benchmark": "sort", "unit": "ms"}, "measurement": value}]
    (folder / name).write_text(json.dumps({"version": 1, "git_hash": "1000001", "results": entries}))
    return json.dumps({"url": f"file://{folder}/{name}"}).encode()


def points(instance: Instance) -> list[float]:
    store = instance.store
    repository = store.commits.repository("main")
    line = store.commits.line(repository)
    return [float(item) for item in store.frames.values(line, store.traces.select(repository, Query())).ravel()]


def waiting(instance: Instance) -> int:
    return sum(each.count for each in instance.store.outbox.pending() if each.consumer == "nats")


class Heard(queue.Queue[str]):
    """Lines that were announced."""

    def until(self, part: str) -> list[str]:
        """Wait for a line with ``part`` in it; return everything up to it."""
        lines = [self.get(timeout=SECONDS)]
        while part not in lines[-1]:
            lines.append(self.get(timeout=SECONDS))
        return lines


@pytest.mark.nats
def test_an_event_is_passed_on_under_the_name_of_the_instance(
    nats_server: NatsServer, new_instance: NewInstance
) -> None:
    instance = new_instance(nats_server.url)
    assert told_by(instance) == []
    publish(instance, 1)
    told_by(instance)
    assert relayed(nats_server, instance, 1) == [1]
    assert waiting(instance) == 0


@pytest.mark.nats
def test_an_event_that_could_not_be_marked_is_in_the_stream_once(
    nats_server: NatsServer, new_instance: NewInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    instance = new_instance(nats_server.url, worker="lease_seconds = 0.0")
    told_by(instance)
    publish(instance, 1, 2)

    def fail(_outbox: Outbox, _event: object) -> bool:
        raise StoreError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(Outbox, "done", fail)
        assert told_by(instance) == ["the disk is full"]
    assert (kept(nats_server, instance), waiting(instance)) == (2, 2)
    told_by(instance)
    assert (kept(nats_server, instance), waiting(instance)) == (2, 0)


@pytest.mark.nats
def test_a_server_that_is_killed_and_comes_back_gets_every_event_in_order(
    new_nats_server: NewServer, new_instance: NewInstance
) -> None:
    server = new_nats_server()
    server.start()
    instance = new_instance(server.url)
    told_by(instance)
    heard = Heard()
    with Relay(instance, "one", heard.put, first_pause_seconds=0.02) as relay:
        publish(instance, 1)
        assert relayed(server, instance, 1) == [1]
        server.kill()
        publish(instance, 2, 3)
        heard.until("NATS does not answer")
        assert "NATS does not answer" in relay.trouble
        server.start()
        heard.until("available again")
        assert relay.trouble == ""
        assert relayed(server, instance, 3) == [1, 2, 3]
    assert instance.store.outbox.dead() == []
    assert waiting(instance) == 0


@pytest.mark.nats
def test_the_id_of_a_message_is_known_after_the_server_was_killed(
    new_nats_server: NewServer, new_instance: NewInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = new_nats_server()
    server.start()
    instance = new_instance(server.url, worker="lease_seconds = 0.0")
    told_by(instance)
    publish(instance, 1)
    with monkeypatch.context() as patch:
        patch.setattr(Outbox, "done", Outbox.release)
        told_by(instance)
    server.kill()
    server.start()
    told_by(instance)
    assert (kept(server, instance), waiting(instance)) == (1, 0)


@pytest.mark.nats
def test_two_workers_keep_the_order(nats_server: NatsServer, new_instance: NewInstance) -> None:
    instance = new_instance(nats_server.url)
    told_by(instance)
    with Relay(instance, "one", lambda _line: None), Relay(instance, "two", lambda _line: None):
        publish(instance, *range(150))
        assert relayed(nats_server, instance, 150) == list(range(150))
    assert kept(nats_server, instance) == 150


@pytest.mark.nats
def test_a_server_that_is_away_is_told_once_and_takes_no_attempt(
    new_nats_server: NewServer, new_instance: NewInstance
) -> None:
    server = new_nats_server()
    server.start()
    instance = new_instance(server.url)
    told_by(instance)
    server.kill()
    publish(instance, 1)
    announced: list[str] = []
    relay = Relay(instance, "one", announced.append)
    for _ in range(7):
        relay.once()
    assert len(announced) == 1
    assert instance.store.outbox.dead() == []
    assert waiting(instance) == 1


@pytest.mark.nats
def test_a_file_that_is_announced_twice_comes_in_once(nats_server: NatsServer, new_instance: NewInstance) -> None:
    instance = new_instance(nats_server.url)
    told_by(instance)
    body = results(instance, "a.json", 5.0)
    announce(nats_server, instance, body, body)
    lines = told_by(instance)
    assert ["imported" in line or "already imported" in line for line in lines] == [True, True]
    assert points(instance) == [5.0]
    assert unanswered(nats_server, instance) == 0


@pytest.mark.nats
def test_an_announcement_whose_answer_was_lost_comes_again_and_changes_nothing(
    nats_server: NatsServer, new_instance: NewInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nats.aio.msg import Msg
    from nats.errors import TimeoutError as NatsTimeoutError

    monkeypatch.setattr(receiver_module, "ACK_SECONDS", 0.5)
    instance = new_instance(nats_server.url)
    told_by(instance)
    announce(nats_server, instance, results(instance, "a.json", 5.0))
    real, lost = Msg.ack_sync, threading.Event()

    async def ack_sync(message: Msg, timeout: float = 1.0) -> Msg:  # noqa: ASYNC109
        if lost.is_set():
            return await real(message, timeout)
        lost.set()
        raise NatsTimeoutError

    monkeypatch.setattr(Msg, "ack_sync", ack_sync)
    heard = Heard()
    with Relay(instance, "one", heard.put, first_pause_seconds=0.02):
        assert any("NATS does not answer" in line for line in heard.until("already imported"))
    assert points(instance) == [5.0]
    assert unanswered(nats_server, instance) == 0


@pytest.mark.nats
def test_a_message_that_nobody_can_read_ends_in_quarantine_and_does_not_block(
    nats_server: NatsServer, new_instance: NewInstance
) -> None:
    instance = new_instance(nats_server.url)
    told_by(instance)
    announce(nats_server, instance, b"\xff{", results(instance, "a.json", 5.0))
    told_by(instance)
    assert points(instance) == [5.0]
    assert [item.source for item in instance.store.ledger.quarantined()] == [f"nats:{subjects(instance).files_arrived}"]
    assert unanswered(nats_server, instance) == 0


@pytest.mark.nats
def test_a_file_that_cannot_be_used_is_in_quarantine_and_answered(
    nats_server: NatsServer, new_instance: NewInstance
) -> None:
    instance = new_instance(nats_server.url)
    told_by(instance)
    body = results(instance, "a.json")
    (instance.directory.parent / "results" / "a.json").write_text('{"version": 1, ')
    announce(nats_server, instance, body)
    told_by(instance)
    assert len(instance.store.ledger.quarantined()) == 1
    assert unanswered(nats_server, instance) == 0


@pytest.mark.nats
def test_a_server_that_wants_a_password_is_told_so_without_showing_ours(
    new_nats_server: NewServer, new_instance: NewInstance
) -> None:
    server = new_nats_server("--user", "lab", "--pass", "right")
    server.start()
    locked_out = new_instance(f"nats://lab:wrong@127.0.0.1:{server.port}")
    tries = [told_by(locked_out) for _ in range(10)]  # a connection that is closed at once may hide the reason
    assert any("rejected the login" in line for lines in tries for line in lines)
    assert not any("wrong" in line for lines in tries for line in lines)
    assert told_by(new_instance(f"nats://lab:right@127.0.0.1:{server.port}")) == []


@pytest.mark.nats
def test_of_several_servers_one_is_enough(nats_server: NatsServer, new_instance: NewInstance) -> None:
    instance = new_instance(f"nats://127.0.0.1:1, {nats_server.url}")
    assert told_by(instance) == []


@pytest.mark.nats
def test_a_server_without_jetstream_is_an_error(new_nats_server: NewServer, new_instance: NewInstance) -> None:
    server = new_nats_server()
    server.jetstream = False
    server.start()
    (line,) = told_by(new_instance(server.url))
    assert "nats-server -js" in line


@pytest.mark.nats
def test_instances_may_share_a_stream(nats_server: NatsServer, new_instance: NewInstance) -> None:
    instances = [new_instance(nats_server.url, 'stream = "shared"') for _ in range(2)]
    for number, instance in enumerate(instances):
        assert told_by(instance) == []
        publish(instance, number)
        assert told_by(instance) == []
    assert [relayed(nats_server, instance, 1) for instance in instances] == [[0], [1]]


@pytest.mark.nats
def test_subjects_that_belong_to_another_stream_are_an_error(
    nats_server: NatsServer, new_instance: NewInstance
) -> None:
    instance = new_instance(nats_server.url)
    told_by(instance)
    text = (instance.directory / CONFIG_FILE).read_text(encoding="utf-8")
    (instance.directory / CONFIG_FILE).write_text(text.replace("[nats]", '[nats]\nstream = "second"'), encoding="utf-8")
    with open_instance(instance.directory) as other:
        (line,) = told_by(other)
    assert "JetStream refuses: subjects overlap" in line


@pytest.mark.nats
def test_events_are_not_kept_for_a_relay_that_publishes_no_more(
    nats_server: NatsServer, new_instance: NewInstance
) -> None:
    instance = new_instance(nats_server.url, "publish = false")
    instance.store.outbox.subscribe("nats", [_KIND])
    publish(instance, 1)
    told_by(instance)
    publish(instance, 2)
    assert waiting(instance) == 0


@pytest.mark.nats
def test_a_worker_passes_on_what_it_finds_and_ends_when_stopped(
    nats_server: NatsServer, new_instance: NewInstance
) -> None:
    instance = new_instance(nats_server.url)
    told_by(instance)
    stop, heard = threading.Event(), Heard()
    thread = threading.Thread(target=Worker(instance, heard.put).run, args=(stop,))
    thread.start()
    announce(nats_server, instance, results(instance, "a.json"))
    heard.until("imported")
    names = subjects(instance)

    async def read(jetstream: Any) -> str:
        inbox = await jetstream.subscribe(names.of_kind(_KIND), stream=names.stream)
        return str(json.loads((await inbox.next_msg(timeout=SECONDS)).data)["payload"]["repository"])

    assert nats_server.ask(read) == "main"
    stop.set()
    thread.join(SECONDS)
    assert not thread.is_alive()
    assert not [item.name for item in threading.enumerate() if item.name.startswith("knickpoint-nats")]


@pytest.mark.nats
def test_one_round_of_a_worker_takes_in_and_passes_on(nats_server: NatsServer, new_instance: NewInstance) -> None:
    instance = new_instance(nats_server.url)
    Worker(instance).once()
    announce(nats_server, instance, results(instance, "a.json"))
    Worker(instance).once()
    assert points(instance) == [1.0]
    assert kept(nats_server, instance) == 2


def receiver(instance: Instance) -> Receiver:
    return Receiver(instance, subjects(instance))


def test_a_place_that_does_not_answer_is_asked_again(
    new_instance: NewInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_instance: Instance, _body: bytes, **_options: object) -> ImportSummary:
        raise ServiceError("the bucket does not answer")

    monkeypatch.setattr(receiver_module, "import_bucket_event", fail)
    handled = receiver(new_instance("nats://127.0.0.1:1")).import_message(b'{"url": "s3://bench/a.json"}', 99)
    assert handled.reply is Reply.AGAIN


def test_a_file_of_no_source_is_told_and_not_asked_for_again(new_instance: NewInstance) -> None:
    instance = new_instance("nats://127.0.0.1:1")
    handled = receiver(instance).import_message(b'{"url": "s3://elsewhere/a.json"}', 1)
    assert handled.reply is Reply.NEVER
    assert "no source" in handled.lines[0]
    assert instance.store.ledger.quarantined() == []


@pytest.mark.parametrize(("deliveries", "reply", "held"), [(4, Reply.AGAIN, 0), (5, Reply.NEVER, 1)])
def test_a_file_that_cannot_be_read_is_tried_five_times(
    new_instance: NewInstance, monkeypatch: pytest.MonkeyPatch, deliveries: int, reply: Reply, held: int
) -> None:
    outcome = FileSummary("s3://bench/a.json", ImportState.UNREADABLE, problems=(Problem("a broken sidecar"),))
    monkeypatch.setattr(
        receiver_module, "import_bucket_event", lambda _instance, _body, **_options: ImportSummary((outcome,))
    )
    instance = new_instance("nats://127.0.0.1:1")
    assert receiver(instance).import_message(b'{"url": "s3://bench/a.json"}', deliveries).reply is reply
    assert len(instance.store.ledger.quarantined()) == held


def test_one_file_of_no_source_does_not_keep_the_others_out(new_instance: NewInstance) -> None:
    instance = new_instance("nats://127.0.0.1:1")
    path = str(json.loads(results(instance, "a.json", 5.0))["url"]).removeprefix("file://")
    names = {"s3://elsewhere/x.json", f"file://{path}"}
    body = json.dumps({"names": sorted(names)}).encode()

    def arrived(_body: bytes) -> list[str]:
        return sorted(names, reverse=True)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(receiver_module, "bucket_event_urls", arrived)
        assert receiver(instance).import_message(body, 1).reply is Reply.NEVER
    assert points(instance) == [5.0]


def test_a_quarantine_that_cannot_be_written_keeps_the_message(
    new_instance: NewInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_arguments: object) -> FileSummary:
        raise StoreError("the disk is full")

    monkeypatch.setattr(receiver_module, "quarantine_bucket_event", fail)
    assert receiver(new_instance("nats://127.0.0.1:1")).import_message(b"{", 1).reply is Reply.AGAIN
