"""Plan and send the notifications of a store until nothing is due: a process that tests kill.

Arguments: the store, the kind of the channel, its address, and by how many seconds the clock is ahead.
"""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.notify.ledgers import plain_message

from knickpoint.notify.channel import ChannelContext, open_channel
from knickpoint.notify.planner import Planner
from knickpoint.notify.recipients import Audience, read_schedule
from knickpoint.notify.sender import Sender
from knickpoint.notify.settings import ChannelKind, ChannelSettings, NotifySettings
from knickpoint.outgoing import OutgoingRule
from knickpoint.people import Directory
from knickpoint.store import open_store


def main(location: str, kind: str, address: str, ahead: str) -> None:
    settings = {
        "mail": ChannelSettings(
            "mail",
            ChannelKind.MAIL,
            server=address,
            sender="knick@example.org",
            to=("perf@example.org", "team@example.org"),
        ),
        "webhook": ChannelSettings("mail", ChannelKind.WEBHOOK, url=address, signing_secret="s" * 32),
    }[kind]
    channels = {"mail": settings}
    context = ChannelContext(Path(location).parent, "", OutgoingRule(), "test")

    def clock() -> datetime:
        return datetime.now(UTC) + timedelta(seconds=float(ahead))

    with open_store(location) as store:
        schedule = read_schedule(NotifySettings())
        planner = Planner(store, Audience(channels, Directory(), 0.2), schedule)
        while (plan := planner.next_plan(clock(), planner.newest())) is not None:
            planner.write(plan, clock())
        sender = Sender(
            store,
            channels,
            lambda each: open_channel(each, context),
            plain_message,
            schedule,
            1000,
            str(os.getpid()),
            clock,
        )
        while sender.step():
            pass


if __name__ == "__main__":
    main(*sys.argv[1:])
