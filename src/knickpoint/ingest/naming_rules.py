"""Rename results by rule: add params, drop volatile ones, follow renames of benchmarks."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from knickpoint.ingest.settings import Rename
from knickpoint.model.errors import InputError
from knickpoint.model.params import decode_key, encode_key
from knickpoint.model.report import Problem, ResultTable, Severity

_EXAMINED: Final = 64
"""Results of a run whose params are looked at."""
_COMPARED: Final = 20
"""Runs of a file that are compared with each other."""
_FEWEST_COMMITS: Final = 5
"""Commits that must differ in a param before it counts as volatile."""
_VOLATILE: Final = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
    r"|\d{4}-\d\d-\d\d[T ]\d\d:\d\d.*"
    r"|1[5-9]\d{8}(?:\d{3}|\d{6}|\d{9}|\.\d+)?",
    re.IGNORECASE,
)
"""Values that identify a moment or an execution, and so make a new series each time: a UUID, a time, seconds since
1970.
"""


@dataclass
class NamingRules:
    """The rules that turn the trace keys of a file into those that are stored.

    A file with a ``refused`` param is refused. ``added`` params join every key, and override those of the file; then
    ``dropped`` params are removed, and ``renames`` replace params, in their order.
    """

    added: Mapping[str, str] = field(default_factory=dict)
    dropped: Sequence[str] = ()
    refused: Sequence[str] = ()
    renames: Sequence[Rename] = ()
    _known: dict[str, str] = field(default_factory=dict, repr=False)

    def apply(self, table: ResultTable, *, where: str = "") -> tuple[ResultTable, tuple[Problem, ...]]:
        """Return ``table`` with its new keys, and warnings that name the dropped params.

        Raises:
            InputError: a param is refused, or nothing is left of a key.
            ParamsError: an added param breaks the rules of keys.
        """
        # One search in all keys at once: most files have none of these params.
        text = "".join(table.keys) if self.dropped or self.refused else ""
        for name in self.refused:
            if _mark(name) in text:
                raise InputError(
                    f"the param {name!r} changes with every run and is refused here",
                    where=where,
                    remedy="Leave it out of the benchmark's name, or move it to drop_params in knickpoint.toml.",
                )
        dropped = [name for name in self.dropped if _mark(name) in text]
        if not (self.added or dropped or self.renames):
            return table, ()
        keys = tuple(self._known.get(key) or self._rename(key, where) for key in table.keys)
        warnings = tuple(
            Problem(f"the volatile param {name!r} was dropped", where=where, severity=Severity.WARNING)
            for name in dropped
        )
        return replace(table, keys=keys), warnings

    def _rename(self, key: str, where: str) -> str:
        """Return the new key of ``key``, and remember it for the other runs of the file."""
        params = {**decode_key(key), **self.added}
        for name in self.dropped:
            params.pop(name, None)
        for rename in self.renames:
            if all(params.get(name) == value for name, value in rename.old.items()):
                params = {name: value for name, value in params.items() if name not in rename.old} | dict(rename.new)
        if not params:
            raise InputError(
                f"nothing is left of the key {key!r} without its volatile params",
                where=where,
                remedy="Remove one of them from drop_params in knickpoint.toml.",
            )
        self._known[key] = encode_key(params)
        return self._known[key]


def _mark(name: str) -> str:
    """Return the text that a trace key contains if it has the param ``name``."""
    return encode_key({name: "x"}).removesuffix("x,")


def volatile_params(tables: Sequence[tuple[str, ResultTable]]) -> tuple[str, ...]:
    """Return the params of some runs, pairs of a commit and results, that make new traces with every run.

    Their values look like a moment or an execution among the first results, or none of the first commits shares a value
    with another one.
    """
    found: dict[str, None] = {}
    first: dict[str, list[tuple[str, set[str]]]] = {}
    for commit, table in tables[:_COMPARED]:
        values: dict[str, set[str]] = {}
        for key in table.keys[:_EXAMINED]:
            for name, value in decode_key(key).items():
                values.setdefault(name, set()).add(value)
        for name, seen in values.items():
            first.setdefault(name, []).append((commit, seen))
    for name, runs in first.items():
        if any(_VOLATILE.fullmatch(value) for value in runs[0][1]) or _differs_by_commit(runs):
            found[name] = None
    return tuple(found)


def _differs_by_commit(runs: Sequence[tuple[str, set[str]]]) -> bool:
    """Return True if no two commits share a value, among enough of them.

    ``runs`` are pairs of a commit and its values.
    """
    by_commit: dict[str, set[str]] = {}
    for commit, values in runs:
        by_commit.setdefault(commit, set()).update(values)
    different = set[str]().union(*by_commit.values())
    return len(by_commit) >= _FEWEST_COMMITS and len(different) == sum(map(len, by_commit.values()))
