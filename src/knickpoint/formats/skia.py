"""Read Skia Perf's format, version 1."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, repeat
from operator import itemgetter
from typing import Any, Final

import numpy as np

from knickpoint.formats.format import Parsed
from knickpoint.formats.toolbox.file_content import FileContent
from knickpoint.formats.toolbox.json_node import Node, measures
from knickpoint.formats.toolbox.result_rows import Rows
from knickpoint.model.errors import ParamsError
from knickpoint.model.params import MAXIMUM_KEY_BYTES, encode_key
from knickpoint.model.report import Problem, Report, ResultTable, RunReport, Severity
from knickpoint.model.unit import better_of, read_unit, unit_in_name
from knickpoint.model.unit_names import Better

# Skia's results as columns: the way for regular files, which are nearly all.
#
# Forty thousand values arrive in one such file every few minutes. Results with the same param names differ in the
# values only, so their trace keys are put together column by column, without an object or a function call of ours
# for each. Whatever is not regular is left to the careful way, which names the place of an error.


_TELLING: Final = ("unit", "units", "improvement_direction", "metric")
"""Params that hold the unit or the direction of a result."""
_BETTERS: Final = {better: code for code, better in enumerate(Better)}
_NEEDS_ENCODING: Final = ("%", ",", "=")

Traits = Callable[[Mapping[str, str], str], tuple[str, Better]]
"""Tell unit and direction of a result by its params and the name of its group of measurements."""


Block = tuple[tuple[str, ...], tuple[str, ...], list[dict[str, Any]]]
"""Names of params, names of groups, and the results that have these."""


def quick_table(results: list[dict[str, Any]], common: dict[str, str], traits: Traits) -> ResultTable | None:
    """Return the columns of ``results``, or None where they are not regular and need the careful way."""
    for split in (_whole, _parts):
        filling = _Filling(common, traits)
        try:
            for block in split(results):
                filling.add_block(*block)
            return filling.table()
        except (AttributeError, KeyError, OverflowError, ParamsError, TypeError, ValueError):
            continue
    return None


def _whole(results: list[dict[str, Any]]) -> Iterator[Block]:
    """Yield all as one block; raises, here or when it is filled, where they have more than that, or differ."""
    first = results[0] if results else {}
    names, groups = tuple(first["key"]), tuple(first.get("measurements", ()))
    if set(map(len, results)) != {2} or {len(names)} != set(map(len, map(itemgetter("key"), results))):
        raise KeyError("the results differ")
    if groups and {len(groups)} != set(map(len, map(itemgetter("measurements"), results))):
        raise KeyError("the groups differ")
    yield names, groups, results


def _parts(results: list[dict[str, Any]]) -> Iterator[Block]:
    """Yield a block for all results that have the same names."""
    blocks: dict[tuple[tuple[str, ...], tuple[str, ...]], list[dict[str, Any]]] = {}
    for result in results:
        signature = tuple(result["key"]), tuple(result.get("measurements") or ())
        block = blocks.get(signature)
        if block is None:
            block = blocks[signature] = []
        block.append(result)
    return ((*signature, block) for signature, block in blocks.items())


class _Encoded(dict[str, str]):
    """Values as they stand in keys, each encoded once. Raises ``ValueError`` for one that a key cannot hold."""

    def __missing__(self, text: str) -> str:
        if not text.isprintable() or not text or text != text.strip():
            raise ValueError(text)
        found = self[text] = text.replace("%", "%25").replace(",", "%2C").replace("=", "%3D")
        return found


class _Filling:
    """The columns while they are filled."""

    def __init__(self, common: dict[str, str], traits: Traits) -> None:
        self._common = common
        self._traits = traits
        self._keys: list[str] = []
        self._values: list[object] = []
        self._codes: list[int] = []
        self._links: dict[int, Mapping[str, str]] = {}
        self._encoded = _Encoded()
        self._known: dict[tuple[str, ...], int] = {}
        self._units: dict[str, int] = {}
        self._unit_codes: list[int] = []
        self._better_codes: list[int] = []

    def add_block(self, names: tuple[str, ...], groups: tuple[str, ...], results: list[dict[str, Any]]) -> None:
        """Add ``results``, which all have the params ``names`` and the ``groups`` of measurements."""
        owns = list(map(itemgetter("key"), results))
        columns: dict[str, list[str]] = {name: list(map(itemgetter(name), owns)) for name in names}
        if not groups:
            self._add(columns, list(map(itemgetter("measurement"), results)))
            return
        measurements = list(map(itemgetter("measurements"), results))
        for group in groups:
            if group in _TELLING:
                raise KeyError(group)
            found: list[list[dict[str, Any]]] = list(map(itemgetter(group), measurements))
            singles = list(chain.from_iterable(found))
            self._add_links(singles)
            params = {name: column for name, column in columns.items() if name != group}
            texts = self._checked(list(map(itemgetter("value"), singles)))
            self._add_group(params, group, texts, list(map(len, found)), list(map(itemgetter("measurement"), singles)))

    def _add_links(self, singles: list[dict[str, Any]]) -> None:
        if max(map(len, singles), default=0) > 2:
            for index, single in enumerate(singles, len(self._keys)):
                if links := single.get("links"):
                    self._links[index] = {name: str(url) for name, url in links.items()}

    def _add(self, columns: dict[str, list[str]], values: list[object]) -> None:
        """Add results with one value each, whose params beside the group's are ``columns``."""
        names = sorted({*self._common, *columns})
        if not names:
            raise KeyError("a result without params")
        self._keys.extend(self._written(names, columns, ",", "", len(values)))
        self._codes.extend(self._trait_codes(columns, "", len(values)))
        self._values.extend(values)

    def _add_group(
        self, columns: dict[str, list[str]], group: str, texts: list[str], counts: list[int], values: list[object]
    ) -> None:
        """Add results of which each has ``counts`` values in ``group``, distinguished by ``texts``."""
        names = sorted({*self._common, *columns, group})
        place = names.index(group)
        heads = self._written(names[:place], columns, ",", f"{encode_key({group: 'x'})[1:-2]}", len(counts))
        tails = self._written(names[place + 1 :], columns, ",", "", len(counts))
        each = (chain.from_iterable(map(repeat, parts, counts)) for parts in (heads, tails))
        self._keys.extend(map("".join, zip(next(each), texts, next(each), strict=True)))
        self._codes.extend(chain.from_iterable(map(repeat, self._trait_codes(columns, group, len(counts)), counts)))
        self._values.extend(values)

    def _trait_codes(self, columns: dict[str, list[str]], group: str, count: int) -> Iterable[int]:
        """Return the codes of unit and direction of ``count`` results."""
        deciding = [name for name in _TELLING if name in columns]
        if not deciding:
            return repeat(self._code({}, group), count)
        if len(deciding) == 1:
            texts = columns[deciding[0]]
            single = {text: self._code({deciding[0]: text}, group) for text in set(texts)}
            return map(single.__getitem__, texts)
        several = list(zip(*(columns[name] for name in deciding), strict=True))
        codes = {each: self._code(dict(zip(deciding, each, strict=True)), group) for each in set(several)}
        return map(codes.__getitem__, several)

    def _code(self, params: dict[str, str], group: str) -> int:
        trait = (group, *chain.from_iterable(params.items()))
        code = self._known.get(trait)
        if code is None:
            unit, better = self._traits({**self._common, **params}, group)
            code = self._known[trait] = len(self._unit_codes)
            self._unit_codes.append(self._units.setdefault(unit, len(self._units)))
            self._better_codes.append(_BETTERS[better])
        return code

    def _written(
        self, names: list[str], columns: dict[str, list[str]], start: str, end: str, count: int
    ) -> Iterable[str]:
        """Return ``count`` texts: ``start``, the params ``names`` as they stand in a key, and ``end``."""
        parts: list[Iterable[str]] = []
        for name in names:
            if name in columns:
                parts += [repeat(f"{start}{encode_key({name: 'x'})[1:-2]}"), self._checked(columns[name])]
                start = ","
            else:
                start += encode_key({name: self._common[name]})[1:]
        if not parts:
            return repeat(start + end, count)
        return map("".join, zip(*parts, repeat(start + end, count), strict=False))

    def _checked(self, column: list[str]) -> list[str]:
        """Return ``column``, encoded where that is needed. Raises where a value cannot stand in a key."""
        text = ";".join(column)
        regular = (
            text.isprintable()
            and not any(sign in text for sign in _NEEDS_ENCODING)
            and not (" " in text and (" ;" in text or "; " in text or text != text.strip()))
            and not (";;" in text or text[:1] in ("", ";") or text[-1:] == ";")
        )
        return column if regular else list(map(self._encoded.__getitem__, column))

    def table(self) -> ResultTable | None:
        """Return the columns, or None where a value is not a finite number, or keys repeat or are too long."""
        keys = self._keys
        if not keys or not set(map(type, self._values)) <= {int, float}:
            return None
        samples = np.array(self._values, dtype=np.float64)
        if not np.isfinite(samples).all() or 4 * max(map(len, keys)) > MAXIMUM_KEY_BYTES or len(set(keys)) < len(keys):
            return None
        which = np.array(self._codes, dtype=np.intp)
        return ResultTable(
            tuple(keys),
            samples,
            np.arange(len(keys) + 1, dtype=np.int64),
            tuple(self._units),
            np.array(self._unit_codes, dtype=np.uint16)[which],
            np.array(self._better_codes, dtype=np.uint8)[which],
            np.zeros(len(keys), dtype=np.uint8),
            links=self._links,
        )


