"""Gather the results of one run into columns: repeated names are samples of one point, failed requests a remark."""

from __future__ import annotations

import math
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np

from knickpoint.formats.toolbox.numbers import NoNumberError
from knickpoint.model.errors import FormatError, ParamsError
from knickpoint.model.params import MAXIMUM_KEY_BYTES, encode_key
from knickpoint.model.report import Outcome, Problem, ResultTable, Severity
from knickpoint.model.unit import MAXIMUM_UNIT_LENGTH, better_of, unit_in_name
from knickpoint.model.unit_names import Better

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]+")
_BETTERS: Final = {id(better): code for code, better in enumerate(Better)}
"""Code by identity: members are singletons, and hashing one is a call of Python."""
_OUTCOMES: Final = {outcome: code for code, outcome in enumerate(Outcome)}
_MEASURED: Final = _OUTCOMES[Outcome.MEASURED]


_MOST_UNITS: Final = 1 << 16
"""The number of units that the code of a table can hold."""


def tidy(text: str) -> str:
    """Return ``text`` fit for a param: control characters become one space, space around it goes."""
    return _CONTROL.sub(" ", text).strip()


@lru_cache(maxsize=4096)
def _in_order(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return ``names`` in the order in which they stand in keys, none where one is not tidy."""
    return tuple(sorted(names)) if all(name.isprintable() and name == name.strip() for name in names) else ()


def _is_tidy(text: str) -> bool:
    """Return True if ``tidy`` leaves ``text`` as it is; of a few texts that it would, it says no."""
    return text.isprintable() and text == text.strip()


def _unit(text: str) -> str:
    """Return a unit without space around it, and with its micro sign repaired where UTF-8 was read as Latin-1."""
    plain = text.strip()
    return plain if plain.isascii() else plain.replace("Âµ", "µ").replace("Î¼", "μ")


class _Pairs(dict[tuple[str, str], str]):
    """Params as they stand in keys, ``name=value``, each written once; "" for an empty one."""

    def __missing__(self, pair: tuple[str, str]) -> str:
        name, value = pair[0], tidy(pair[1])
        found = self[pair] = encode_key({name: value})[1:-1] if value else ""
        return found


class Rows:
    """Results of one run while they are gathered.

    Results of one key, one unit and one outcome are one: their samples join in the order of arrival.
    """

    def __init__(self, like: Rows | None = None) -> None:
        """Start empty; ``like`` is a run of the same file, whose knowledge of names and units is shared."""
        self._places: dict[tuple[str, str, int], int] = {}
        self._keys: list[str] = []
        self._given: dict[str, str] = {}
        self._samples: list[list[float]] = []
        self._units: dict[str, int] = {}
        self._unit_codes: list[int] = []
        self._betters: list[int] = []
        self._outcomes: list[int] = []
        self._rows: Counter[int] = Counter()
        self._messages: dict[int, str] = {}
        self._summaries: dict[int, Mapping[str, float]] = {}
        self._links: dict[int, Mapping[str, str]] = {}
        self.known: dict[tuple[tuple[str, str], ...], str] = like.known if like is not None else {}
        self.pairs: _Pairs = like.pairs if like is not None else _Pairs()
        self.untidy: dict[tuple[tuple[str, str], ...], str] = like.untidy if like is not None else {}

    def __len__(self) -> int:
        return len(self._keys)

    def key(self, params: Mapping[str, str]) -> str:
        """Return the trace key of ``params``, made tidy; empty ones are left out. Raises ``FormatError``.

        Params that differ have different objects as keys, even where the keys are equal once they are tidy.
        """
        pairs = tuple(params.items())
        known = self.known.get(pairs)
        if known is not None:
            return known
        try:
            key = self._written(params)
        except ParamsError as error:
            raise FormatError(error.message, where=f"benchmark {dict(pairs)!r}"[:200], remedy=error.remedy) from error
        if all(_is_tidy(text) for text in params.values()):
            key = sys.intern(key)
        else:
            key = self.untidy.setdefault(tuple(sorted(pair for pair in pairs if pair[1])), key)
        self.known[pairs] = key
        return key

    def _written(self, params: Mapping[str, str]) -> str:
        """Return the trace key of ``params``, quickly where their names are tidy and it is not long."""
        names = _in_order(tuple(params))
        if names:
            parts = [part for name in names if (part := self.pairs[name, params[name]])]
            key = f",{','.join(parts)},"
            if parts and 4 * len(key) <= MAXIMUM_KEY_BYTES:
                return key
        return encode_key({tidy(name): value for name, text in params.items() if (value := tidy(text))})

    def add(
        self,
        params: Mapping[str, str],
        samples: Iterable[float],
        unit: str = "",
        better: Better = Better.UNKNOWN,
        *,
        summary: Mapping[str, float] | None = None,
        message: str = "",
        links: Mapping[str, str] | None = None,
    ) -> None:
        """Add measured ``samples``.

        Where there is no ``unit``, the name of the metric may end with one (``p99_ms``). Where ``better`` is unknown,
        that name or the unit may say it.

        Numbers of the summary that are not finite are left out: deviations of a single sample are not.

        Raises:
            NoNumberError: a sample is not finite.
            FormatError: the params break the rules of keys.
        """
        found = list(samples)
        for sample in found:
            if not math.isfinite(sample):
                raise NoNumberError(
                    f"{sample!r} is not a finite number",
                    where=f"benchmark {dict(params)!r}"[:200],
                    remedy="Correct the value, or leave the benchmark out.",
                )
        if not found:
            return
        metric = params.get("metric", "")
        place = self._place(
            self.key(params),
            _unit(unit) or unit_in_name(metric),
            _MEASURED,
            better,
            (metric, params.get("benchmark", "")),
        )
        self._samples[place].extend(found)
        if summary and place not in self._summaries:
            kept = {name: number for name, number in summary.items() if math.isfinite(number)}
            if kept:
                self._summaries[place] = kept
        if message:
            self._messages[place] = message
        if links:
            self._links[place] = links

    @contextmanager
    def failing(self, params: Mapping[str, str]) -> Iterator[None]:
        """Run the body, which adds the result ``params``; a ``NoNumberError`` in it makes that result a failure."""
        try:
            yield
        except NoNumberError as error:
            self.fail(params, error.reason)

    def fail(self, params: Mapping[str, str], message: str = "", *, outcome: Outcome = Outcome.FAILED) -> None:
        """Add a benchmark that failed, or was skipped."""
        place = self._place(self.key(params), "", _OUTCOMES[outcome], Better.UNKNOWN)
        if message:
            self._messages[place] = message.strip()[:1000]

    def skip(self, params: Mapping[str, str], message: str = "") -> None:
        """Add a benchmark that was skipped."""
        self.fail(params, message, outcome=Outcome.SKIPPED)

    def _place(self, key: str, unit: str, outcome: int, better: Better, names: tuple[str, str] = ("", "")) -> int:
        new = len(self._keys)
        place = self._places.setdefault((key, unit, outcome), new)
        if place == new:
            if len(self._units) >= _MOST_UNITS and unit not in self._units:
                raise FormatError(
                    f"the results have more than {_MOST_UNITS} units, {unit[:40]!r} among them",
                    remedy="Give numbers as values, and the same unit to what can be compared.",
                )
            if len(unit) > MAXIMUM_UNIT_LENGTH:
                raise FormatError(
                    f"a unit has {len(unit):,} characters, more than {MAXIMUM_UNIT_LENGTH}: {unit[:40]!r}…",
                    where=f"benchmark {key!r}"[:200],
                    remedy="Write the unit alone, such as ns or MB/s; put remarks into a column message.",
                )
            # One of another unit or outcome would be the same trace, too: units are converted.
            self._check_same(key, self._given.setdefault(key, key))
            self._keys.append(key)
            self._samples.append([])
            self._unit_codes.append(self._units.setdefault(unit, len(self._units)))
            known = better if better is not Better.UNKNOWN else better_of(names[0], unit, names[1])
            self._betters.append(_BETTERS[id(known)])
            self._outcomes.append(outcome)
        else:
            self._check_same(key, self._keys[place])
            if outcome == _MEASURED:
                self._rows[place] += 1
        return place

    @staticmethod
    def _check_same(key: str, known: str) -> None:
        """Refuse ``key`` where the params of ``known``, which is equal, are others: see :meth:`key`."""
        if known is not key:
            raise FormatError(
                "several benchmarks have names or params that differ only in white space at their ends, "
                "or in tabs and line breaks",
                where=f"benchmark {key!r}"[:200],
                remedy="Give them names that differ in more, such as tab and space; they would be one trace.",
            )

    def table(self) -> ResultTable:
        """Return the gathered results as columns."""
        offsets = np.zeros(len(self._keys) + 1, dtype=np.int64)
        np.cumsum([len(samples) for samples in self._samples], out=offsets[1:])
        return ResultTable(
            tuple(self._keys),
            np.array([sample for samples in self._samples for sample in samples], dtype=np.float64),
            offsets,
            tuple(self._units),
            np.array(self._unit_codes, dtype=np.uint16),
            np.array(self._betters, dtype=np.uint8),
            np.array(self._outcomes, dtype=np.uint8),
            self._messages,
            self._summaries,
            self._links,
            {place: further + 1 for place, further in self._rows.items()},
        )


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
