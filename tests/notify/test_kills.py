"""A sender that is killed at any moment loses nothing, and repeats only what no answer had come for, with the same key."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from email import message_from_bytes
from pathlib import Path

import pytest
from aiosmtpd.smtp import SMTP, Envelope, Session
from tests.notify.conftest import Receiver, Reply, Request, serving
from tests.notify.ledgers import Announcer, Clock
from tests.notify.mail_servers import MailBox, serving_mail

from knickpoint.model.alert import Alert
from knickpoint.model.notification import DeliveryState
from knickpoint.store import create_store, open_store

_ROOT = Path(__file__).parent.parent.parent
_LEASE_IS_OVER = 1000.0
"""By how many seconds the clock of a process is ahead of that of the one before."""


@dataclass
class Killer:
    """Counts what a server takes, and kills the process that sends at a chosen message."""

    process: subprocess.Popen[bytes] | None = None
    left: int = -1
    answered: bool = False
    kills: int = 0
    keys: list[str] = field(default_factory=list)

    def take(self, key: str) -> None:
        """Count a message; the process dies before the answer to the last one, or at some moment after it."""
        self.keys.append(key)
        self.left -= 1
        if self.left or self.process is None:
            return
        self.kills += 1
        process = self.process
        if self.answered:
            threading.Timer(random.Random(self.kills).random() / 100, process.send_signal, [signal.SIGKILL]).start()
        else:
            process.send_signal(signal.SIGKILL)


@dataclass
class Hook(Receiver):
    """A receiver of webhooks that reports to a killer."""

    killer: Killer = field(default_factory=Killer)

    def reply(self, request: Request) -> Reply:
        body = json.loads(request.body)
        assert request.headers["idempotency-key"] == body["key"]
        self.killer.take(f"{body['recipient']} {body['key']}")
        return Reply()


@dataclass
class Mails(MailBox):
    """A mail server that reports to a killer."""

    killer: Killer = field(default_factory=Killer)

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802
        answer = await super().handle_DATA(server, session, envelope)
        message = message_from_bytes(self.raw[-1])
        self.killer.take(f"{envelope.rcpt_tos[0]} {message['Message-ID']}")
        return answer


def kill_and_finish(place: Path, kind: str, address: str, killer: Killer, rounds: int) -> set[str]:
    """Announce changes, have senders killed ``rounds`` times, let one finish, and return what all were answered with."""
    location, chance = place / "store.db", random.Random(rounds)
    with create_store(location) as store:
        announcer = Announcer(store, store.commits.add_repository("main").id, Clock())
        store.findings.alerts_in_force.replace([Alert("a", notify=("mail",))])
        store.notifications.switch(on=True)
        for number in range(rounds + 1):
            for _ in range(4):
                announcer.open()
            killer.left = chance.randint(1, 6) if number < rounds else -1
            killer.answered = chance.random() < 0.5
            killer.process = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "tests.notify.sending_process",
                    str(location),
                    kind,
                    address,
                    str(number * _LEASE_IS_OVER),
                ],
                cwd=_ROOT,
                env={**os.environ, "PYTHONPATH": str(_ROOT)},
            )
            code = killer.process.wait(120)
            assert code == (0 if number == rounds else code)
    with open_store(location) as store:
        assert {state for _, state in store.notifications.counts()} == {DeliveryState.SENT}
        return {each.reference for each in store.notifications.newest(limit=1_000_000)}


def check(killer: Killer, keys: set[str], expected: int) -> None:
    counts = Counter(killer.keys)
    assert len(keys) == expected
    assert len(counts) == expected
    assert all(any(key in seen for seen in counts) for key in keys)
    assert sum(counts.values()) - len(counts) <= killer.kills


def over_http(place: Path, rounds: int) -> tuple[Killer, set[str]]:
    with serving(Hook()) as hook:
        return hook.killer, kill_and_finish(place, "webhook", f"{hook.url}/hook", hook.killer, rounds)


def over_smtp(place: Path, rounds: int) -> tuple[Killer, set[str]]:
    box = Mails()
    with serving_mail(box=box):
        return box.killer, kill_and_finish(place, "mail", f"smtp://127.0.0.1:{box.port}", box.killer, rounds)


Transport = Callable[[Path, int], tuple[Killer, set[str]]]


@pytest.mark.parametrize(
    ("transport", "recipients", "rounds"), [(over_http, 1, 1), pytest.param(over_smtp, 2, 1, marks=pytest.mark.long)]
)
def test_a_sender_that_is_killed_loses_and_doubles_nothing(
    tmp_path: Path, transport: Transport, recipients: int, rounds: int
) -> None:
    killer, keys = transport(tmp_path, rounds)
    assert killer.kills == rounds
    check(killer, keys, (rounds + 1) * 4 * recipients)


_ROUNDS = int(os.environ.get("KNICKPOINT_KILLS", "25"))
"""`make test-kills` takes 100."""


@pytest.mark.long
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(("transport", "recipients"), [(over_http, 1), (over_smtp, 2)])
def test_a_sender_that_is_killed_again_and_again_loses_and_doubles_nothing(
    tmp_path: Path, transport: Transport, recipients: int
) -> None:
    killer, keys = transport(tmp_path, _ROUNDS)
    assert killer.kills > _ROUNDS // 2
    check(killer, keys, (_ROUNDS + 1) * 4 * recipients)
