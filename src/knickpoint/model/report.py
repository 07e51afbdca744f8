"""Reports: the content of a results file, independent of any instance."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.commit import Commit
from knickpoint.model.errors import DefectError, KnickpointError
from knickpoint.model.params import decode_key, encode_key
from knickpoint.model.unit_names import Better


class Outcome(Enum):
    """The outcome of a benchmark in a run; a missing benchmark is neither failed nor skipped."""

    MEASURED = "measured"
    FAILED = "failed"
    SKIPPED = "skipped"


class Severity(Enum):
    """The weight of a problem: with an error the whole file is refused, with a warning it is imported.

    A loss is a warning about a result whose name cannot be read either: what is missing is unknown. A defect is an
    error of Knickpoint, and not of the file.
    """

    DEFECT = "defect"
    ERROR = "error"
    WARNING = "warning"
    LOSS = "loss"


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong with a results file: what, where in it (line, path or entry), and the remedy."""

    message: str
    where: str = ""
    remedy: str = ""
    severity: Severity = Severity.ERROR

    @classmethod
    def of(cls, error: KnickpointError) -> Problem:
        """Return the problem that refuses a file because of ``error``."""
        severity = Severity.DEFECT if isinstance(error, DefectError) else Severity.ERROR
        return cls(error.message, error.where, error.remedy, severity)

    @property
    def refuses(self) -> bool:
        """Whether the whole file is refused because of it."""
        return self.severity in {Severity.DEFECT, Severity.ERROR}

    @property
    def sentence(self) -> str:
        """The place, what is wrong, and the remedy, on one line."""
        text = f"{self.where}: {self.message}" if self.where else self.message
        return f"{text.rstrip('.')}. {self.remedy}" if self.remedy else text


@dataclass(frozen=True, slots=True)
class Result:
    """One benchmark × configuration in one run.

    ``samples`` are finite numbers in ``unit``, in the order of measurement; empty unless measured.
    ``better`` is UNKNOWN where neither the format nor the unit defines it; the configuration can override it.
    ``message`` is the reason why there is no value, or a remark about the value. ``summary`` has statistics that the
    source computed (``stddev``, ``confidence_low``, ``rounds``); they belong to the point and are not series. ``links``
    belong to this result: name → URL.
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
    """The results of one run as columns, because 40,000 objects would take too much time and memory.

    Result ``i`` has the trace key ``keys[i]``, the samples ``samples[offsets[i]:offsets[i + 1]]`` (float64), the unit
    ``units[unit_codes[i]]``, the direction ``list(Better)[better_codes[i]]`` and the outcome
    ``list(Outcome)[outcome_codes[i]]``; ``messages``, ``summaries`` and ``links`` map the index of a result to what
    only some results have, and ``repeated`` to the number of rows of the file that became its samples, where they are
    several. Keys may repeat: their samples join in one point.
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
    repeated: Mapping[int, int] = field(default_factory=dict)

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
        """Return the results that the mask ``which`` selects, in their order."""
        counts = np.diff(self.offsets)
        new_index = {old: new for new, old in enumerate(np.flatnonzero(which).tolist())}
        return ResultTable(
            tuple(self.keys[old] for old in new_index),
            self.samples[np.repeat(which, counts)],
            np.concatenate([self.offsets[:1], np.cumsum(counts[which])]),
            self.units,
            self.unit_codes[which],
            self.better_codes[which],
            self.outcome_codes[which],
            {new_index[old]: text for old, text in self.messages.items() if old in new_index},
            {new_index[old]: summary for old, summary in self.summaries.items() if old in new_index},
            {new_index[old]: links for old, links in self.links.items() if old in new_index},
            {new_index[old]: rows for old, rows in self.repeated.items() if old in new_index},
        )

    def __len__(self) -> int:
        return len(self.keys)

    def __getitem__(self, index: int) -> Result:  # type: ignore[override]
        """Return one result as an object; too slow for loops over large tables."""
        row = range(len(self))[index]
        return Result(
            decode_key(self.keys[row]),
            tuple(self.samples[self.offsets[row] : self.offsets[row + 1]].tolist()),
            self.units[self.unit_codes[row]],
            list(Better)[self.better_codes[row]],
            list(Outcome)[self.outcome_codes[row]],
            self.messages.get(row, ""),
            self.summaries.get(row, {}),
            self.links.get(row, {}),
        )

    def __iter__(self) -> Iterator[Result]:
        return (self[index] for index in range(len(self)))


@dataclass(frozen=True, slots=True)
class RunReport:
    """One run as its results file describes it.

    Attributes:
        results: the results as columns.
        entry: the place inside a history file, "" where the file is one run.
        revision: hash, unique prefix or number of the commit; "" if the file does not name it.
        branch: "" if the file does not name it.
        identity: the id that the tool or the CI gave to the run, including its attempt; "" if none.
        time: when it ran, aware; None if the file does not give it.
        environment: facts about machine, OS, compiler, runner.
        links: CI task, logs, profile: name → URL.
        revisions: other repositories taking part: name → revision.
        unmeasured: results without a value whose benchmark was never measured, and has no trace.
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
    """The content of one results file.

    ``commits`` are those that the file describes, oldest first if the file gives the order. ``repository`` is the URL
    or name that the file gives, "" if none. ``branch_column`` is the column of a table that became the branch of its
    runs, "" for none.
    """

    format: str
    runs: tuple[RunReport, ...]
    commits: tuple[Commit, ...] = ()
    repository: str = ""
    branch_column: str = ""