_NAME: Final = "skia"
_DIRECTIONS: Final = {"up": Better.HIGHER, "down": Better.LOWER}
_SUFFIXES: Final = {"_smallerIsBetter": Better.LOWER, "_biggerIsBetter": Better.HIGHER}


def fits(file: FileContent) -> bool:
    """Return True if this is an object with a version, a commit and results."""
    document = file.document
    return (
        isinstance(document, dict)
        and document.get("version") == 1
        and "git_hash" in document
        and isinstance(document.get("results", []), list)
        and (not document.get("results") or measures(document["results"], ("measurement", "measurements")))
    )


def read(file: FileContent) -> Parsed:
    """Read one run: a trace per result, or per value of a group of measurements.

    The unit is the param ``unit`` or ``units``, else the name of the group where that is a unit; the direction
    is ``improvement_direction``, else the unit's.
    """
    root = Node(file.json)
    if root["version"].value != 1 or isinstance(root["version"].value, bool):
        raise root["version"].refuse("only version 1 is known", remedy="Write version 1, as an integer.")
    revision = root.words("git_hash")
    number = revision.removeprefix("CP:")
    problems: list[Problem] = []
    environment = {name: text for name in ("issue", "patchset") if (text := root.words(name))}
    if environment.get("issue"):
        problems.append(
            Problem(
                f"these are results of patch {environment['issue']}, not of commit {revision[:12]} alone",
                where="issue",
                remedy="Tell them apart by a param, as in --param patch=NAME.",
                severity=Severity.WARNING,
            )
        )
    common = root.maybe("key")
    params = {name: node.text() for name, node in common.members()} if common is not None else {}
    links = root.maybe("links")
    run = RunReport(
        _table(root, params),
        revision=number if number.isdecimal() else revision,
        branch=params.get("branch", ""),
        environment=environment,
        links=links.facts() if links is not None else {},
    )
    return Report(_NAME, (run,)), tuple(problems)


