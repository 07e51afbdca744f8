"""Read Skia Perf's format, version 1.

Forty thousand values arrive in one such file every few minutes, so the columns are filled without an object
per result wherever the file is regular: the trace keys of results with the same param names differ in the
values only, and come from one template. Whatever is not regular goes the slow way, which names the place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from operator import itemgetter
from typing import Any, Final, NamedTuple

import numpy as np

from knickpoint.formats.format import Parsed
from knickpoint.formats.node import Node
from knickpoint.formats.rows import Rows
from knickpoint.formats.source import Source
from knickpoint.model.params import MAXIMUM_KEY_BYTES
from knickpoint.model.report import Problem, Report, ResultTable, RunReport, Severity
from knickpoint.model.unit import Better, read_unit

__all__ = ["fits", "read", "skia_better", "skia_unit"]

_NAME: Final = "skia"
_TELLING: Final = ("unit", "units", "improvement_direction")
_BETTERS: Final = {better: code for code, better in enumerate(Better)}
_DIRECTIONS: Final = {"up": Better.HIGHER, "down": Better.LOWER}
_SUFFIXES: Final = {"_smallerIsBetter": Better.LOWER, "_biggerIsBetter": Better.HIGHER}
_BARE: Final = ("%", "=,")
_SPACED: Final = ("%", "=,", "= ", " ,", ", ", " =")
"""What a key that was built without looking may hold when a name or value needs encoding or tidying."""


def fits(source: Source) -> bool:
    """Tell whether this is an object with a version, a commit and results."""
    document = source.document
    return (
        isinstance(document, dict)
        and document.get("version") == 1
        and "git_hash" in document
        and isinstance(document.get("results", []), list)
    )


def read(source: Source) -> Parsed:
    """Read one run: a trace per result, or per value of a group of measurements.

    The unit is the param ``unit`` or ``units``, else the name of the group where that is a unit; the direction
    is ``improvement_direction``, else the unit's.
    """
    root = Node(source.json)
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
                remedy="Import them on a branch of their own with --branch.",
                severity=Severity.WARNING,
            )
        )
    common = root.maybe("key")
    params = {name: node.text() for name, node in common.members()} if common is not None else {}
    links = root.maybe("links")
    run = RunReport(
        _quick_table(root, params) or _careful_table(root, params),
        revision=number if number.isdecimal() else revision,
        branch=params.get("branch", ""),
        environment=environment,
        links=links.facts() if links is not None else {},
    )
    return Report(_NAME, (run,)), tuple(problems)


def skia_unit(params: Mapping[str, str], group: str = "") -> str:
    """Return the unit that ``params`` name, else ``group`` where that is the name of a unit, else ""."""
    text = params.get("units") or params.get("unit") or ""
    for suffix in _SUFFIXES:
        text = text.removesuffix(suffix)
    if not text and group and not read_unit(group).dimension.startswith("?"):
        return group
    return text


def skia_better(params: Mapping[str, str], unit: str) -> Better:
    """Return the direction that ``params`` tell, else the unit's."""
    told = _DIRECTIONS.get(params.get("improvement_direction", ""))
    if told is not None:
        return told
    written = params.get("units") or params.get("unit") or ""
    for suffix, better in _SUFFIXES.items():
        if written.endswith(suffix):
            return better
    return read_unit(unit).better


def _careful_table(root: Node, common: dict[str, str]) -> ResultTable:
    rows = Rows()
    results = root.maybe("results")
    for result in results.elements() if results is not None else ():
        own = result.maybe("key")
        params = {**common, **({name: node.text() for name, node in own.members()} if own is not None else {})}
        measurements = result.maybe("measurements")
        if measurements is None or not measurements.value:
            unit = skia_unit(params)
            value = result["measurement"].number(str(params))
            rows.add(params, (value,), unit, skia_better(params, unit))
            continue
        for group, singles in measurements.members():
            for single in singles.elements():
                named = {**params, group: single["value"].text()}
                unit = skia_unit(named, group)
                links = single.maybe("links")
                rows.add(
                    named,
                    (single["measurement"].number(str(named)),),
                    unit,
                    skia_better(named, unit),
                    links=links.facts() if links is not None else None,
                )
    return rows.table()


class _Template(NamedTuple):
    """How to write the keys of results with one set of param names.

    ``head % values`` and ``tail % values`` go before and after the value of the group; ``size`` counts params,
    ``telling`` are the result's own params that tell unit or direction.
    """

    head: str
    head_values: Callable[[Mapping[str, str]], object] | None
    tail: str
    tail_values: Callable[[Mapping[str, str]], object] | None
    size: int
    telling: tuple[str, ...]


def _template(common: Mapping[str, str], own: tuple[str, ...], group: str) -> _Template:
    names = sorted({*common, *own, group} - {""})
    if not names:
        raise KeyError("a result without params")
    mine = set(own)
    parts = {
        name: f"{name.replace('%', '%%')}={'%s' if name in mine else common.get(name, '').replace('%', '%%')},"
        for name in names
        if name != group
    }
    cut = names.index(group) if group else len(names)
    before, after = names[:cut], names[cut + 1 :]
    head = "," + "".join(parts[name] for name in before) + (f"{group.replace('%', '%%')}=" if group else "")
    tail = ("," if group else "") + "".join(parts[name] for name in after)
    return _Template(
        head,
        _getter(name for name in before if name in mine),
        tail,
        _getter(name for name in after if name in mine),
        len(names),
        tuple(name for name in _TELLING if name in mine),
    )


