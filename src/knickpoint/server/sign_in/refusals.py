"""Bound how many refused sign-ins the audit log keeps: anyone can have one refused, and the log is only appended to."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

__all__ = ["RefusalCount"]

_HOUR: Final = timedelta(hours=1)


@dataclass
class RefusalCount:
    """Count the refused sign-ins that are recorded, ``most`` an hour. One server process has one of these."""

    most: int = 200
    _since: datetime | None = None
    _recorded: int = 0

    def remark(self, now: datetime) -> str | None:
        """Count a refusal, and return what its entry says beside the reason; None where it gets no entry.

        The last entry of an hour says that further ones are missing.
        """
        if self._since is None or not timedelta(0) <= now - self._since < _HOUR:
            self._since, self._recorded = now, 0
        if self._recorded >= self.most:
            return None
        self._recorded += 1
        return "" if self._recorded < self.most else "; further ones within an hour are not recorded"
