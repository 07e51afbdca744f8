"""A file whose reader never ends is refused at its deadline, whichever way it came, and its neighbours come in."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest
from tests import hostile_plugin

from knickpoint.answers.status import RetryRequest, retry
from knickpoint.answers.uploads import import_notified_files
from knickpoint.instance import CONFIG_FILE, Instance, create_instance, open_instance
from knickpoint.instance.relay.session import Receiver, Reply, Subjects
from knickpoint.instance.separate_import import warm_up
from knickpoint.instance.worker import Worker

NAMES: Final = ("a.json", "b.txt", "c.json")
REASON: Final = "importing it took longer than 2 seconds, and was stopped"


@pytest.fixture
def instance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Instance]:
    """Return an instance that gives each file two seconds, and whose second of three watched files is never read to its end."""
    hostile_plugin.install(tmp_path / "packages")
    monkeypatch.syspath_prepend(tmp_path / "packages")
    results, directory = tmp_path / "results", tmp_path / "instance"
    results.mkdir()
    create_instance(directory).close()
    settings = f'[limits]\nimport_seconds = 2\n[ingest.sources.here]\nlocation = "file://{results}"\n'
    (directory / CONFIG_FILE).write_text(settings, encoding="utf-8")
    for number, name in enumerate(NAMES):
        result = {"key": {"benchmark": "sort", "unit": "ms"}, "measurement": number}
        content = json.dumps({"version": 1, "git_hash": str(1000001 + number), "results": [result]})
        (results / name).write_text(hostile_plugin.ENDLESS if name == "b.txt" else content, encoding="utf-8")
        os.utime(results / name, (1_700_000_000, 1_700_000_000))
    with open_instance(directory) as opened:
        warm_up(opened)
        yield opened


def poll(instance: Instance) -> None:
    Worker(instance).step()


def notify(instance: Instance) -> None:
    for body in _events(instance):
        import_notified_files(instance, body)


def send_messages(instance: Instance) -> None:
    receiver = Receiver(instance, Subjects.of(instance.config.name, instance.config.nats.stream))
    assert {receiver.import_message(body, 1).reply for body in _events(instance)} == {Reply.DONE}


def _events(instance: Instance) -> list[bytes]:
    folder = instance.directory.parent / "results"
    return [json.dumps({"url": f"file://{folder / name}"}).encode() for name in NAMES]


@pytest.mark.parametrize("bring", [poll, notify, send_messages])
def test_a_file_that_is_never_read_to_its_end_is_kept_with_its_reason_and_its_neighbours_come_in(
    instance: Instance, bring: Callable[[Instance], None]
) -> None:
    bring(instance)
    (kept,) = instance.store.ledger.quarantined()
    assert kept.source.endswith("b.txt")
    assert kept.problems[0].message == REASON
    assert len(instance.store.commits.line(instance.store.commits.repository("main")).slots) == 2


def test_a_refused_file_that_is_tried_again_has_a_deadline_too(instance: Instance) -> None:
    poll(instance)
    (kept,) = instance.store.ledger.quarantined()
    answer = retry(instance, RetryRequest(files=[kept.id]))
    assert REASON in "\n".join(answer.files[0].lines)
