"""Clusters: traces of one shape, and the step of that shape."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.change_point import SuspectRange
from knickpoint.model.errors import ParamsError
from knickpoint.model.params import decode_key
from knickpoint.model.step import Check, Step

FINGERPRINT: Final = 20
"""Number of members nearest to the centroid that identify a cluster."""


@dataclass(frozen=True, slots=True)
class ParamCount:
    """The number of members of a cluster with ``name=value``; ``percent`` is of all members, rounded down."""

    name: str
    value: str
    count: int
    percent: int


def count_params(keys: Iterable[str]) -> tuple[ParamCount, ...]:
    """Count each key=value among ``keys``, trace keys; one that is not a trace key has no params.

    Values of one name stay together, the most common first; names come by the share of their most common
    value, and then by name.
    """
    counts: Counter[tuple[str, str]] = Counter()
    total = 0
    for key in keys:
        total += 1
        try:
            counts.update(decode_key(key).items())
        except ParamsError:
            continue
    by_name: dict[str, list[ParamCount]] = {}
    for (name, value), count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        by_name.setdefault(name, []).append(ParamCount(name, value, count, 100 * count // total))
    groups = sorted(by_name.values(), key=lambda group: (-group[0].percent, group[0].name))
    return tuple(count for group in groups for count in group)


@dataclass(frozen=True, eq=False)
class Cluster:
    """Traces whose normalised values look alike.

    Attributes:
        centroid: mean of the normalised members, one value a commit, in standard deviations, float32.
        members: rows of the frame, nearest to the centroid first.
        distances: Euclidean distance of each member to the centroid, along ``members``.
        keys: trace keys along ``members``, empty if the frame has no keys.
        step: the step of the centroid, None if it is too short to have one; sizes are in standard deviations.
        regression: step size / error of the fit, positive when the level goes up; 0 without a step.
        interesting: whether the cluster passed every check.
        evidence: the checks.
    """

    centroid: NDArray[np.float32]
    members: tuple[int, ...]
    distances: tuple[float, ...]
    keys: tuple[str, ...]
    step: Step | None
    regression: float
    interesting: bool
    evidence: tuple[Check, ...]

    @cached_property
    def params(self) -> tuple[ParamCount, ...]:
        """How common each key=value is among the members, the most common names first; counted when first asked for."""
        return count_params(self.keys)

    @property
    def fingerprint(self) -> tuple[str, ...]:
        """Keys of the members nearest to the centroid, by which later runs recognise the cluster."""
        return self.keys[:FINGERPRINT]

    @property
    def size(self) -> int:
        """Number of members."""
        return len(self.members)


@dataclass(frozen=True, slots=True)
class MemberVerdict:
    r"""Whether a trace belongs to a cluster, by its own values at the place of the step.

    ``checks`` are the comparisons that were made, in their order. ``reason`` says in words why the trace does not
    belong, "" where it does. ``size`` is the median of its values after the step less the median before,
    ``relative_size`` that over \|median before\|, ``nan`` where this is 0. ``p_value`` is that of the rank test,
    ``nan`` where it has no answer.
    """

    checks: tuple[Check, ...]
    reason: str
    size: float
    relative_size: float
    p_value: float

    @property
    def belongs(self) -> bool:
        """Whether the trace is a member."""
        return not self.reason


@dataclass(frozen=True, slots=True)
class ClusterMember:
    """A trace that was judged for a cluster; ``distance`` is that of its normalised values to the centroid.

    ``slot`` is the first commit from the step on at which it has a value.
    """

    trace_id: int
    key: str
    slot: int
    distance: float
    verdict: MemberVerdict


@dataclass(frozen=True, slots=True)
class SharedParam:
    """A param that the members of a cluster have in common: how many members have it, and how many other traces do."""

    name: str
    value: str
    members: int
    others: int


@dataclass(frozen=True, eq=False)
class FoundCluster:
    """Traces that moved together at one place, as an alert found them in one group of its traces.

    Attributes:
        group: values of the params that the alert groups by.
        slot: the first commit at the new level.
        previous: the last commit before it at which a trace of the group is measured.
        movement: +1 where the level goes up, -1 where it goes down.
        regression: step size / error of the fit of the centroid, with its sign.
        centroid: mean of the normalised members, one value for each measured commit of the window, in standard
            deviations.
        slots: the commits of the centroid.
        members: those that belong, nearest to the centroid first; equally near ones by trace id.
        left_out: those of the same shape whose own values did not move so, in the same order.
        shared: what the members have in common, first what other traces have least.
        others: number of traces of the group that are not members.
    """

    group: tuple[str, ...]
    slot: int
    previous: int
    movement: int
    regression: float
    centroid: NDArray[np.float32]
    slots: NDArray[np.int64]
    members: tuple[ClusterMember, ...]
    left_out: tuple[ClusterMember, ...]
    shared: tuple[SharedParam, ...]
    others: int


class MemberState(Enum):
    """What a trace is to a cluster now; a former member was one in an earlier run."""

    MEMBER = "member"
    LEFT_OUT = "left out"
    FORMER = "former"


@dataclass(frozen=True, slots=True)
class KeptMember:
    """A trace of a kept cluster: ``rank`` counts from 1, nearest to the centroid first, in each state by itself.

    ``run`` is the run of the alerts since which it is in this state, ``since`` its time. ``joined`` says that it became
    a member after the cluster was found. ``point_id`` is its change point, 0 without one.
    """

    trace_id: int
    key: str
    state: MemberState
    rank: int
    distance: float
    verdict: MemberVerdict
    run: int
    since: datetime | None
    joined: bool
    point_id: int


@dataclass(frozen=True)
class KeptCluster:
    """A cluster that an instance remembers; ``id`` stays as long as later runs find it again.

    ``group`` are the values of the params that the alert groups by. ``run`` is the run that found it, ``found`` its
    time. ``gone`` says that the last run over its group did not find it. ``slots`` are the commits of the ``centroid``.
    ``members`` has members first, then those left out, then former ones, each by rank. The rest is that of
    :class:`FoundCluster`.
    """

    id: int
    alert: str
    group: tuple[str, ...]
    suspect_range: SuspectRange
    movement: int
    regression: float
    centroid: tuple[float, ...]
    slots: tuple[int, ...]
    shared: tuple[SharedParam, ...]
    others: int
    gone: bool
    run: int
    found: datetime | None
    members: tuple[KeptMember, ...] = ()

    @property
    def fingerprint(self) -> tuple[int, ...]:
        """Ids of the members nearest to the centroid, by which a later run recognises the cluster."""
        return tuple(each.trace_id for each in self.members if each.state is MemberState.MEMBER)[:FINGERPRINT]


_SHARED: Final = 0.9
"""Share of the members that have what the cluster has in common."""

_MOST_SHARED: Final = 20


def count_pairs(keys: Iterable[str]) -> Mapping[str, int]:
    """Count each encoded name=value among ``keys``, trace keys, for :func:`shared_params`."""
    counts: Counter[str] = Counter()
    for key in keys:
        counts.update(key.strip(",").split(","))
    return counts


def shared_params(members: Sequence[str], pairs: Mapping[str, int], traces: int) -> tuple[SharedParam, ...]:
    """Return the params that at least nine of ten members share, first those that explain the cluster best.

    ``members`` are trace keys, ``pairs`` what :func:`count_pairs` counts among all ``traces`` of the group, members
    included. A param explains the cluster when members have it and others do not: params come by the difference of the
    two shares, and then by name.
    """
    others = traces - len(members)
    ranked: list[tuple[float, SharedParam]] = []
    for pair, count in count_pairs(members).items():
        if count < _SHARED * len(members):
            continue
        try:
            ((name, value),) = decode_key(f",{pair},").items()
        except (ParamsError, ValueError):
            continue
        outside = pairs.get(pair, count) - count
        difference = count / len(members) - (outside / others if others else 0.0)
        ranked.append((-difference, SharedParam(name, value, count, outside)))
    ranked.sort(key=lambda entry: (entry[0], entry[1].name, entry[1].value))
    return tuple(param for _, param in ranked[:_MOST_SHARED])
