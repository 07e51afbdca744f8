"""The options ``--since`` and ``--until`` of the commands about alert quality."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from knickpoint.watch.quality.report import Period

__all__ = ["period_options", "read_period"]


def period_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--since`` and ``--until`` to a command, as the arguments ``since`` and ``until``."""
    since = click.option(
        "--since",
        default="",
        metavar="DAYSd|DATE",
        help="Only findings made on this day (UTC) or later, or in the last days.",
    )
    until = click.option("--until", default="", metavar="DAYSd|DATE", help="Only findings made before this day (UTC).")
    return since(until(command))


def read_period(since: str, until: str) -> Period:
    """Return the period that the texts of both options name, "" for no bound.

    Raises:
        InputError: a text is no time.
    """
    from knickpoint.access.times import read_since
    from knickpoint.watch.quality.report import Period

    now = datetime.now(UTC)
    return Period(read_since(since, now) if since else None, read_since(until, now) if until else None)
