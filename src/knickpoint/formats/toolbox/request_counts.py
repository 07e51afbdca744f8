"""How many requests of a load test failed, and what that means for its values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from knickpoint.formats.toolbox.numbers import NoNumberError
from knickpoint.formats.toolbox.result_rows import Rows
from knickpoint.model.report import Problem, Severity

SUCCESSFUL: Final = ("1", "2", "3")
"""How the codes of answers begin that are not errors."""


@dataclass(frozen=True, slots=True)
class RequestCounts:
    """The requests of a load test, or its transactions: how many there were, and how many of them failed.

    A test whose requests all failed measured errors, so it has no value. Where some failed, the values stay, with the
    counts beside them and a warning: a server that answers with errors is often quicker.
    """

    total: float
    failed: float = 0.0
    noun: str = "request"

    @property
    def useless(self) -> bool:
        """Whether no request succeeded."""
        return self.failed >= self.total

    @property
    def message(self) -> str:
        """What a person is to know, "" where all succeeded."""
        if not self.total:
            return f"no {self.noun} succeeded"
        return f"{self.failed:,.0f} of {self.total:,.0f} {self.noun}s failed" if self.failed else ""

    @property
    def summary(self) -> Mapping[str, float]:
        """The counts, to be kept beside a value."""
        return {f"{self.noun}s": self.total, "failures": self.failed}

    def warnings(self, where: str) -> tuple[Problem, ...]:
        """Return the warning that some requests of the report at ``where`` failed, none where all or none did."""
        if not self.failed or self.useless:
            return ()
        remedy = "Values beside failures are not like those without; look why they failed."
        return (Problem(self.message, where=where, remedy=remedy, severity=Severity.WARNING),)


def counted_requests(
    rows: Rows, metrics: Iterable[Mapping[str, str]], count: Callable[[], RequestCounts]
) -> RequestCounts | None:
    """Return the counts of a load test.

    None where it has no values, as no request succeeded or the counts cannot be read.

    Then its ``metrics`` are failed results in ``rows``.
    """
    try:
        counts = count()
        if not counts.useless:
            return counts
        reason = counts.message
    except NoNumberError as error:
        reason = error.reason
    for named in metrics:
        rows.fail(named, reason)
    return None
