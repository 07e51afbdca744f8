"""Reports: what a results file says, before anything is known about the instance it goes to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.commit import Commit
from knickpoint.model.params import decode_key, encode_key
from knickpoint.model.unit import Better

__all__ = ["Outcome", "Problem", "Report", "Result", "ResultTable", "RunReport", "Severity"]


class Outcome(Enum):
    """Say what became of a benchmark in a run; missing, failed and skipped stay apart."""

    MEASURED = "measured"
    FAILED = "failed"
    SKIPPED = "skipped"


class Severity(Enum):
    """Weigh a problem: an error refuses the whole file, a warning lets it in."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong with a results file: what, where in it (line, path or entry), and the remedy."""

    message: str
    where: str = ""
    remedy: str = ""
    severity: Severity = Severity.ERROR


@dataclass(frozen=True, slots=True)
class Result:
    """One benchmark × configuration in one run.

    ``samples`` are finite numbers in ``unit``, in the order of measurement; empty unless measured.
    ``better`` is UNKNOWN where neither the format nor the unit says; the user may always decide otherwise.
    ``message`` says why there is no value, or what the source adds in words to one that there is.
    ``summary`` holds what the source computed beside the value, by name (``stddev``, ``confidence_low``,
    ``rounds``): it belongs to the point and makes no series. ``links`` belong to this result: name → URL.
    """

    params: Mapping[str, str]
    samples: tuple[float, ...] = ()
    unit: str = ""
    better: Better = Better.UNKNOWN
    outcome: Outcome = Outcome.MEASURED
    message: str = ""
    summary: Mapping[str, float] = field(default_factory=dict)
    links: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ResultTable(Sequence[Result]):
    """The results of one run as columns, so that 40,000 of them cost no 40,000 objects.

    Result ``i`` has the trace key ``keys[i]``, the samples ``samples[offsets[i]:offsets[i + 1]]`` (float64),
    the unit ``units[unit_codes[i]]``, the direction ``list(Better)[better_codes[i]]`` and the outcome
    ``list(Outcome)[outcome_codes[i]]``; ``messages``, ``summaries`` and ``links`` hold by index what only
    some results have. Keys may repeat: repeated names are samples of one point.
    """

    keys: tuple[str, ...]
    samples: NDArray[np.float64]
    offsets: NDArray[np.int64]
    units: tuple[str, ...]
    unit_codes: NDArray[np.uint16]
    better_codes: NDArray[np.uint8]
    outcome_codes: NDArray[np.uint8]
    messages: Mapping[int, str] = field(default_factory=dict)
    summaries: Mapping[int, Mapping[str, float]] = field(default_factory=dict)
    links: Mapping[int, Mapping[str, str]] = field(default_factory=dict)

    @classmethod
    def of(cls, results: Iterable[Result]) -> ResultTable:
        """Turn ``results`` into columns. Raises ``ParamsError`` where params break the rules of keys."""
        keys: list[str] = []
        samples: list[float] = []
        offsets = [0]
        units: dict[str, int] = {}
        unit_codes: list[int] = []
        betters = {better: code for code, better in enumerate(Better)}
        outcomes = {outcome: code for code, outcome in enumerate(Outcome)}
        better_codes: list[int] = []
        outcome_codes: list[int] = []
        messages: dict[int, str] = {}
        summaries: dict[int, Mapping[str, float]] = {}
        links: dict[int, Mapping[str, str]] = {}
        for index, result in enumerate(results):
            keys.append(encode_key(result.params))
            samples.extend(result.samples)
            offsets.append(len(samples))
            unit_codes.append(units.setdefault(result.unit, len(units)))
            better_codes.append(betters[result.better])
            outcome_codes.append(outcomes[result.outcome])
            if result.message:
                messages[index] = result.message
            if result.summary:
                summaries[index] = result.summary
            if result.links:
                links[index] = result.links
        return cls(
            tuple(keys),
            np.array(samples, dtype=np.float64),
            np.array(offsets, dtype=np.int64),
            tuple(units),
            np.array(unit_codes, dtype=np.uint16),
            np.array(better_codes, dtype=np.uint8),
            np.array(outcome_codes, dtype=np.uint8),
            messages,
            summaries,
            links,
        )

    def only(self, which: NDArray[np.bool_]) -> ResultTable:
        """Return the results ``which`` says, in their order."""
        counts = np.diff(self.offsets)
        places = {old: new for new, old in enumerate(np.flatnonzero(which).tolist())}
        return ResultTable(
            tuple(self.keys[place] for place in places),
            self.samples[np.repeat(which, counts)],
            np.concatenate([self.offsets[:1], np.cumsum(counts[which])]),
            self.units,
            self.unit_codes[which],
            self.better_codes[which],
            self.outcome_codes[which],
            {places[place]: text for place, text in self.messages.items() if place in places},
            {places[place]: summary for place, summary in self.summaries.items() if place in places},
            {places[place]: links for place, links in self.links.items() if place in places},
        )

    def __len__(self) -> int:
        return len(self.keys)

    def __getitem__(self, index: int) -> Result:  # type: ignore[override]
        """Return one result as an object; for showing and testing, not for large tables."""
        place = range(len(self))[index]
        return Result(
            decode_key(self.keys[place]),
            tuple(self.samples[self.offsets[place] : self.offsets[place + 1]].tolist()),
            self.units[self.unit_codes[place]],
            list(Better)[self.better_codes[place]],
            list(Outcome)[self.outcome_codes[place]],
            self.messages.get(place, ""),
            self.summaries.get(place, {}),
            self.links.get(place, {}),
        )

    def __iter__(self) -> Iterator[Result]:
        return (self[index] for index in range(len(self)))


@dataclass(frozen=True, slots=True)
class RunReport:
    """One execution that made results, as its file describes it.

    Attributes:
        results: the results as columns.
        entry: the place inside a history file, "" where the file is one run.
        revision: hash, unique prefix or number of the commit; "" where the file does not say.
        branch: "" where the file does not say.
        identity: the id that the tool or the CI gave to the run, attempt included; "" if none.
        time: when it ran, aware; None where the file does not say.
        environment: facts about machine, OS, compiler, runner.
        links: CI task, logs, profile: name → URL.
        revisions: other repositories taking part: name → revision.
        unmeasured: results without a value that make no trace, as they were never measured.
    """

    results: ResultTable
    entry: str = ""
    revision: str = ""
    branch: str = ""
    identity: str = ""
    time: datetime | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    links: Mapping[str, str] = field(default_factory=dict)
    revisions: Mapping[str, str] = field(default_factory=dict)
    unmeasured: tuple[Result, ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """What one results file says.

    ``commits`` are those that the file itself describes, oldest first as far as the file gives the order.
    ``repository`` is the URL or name that the file gives, "" if none.
    """

    format: str
    runs: tuple[RunReport, ...]
    commits: tuple[Commit, ...] = ()
    repository: str = ""
