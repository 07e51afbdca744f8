"""What the columns of a table say about how a row ended: its status, and the exit code of what was measured."""

from __future__ import annotations

from typing import Final

from knickpoint.formats.toolbox.numbers import numeral
from knickpoint.model.errors import FormatError
from knickpoint.model.report import Outcome

__all__ = ["row_outcome"]

_STATUSES: Final = {
    "ok": Outcome.MEASURED,
    "passed": Outcome.MEASURED,
    "pass": Outcome.MEASURED,
    "success": Outcome.MEASURED,
    "measured": Outcome.MEASURED,
    "": Outcome.MEASURED,
    "failed": Outcome.FAILED,
    "fail": Outcome.FAILED,
    "failure": Outcome.FAILED,
    "error": Outcome.FAILED,
    "skipped": Outcome.SKIPPED,
    "skip": Outcome.SKIPPED,
    "ignored": Outcome.SKIPPED,
}


def row_outcome(status: str, exit_code: str, message: str, where: str) -> tuple[Outcome, str]:
    """Return how the row at ``where`` ended, and why; the cells are "" where the table has no such column.

    Raises:
        FormatError: the status is none that is known.
    """
    outcome = _STATUSES.get(status.lower())
    if outcome is None:
        raise FormatError(
            f"the status {status!r} is none of ok, failed, skipped",
            where=where,
            remedy="Use one of them, or name that column param:status.",
        )
    if outcome is Outcome.MEASURED and (numeral(exit_code) or 0) != 0:
        return Outcome.FAILED, message or f"exit code {exit_code}"
    return outcome, message
