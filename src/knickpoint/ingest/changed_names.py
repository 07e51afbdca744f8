"""Name the new traces that probably go on with older ones: the same benchmark in another unit, or in another spelling."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Final

from knickpoint.model.commit import Repository
from knickpoint.model.errors import ParamsError
from knickpoint.model.frame import Trace
from knickpoint.model.params import benchmark_text, decode_key, encode_key, values_in_key
from knickpoint.model.plain_text import counted
from knickpoint.model.report import Problem, RunReport, Severity
from knickpoint.store import Store

_SEPARATORS: Final = " _-./:"
_WITHOUT_SEPARATORS: Final = str.maketrans("", "", _SEPARATORS)
_BETWEEN_DIGITS: Final = re.compile(rf"(?<=\d)[{re.escape(_SEPARATORS)}]+(?=\d)")
_MOST_SPELLINGS: Final = 10
"""Spellings of one name; names that have more differ in what looks like separators."""

_NAMED: Final = 3
"""Benchmarks that a warning names."""


def changed_names(
    store: Store,
    repository: Repository,
    runs: Sequence[RunReport],
    new: Sequence[Trace],
    *,
    other_units: Collection[int],
    source: str,
) -> Iterator[Problem]:
    """Yield a warning about the ``new`` traces in other units than before, and one about those in other spellings.

    Args:
        store: has the new traces already.
        repository: of the traces.
        runs: the runs of the file ``source``; a benchmark that they have under both spellings is two.
        new: the traces that the file is the first to have.
        other_units: the ids of those whose keys have older traces, in units that do not convert.
        source: the file.
    """
    if not new or len(new) == store.traces.count(repository):
        return
    ids = {trace.id for trace in new}
    units = [trace for trace in new if trace.id in other_units]
    texts = [
        f"{benchmark_text(trace.key)} ({before.unit or 'no unit'} before, {trace.unit or 'no unit'} now)"
        for trace, before in zip(units, _older(store, repository, [trace.key for trace in units], ids), strict=True)
        if before is not None
    ]
    yield from _warning(
        texts,
        "in another unit",
        source,
        "Write the former unit if the measurement is the same; until then they are traces of their own.",
    )
    pairs = _spelled_otherwise(
        store,
        [trace for trace in new if trace.id not in other_units],
        {key for run in runs for key in run.results.keys},
    )
    texts = [
        f"{benchmark_text(key)} ({benchmark_text(before.key)} before)"
        for (key, _), before in zip(pairs, _older(store, repository, [former for _, former in pairs], ids), strict=True)
        if before is not None
    ]
    yield from _warning(
        texts,
        "in another spelling",
        source,
        "Write the former name, or let the new traces continue the old ones with knick missing rename.",
    )


def _warning(texts: Iterable[str], how: str, source: str, remedy: str) -> Iterator[Problem]:
    found = list(dict.fromkeys(texts))
    if found:
        message = (
            f"{counted(len(found), 'benchmark comes', 'benchmarks come')} {how} than before:"
            f" {', '.join(found[:_NAMED])}{', …' if len(found) > _NAMED else ''}"
        )
        yield Problem(message, source, remedy, Severity.WARNING)


def _older(store: Store, repository: Repository, keys: Sequence[str], new: Collection[int]) -> list[Trace | None]:
    """Return the newest trace of each key that is not ``new``, None without any."""
    found = store.traces.find_ids(repository, keys)
    older = {key: max((trace for trace in ids if trace not in new), default=-1) for key, ids in found.items()}
    traces = {trace.id: trace for trace in store.traces.get([number for number in older.values() if number >= 0])}
    return [traces.get(older.get(key, -1)) for key in keys]


def _spelled_otherwise(store: Store, new: Iterable[Trace], arrived: Collection[str]) -> list[tuple[str, str]]:
    """Return the keys of ``new`` traces, each with that of the benchmark in another spelling, which need not exist.

    Spellings differ in the case of letters and in separators; between digits there is one or none. ``arrived`` are the
    keys of the file.
    """
    keys = {trace.key: values_in_key(trace.key, ["benchmark"])[0] for trace in new}
    known = store.traces.param_values("benchmark")
    folded: dict[str, set[str]] = {}
    fresh = set(map(_folded, set(keys.values())))
    for value, text in zip(known.split("\n"), _folded(known).split("\n"), strict=True):
        if text in fresh:
            folded.setdefault(text, set()).add(value)
    pairs = []
    for key, name in keys.items():
        others = folded.get(_folded(name), set())
        for other in sorted(others - {name}) if len(others) <= _MOST_SPELLINGS else ():
            if _folded(_BETWEEN_DIGITS.sub("\n", name)) != _folded(_BETWEEN_DIGITS.sub("\n", other)):
                continue
            with suppress(ParamsError):  # the other key would be too long
                pairs.append((key, encode_key({**decode_key(key), "benchmark": other})))
    return [(key, former) for key, former in pairs if former not in arrived]


def _folded(text: str) -> str:
    return text.casefold().translate(_WITHOUT_SEPARATORS)
