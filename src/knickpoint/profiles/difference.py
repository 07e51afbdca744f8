"""Find the functions that a change costs: the difference of two sets of profiles, with its doubt.

Files are named as a reader knows them: relative to the repository, and without what leads to a library.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from posixpath import commonpath, dirname, isabs, relpath
from typing import Final

import numpy as np

from knickpoint.model.errors import InputError
from knickpoint.model.plain_text import counted
from knickpoint.model.quantity_text import scale_for, value_text
from knickpoint.model.unit import convert, read_unit
from knickpoint.profiles.attribution import Attribution, CostState, FunctionChange
from knickpoint.profiles.profile import Profile, ValueKind, is_library_file
from knickpoint.profiles.scatter import CostChange, Scatter, cost_change
from knickpoint.profiles.sides import side_of
from knickpoint.profiles.stack_tree import Ints

_BEFORE_LIBRARY: Final = re.compile(
    r"""^.*/(?:site|dist)-packages/ | ^.*/lib(?:64)?/python\d[\d.]*/ | ^.*/node_modules/ | ^/rustc/[^/]+/(?:library/)?
    | ^.*/registry/src/[^/]+/ | ^.*/go/pkg/mod/ | ^.*/go(?:-?[\d.]+)?/(?:[^/]+/){0,2}src/(?=[a-z0-9]+/)
    | ^/usr/(?:local/)?include/ | ^(?:/usr)?/lib(?:64)?/(?:[\w.]+-linux-gnu/)?(?=[^/]+$)""",
    re.VERBOSE,
)
"""What leads to a package: the rest names it."""


def shown_files(files: Iterable[str], find: Callable[[str], str] = lambda _: "") -> Mapping[str, str]:
    """Map the files of profiles to shorter names.

    ``find`` has the path in the repository, "" where it has none. What neither it nor a directory of packages shortens
    is relative to the directory that all such files share.
    """
    found: dict[str, str] = {}
    alone = []
    for file in set(files):
        path = file.replace("\\", "/")
        own = "" if is_library_file(file) else find(file)
        found[file] = own or _BEFORE_LIBRARY.sub("", path, count=1) or path
        if found[file] == path and isabs(path) and not is_library_file(file):
            alone.append(file)
    if alone:
        shared = commonpath([dirname(found[file]) for file in alone])
        found |= {file: relpath(found[file], shared) for file in alone if shared != "/"}
    return found


_TOTAL_DOUBT: Final = 0.05
CAUSE_SHARE: Final = 0.1
"""The share of a known change from which on a function is called its cause."""
_EXPLAINED: Final = 0.5
"""The share of the change below which its causes leave most of it open."""
_MOST_SHARE: Final = 1.2
"""A function explains a part of the whole difference up to this share; what exceeds it stands beside it."""


@dataclass(frozen=True, slots=True)
class Measured:
    """The change that was measured without a profiler, and its interval."""

    difference: float
    low: float
    high: float
    unit: str


@dataclass(frozen=True, slots=True)
class Difference:
    """The functions of two sets of profiles, those that explain most of the difference first.

    ``frames`` has the index of the function of each frame of each profile, before and after. ``shows`` says whether the
    profiles show the change that was measured: their totals agree with it, and the total, or else the function that
    leads, has its direction beyond the scatter. None: no change was given.
    """

    kind: ValueKind
    unit: str
    profiles: tuple[int, int]
    total: CostChange
    functions: tuple[FunctionChange, ...]
    frames: tuple[tuple[Ints, ...], tuple[Ints, ...]] = field(compare=False, repr=False)
    measured: Measured | None = None
    shows: bool | None = None

    def against(self, measured: Measured) -> Difference:
        """Return the same, with whether it shows a change that was measured.

        Raises:
            InputError: that is in a unit of something else.
        """
        known = _in_unit(measured, self.unit)
        functions = _judged(self.functions, known.difference)
        found = _causes(functions, known.difference)
        agrees = self.total.low <= known.high and known.low <= self.total.high
        seen = self.total.difference if self.total.is_certain else found[0].explained.difference if found else 0.0
        return replace(self, functions=functions, measured=known, shows=agrees and seen * known.difference > 0)

    def with_files(self, find: Callable[[str], str] = lambda _: "") -> Difference:
        """Return the same with short names of files; ``find`` has the path in the repository, "" where it has none."""
        names = shown_files((each.file for each in self.functions), find)
        return replace(self, functions=tuple(replace(each, file=names[each.file]) for each in self.functions))

    @property
    def causes(self) -> tuple[FunctionChange, ...]:
        """What explains the difference: those of its direction first; none where it is not shown."""
        return () if self.shows is False else _causes(self.functions, self._change)

    @property
    def _change(self) -> float:
        """The change that is to be explained; 0 where none is known."""
        return self.measured.difference if self.measured else self.total.difference if self.total.is_certain else 0.0

    @property
    def sentence(self) -> str:
        """Return the answer in a sentence."""
        return " ".join(filter(None, (self._answer(), self._doubt())))

    def _answer(self) -> str:
        whole = _signed_text(self.total.difference, self.unit)
        if self.measured and self.shows is False:
            known = _signed_text(self.measured.difference, self.measured.unit)
            total = f"its total changed by {whole} ({_interval(self.total, self.unit)})"
            return f"The profile does not show the measured change of {known}: {total}."
        if not self.causes:
            return self._without_cause(f"the total changed by {whole} ({_interval(self.total, self.unit)})")
        lead = self.causes[0]
        part = _signed_text(lead.explained.difference, self.unit)
        place = f" ({lead.place})" if lead.place else ""
        former = f", {lead.former} before" if lead.former else ""
        more = f", and {counted(len(self.causes) - 1, 'more function')} changed" if len(self.causes) > 1 else ""
        share = lead.explained.difference / self.total.difference if self.total.is_certain else 0.0
        if 0 < share <= _MOST_SHARE:
            rest = "" if self._explained >= _EXPLAINED else " The profiles scatter too much to say where the rest is."
            return f"{part} of {whole} in {lead.name}{place}{former}{more}.{rest}"
        total = f"the total changed by {whole} ({_interval(self.total, self.unit)})"
        return f"{part} in {lead.name}{place}{former}{more}; {total}."

    def _without_cause(self, total: str) -> str:
        """A change without a named function: all are within their scatter, or it has many small parts."""
        known = [each for each in self.functions if each.state is CostState.MINOR]
        if known and self._explained >= _EXPLAINED:
            return f"The change is spread over {counted(len(known), 'function')}, each with a small part; {total}."
        if self.total.is_certain:
            return f"The profiles scatter too much to say which function changed; {total}."
        return f"No function differs by more than its scatter; {total}."

    @property
    def _explained(self) -> float:
        """The share of the change that functions explain together."""
        known = (each for each in self.functions if each.state in {CostState.CAUSE, CostState.MINOR})
        return sum(each.explained.difference for each in known) / self._change if self._change else 1.0

    def _doubt(self) -> str:
        if min(self.profiles) > 1:
            return ""
        scatter = Scatter.of(0.0, exact=self.kind.is_exact).assumed
        return f"One profile a side does not show its scatter: {100 * scatter:g} % from run to run is assumed."


def difference(before: Sequence[Profile], after: Sequence[Profile], measured: Measured | None = None) -> Difference:
    """Compare the profiles of two versions of a program that does the same work in each run.

    Raises:
        InputError: a side has no profile, or they have different kinds of values.
    """
    kind, unit = _one_unit([*before, *after], bool(before) and bool(after))
    counting = _counting([*before, *after])
    table = Attribution(side_of(before), side_of(after), counting, exact=kind.is_exact)
    totals = [np.array([profile.total for profile in side]) for side in (before, after)]
    total = cost_change(totals[0], totals[1], table.scatter, _TOTAL_DOUBT)
    functions = table.functions(total)
    order = sorted(range(len(functions)), key=lambda row: _rank(functions[row]))
    places = np.empty(len(order), dtype=np.int64)
    places[order] = np.arange(len(order))
    base, head = table.frame_rows()
    frames = tuple(places[each] for each in base), tuple(places[each] for each in head)
    ordered = _judged([functions[row] for row in order], total.difference if total.is_certain else 0.0)
    found = Difference(kind, unit, (len(before), len(after)), total, ordered, frames)
    return found.against(measured) if measured is not None else found


def _judged(functions: Iterable[FunctionChange], change: float) -> tuple[FunctionChange, ...]:
    """Tell causes of a change from functions that explain little of it; all are causes where none is known (0)."""
    least = CAUSE_SHARE * abs(change)
    known = {CostState.CAUSE, CostState.MINOR}
    return tuple(
        replace(each, state=CostState.CAUSE if abs(each.explained.difference) >= least else CostState.MINOR)
        if each.state in known
        else each
        for each in functions
    )


def _rank(function: FunctionChange) -> tuple[float, float, str]:
    return -abs(function.explained.difference), -abs(function.own.difference), function.name


def _causes(functions: Iterable[FunctionChange], sign: float) -> tuple[FunctionChange, ...]:
    found = [each for each in functions if each.state is CostState.CAUSE]
    return tuple(
        sorted(found, key=lambda each: (each.explained.difference * sign < 0, -abs(each.explained.difference)))
    )


def _one_unit(profiles: Sequence[Profile], complete: bool) -> tuple[ValueKind, str]:  # noqa: FBT001
    if not complete:
        raise InputError("a side has no profile", remedy="Give at least one profile before and one after.")
    units = sorted({(profile.kind.value, profile.unit) for profile in profiles})
    if len(units) > 1:
        raise InputError(
            f"the profiles have different values: {' and '.join(f'{kind} ({unit})' for kind, unit in units)}",
            remedy="Record both sides with the same profiler, or choose one value with --value.",
        )
    return profiles[0].kind, profiles[0].unit


def _in_unit(measured: Measured, unit: str) -> Measured:
    source, target = read_unit(measured.unit), read_unit(unit)
    if source.dimension != target.dimension:
        raise InputError(
            f"the measured change is in {measured.unit!r}, and the profiles are in {unit!r}",
            remedy="Give the change in the unit of the profiles, or leave it out.",
        )
    change, low, high = (convert(each, source, target) for each in (measured.difference, measured.low, measured.high))
    return Measured(change, low, high, unit)


def _counting(profiles: Sequence[Profile]) -> float:
    """Return the cost that one sample stands for, 0 without samples: a cost times it is its variance by counting."""
    parts = [profile.total / profile.samples for profile in profiles if profile.samples]
    return float(np.mean(parts)) if parts else 0.0


def _signed_text(value: float, unit: str) -> str:
    scale = scale_for(abs(value), unit)
    return ("+" if value > 0 else "") + value_text(value, unit, scale, 3)


def _interval(change: CostChange, unit: str) -> str:
    return f"{_signed_text(change.low, unit)} to {_signed_text(change.high, unit)}"