def _getter(names: Iterable[str]) -> Callable[[Mapping[str, str]], object] | None:
    wanted = tuple(names)
    return itemgetter(*wanted) if wanted else None


def _quick_table(root: Node, common: dict[str, str]) -> ResultTable | None:
    """Return the columns of a regular file, None for one that needs the careful way."""
    try:
        return _quick(root.value["results"], common)  # type: ignore[index]
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError):
        return None


def _quick(results: list[dict[str, Any]], common: dict[str, str]) -> ResultTable | None:
    columns = _Columns([], [], [], {}, _Traits(common))
    owns = [result.get("key") or {} for result in results]
    size = 0
    alone: dict[tuple[str, ...], tuple[list[dict[str, str]], list[object]]] = {}
    templates: dict[tuple[str, ...], _Template] = {}
    for own, result in zip(owns, results, strict=True):
        groups = result.get("measurements")
        if groups:
            size += _add_groups(columns, templates, common, own, groups)
            continue
        same = alone.get(names := tuple(own))
        if same is None:
            same = alone[names] = ([], [])
        same[0].append(own)
        same[1].append(result["measurement"])
    for names, (same_owns, values) in alone.items():
        size += _add_alone(columns, _template(common, names, ""), same_owns, values)
    if not _regular(columns.keys, columns.values, size, owns):
        return None
    samples = np.array(columns.values, dtype=np.float64)
    if not np.isfinite(samples).all():
        return None
    traits, which = columns.traits, np.array(columns.codes, dtype=np.intp)
    return ResultTable(
        tuple(columns.keys),
        samples,
        np.arange(len(samples) + 1, dtype=np.int64),
        tuple(traits.units),
        np.array(traits.unit_codes, dtype=np.uint16)[which],
        np.array(traits.better_codes, dtype=np.uint8)[which],
        np.zeros(len(samples), dtype=np.uint8),
        links=columns.links,
    )


class _Columns(NamedTuple):
    """What is gathered: keys, values, codes of traits, and links by index."""

    keys: list[str]
    values: list[object]
    codes: list[int]
    links: dict[int, Mapping[str, str]]
    traits: _Traits


def _add_alone(columns: _Columns, template: _Template, owns: list[dict[str, str]], values: list[object]) -> int:
    """Add results with a single measurement and the same param names; return how many params their keys have."""
    head, head_values, telling = template.head, template.head_values, template.telling
    if head_values is None:
        columns.keys.extend([head % ()] * len(owns))
    else:
        columns.keys.extend([head % head_values(own) for own in owns])
    columns.values.extend(values)
    if telling:
        trait = itemgetter(*telling)
        codes = {told: columns.traits.code(own, "", telling) for told, own in {trait(own): own for own in owns}.items()}
        columns.codes.extend([codes[trait(own)] for own in owns])
    else:
        columns.codes.extend([columns.traits.code({}, "", ())] * len(owns))
    return template.size * len(owns)


def _add_groups(
    columns: _Columns,
    templates: dict[tuple[str, ...], _Template],
    common: dict[str, str],
    own: dict[str, str],
    groups: dict[str, list[dict[str, Any]]],
) -> int:
    """Add a result with groups of measurements; return how many params its keys have."""
    keys, values, codes, links, traits = columns
    size = 0
    for group, singles in groups.items():
        signature = (*own, "\0", group)
        template = templates.get(signature)
        if template is None:
            template = templates[signature] = _template(common, tuple(own), group)
        head, head_values, tail, tail_values, count, telling = template
        head %= () if head_values is None else head_values(own)
        tail %= () if tail_values is None else tail_values(own)
        for single in singles:
            keys.append(head + single["value"] + tail)
            values.append(single["measurement"])
            if len(single) > 2 and single.get("links"):
                links[len(keys) - 1] = {name: str(url) for name, url in single["links"].items()}
        codes.extend([traits.code(own, group, telling)] * len(singles))
        size += len(singles) * count
    return size


class _Traits:
    """Units and directions met so far, under one code for each pair."""

    def __init__(self, common: dict[str, str]) -> None:
        self.units: dict[str, int] = {}
        self.unit_codes: list[int] = []
        self.better_codes: list[int] = []
        self._common = common
        self._codes: dict[tuple[str | None, ...], int] = {}

    def code(self, own: Mapping[str, str], group: str, telling: tuple[str, ...]) -> int:
        """Return the code for a result with the params ``own``, of which ``telling`` tell unit or direction."""
        if group in _TELLING:
            raise KeyError(group)
        trait = (group, *[own.get(name) for name in telling])
        code = self._codes.get(trait)
        if code is None:
            params = {**self._common, **own}
            unit = skia_unit(params, group)
            code = self._codes[trait] = len(self.unit_codes)
            self.unit_codes.append(self.units.setdefault(unit, len(self.units)))
            self.better_codes.append(_BETTERS[skia_better(params, unit)])
        return code


def _regular(keys: list[str], values: list[object], size: int, owns: list[dict[str, str]]) -> bool:
    """Tell whether ``keys``, of ``size`` params in all, are canonical, differ, and have plain numbers."""
    if not keys or not set(map(type, values)) <= {int, float}:
        return False
    if not set(map(type, chain.from_iterable(map(dict.values, owns)))) <= {str}:
        return False
    text = "".join(keys)
    return (
        text.count("=") == size
        and text.count(",") == size + len(keys)
        and not any(sign in text for sign in (_SPACED if " " in text else _BARE))
        and text.isprintable()
        and 4 * max(map(len, keys)) <= MAXIMUM_KEY_BYTES
        and len(set(keys)) == len(keys)
    )