def _table(root: Node, common: dict[str, str]) -> ResultTable:
    results = root.maybe("results")
    quick = (
        quick_table(results.value, common, _traits) if results is not None and isinstance(results.value, list) else None
    )
    return quick or careful_table(root, common)


def _traits(params: Mapping[str, str], group: str) -> tuple[str, Better]:
    unit = skia_unit(params, group)
    return unit, skia_better(params, unit)


def skia_unit(params: Mapping[str, str], group: str = "") -> str:
    """Return the unit that ``params`` name, else ``group`` where that is the name of a unit, else the metric's."""
    text = params.get("units") or params.get("unit") or ""
    for suffix in _SUFFIXES:
        text = text.removesuffix(suffix)
    if not text and group and not read_unit(group).dimension.startswith("?"):
        return group
    return text or unit_in_name(params.get("metric", ""))


def skia_better(params: Mapping[str, str], unit: str) -> Better:
    """Return the direction that ``params`` say, else that of the metric's name and the unit."""
    direction = _DIRECTIONS.get(params.get("improvement_direction", ""))
    if direction is not None:
        return direction
    written = params.get("units") or params.get("unit") or ""
    for suffix, better in _SUFFIXES.items():
        if written.endswith(suffix):
            return better
    return better_of(params.get("metric", ""), unit, params.get("benchmark", ""))


def careful_table(root: Node, common: dict[str, str]) -> ResultTable:
    """Return the results of any file, one by one, naming the place of what is wrong."""
    rows = Rows()
    results = root.maybe("results")
    for result in results.elements() if results is not None else ():
        key = result.maybe("key")
        params = {**common, **({name: node.text() for name, node in key.members()} if key is not None else {})}
        measurements = result.maybe("measurements")
        if measurements is None or not measurements.value:
            unit = skia_unit(params)
            with rows.failing(params):
                rows.add(params, (result["measurement"].number(str(params)),), unit, skia_better(params, unit))
            continue
        for group, singles in measurements.members():
            for single in singles.elements():
                named = {**params, group: single["value"].text()}
                unit = skia_unit(named, group)
                links = single.maybe("links")
                facts = links.facts() if links is not None else None
                with rows.failing(named):
                    value = single["measurement"].number(str(named))
                    rows.add(named, (value,), unit, skia_better(named, unit), links=facts)
    return rows.table()
