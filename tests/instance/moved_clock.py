"""A clock that a test moves: what the code asks for the time of day, and for seconds that only grow, follows it."""

from __future__ import annotations

import importlib
import pkgutil
import sys
import time
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Self

import pytest

__all__ = ["MovedClock"]


class MovedClock:
    """The time of this process, from :meth:`install` to the end of the test."""

    def __init__(self, begin: datetime) -> None:
        self.now = begin
        self._begin = begin

    def __call__(self) -> float:
        """Return seconds that only grow, as of a machine that never had its clock set."""
        return (self.now - self._begin).total_seconds()

    def seconds(self) -> float:
        """Return the time in seconds since 1970."""
        return self.now.timestamp()

    def advance(self, hours: float) -> None:
        self.now += timedelta(hours=hours)

    def install(self, patch: pytest.MonkeyPatch) -> None:
        """Have every module of Knickpoint that may run in a worker ask this clock."""
        clock = self
        for room in ("instance", "ingest", "watch", "notify", "store", "access"):
            package = importlib.import_module(f"knickpoint.{room}")
            for each in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
                if ".migrations." not in each.name:
                    importlib.import_module(each.name)

        class Moved(datetime):
            @classmethod
            def now(cls, tz: tzinfo | None = None) -> Self:
                moved = clock.now.astimezone(tz or UTC)
                return cls.fromtimestamp(moved.timestamp(), tz or UTC)

        patch.setattr(time, "time", self.seconds)
        for name, module in list(sys.modules.items()):
            if name.startswith("knickpoint.") and getattr(module, "datetime", None) is datetime:
                patch.setattr(module, "datetime", Moved)
