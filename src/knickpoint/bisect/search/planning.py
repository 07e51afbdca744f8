"""Planning: which places to measure next, on which devices, and which probes are no longer worth their answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.bisect.search.problem import Observation, PlannedProbe, Problem
from knickpoint.bisect.search.standing import Standing, in_turn
from knickpoint.model.bisection import ProbePurpose

_OPEN: Final = 0.005
"""A place is worth measuring while both answers have at least this probability."""

_LITTLE: Final = 2.0
"""An answer says little where another one is so many times as open."""

_DENIES: Final = 3
"""The side of a culprit that denies the likelier half of "none" is measured so many times per time of the other."""

_ENDS_DIFFER: Final = 0.2
"""The ends are measured again while "no commit made the change" has at least this probability."""


_LEAST_GAIN: Final = 1e-3
"""What a value of an end says at least, in nats; ends that say as much are measured as often."""

_ENDS_AGREE: Final = 0.02
"""And while one change has at least this probability.

Below it, only two that cancel each other are left to look for.
"""


def plan(
    problem: Problem,
    observations: Sequence[Observation],
    under_way: Sequence[PlannedProbe],
    devices: Sequence[str],
) -> tuple[PlannedProbe, ...]:
    """Return the probes to start now, at most one for each free device.

    First the ends, both on one device; then places at the quantiles of the posterior, so that what is under way and
    what is new divide it evenly; last the culprit and its parent, on one device. Fewer than devices where no more is
    worth it.
    """
    return plan_of(Standing(problem, observations), under_way, devices)


def moot(
    problem: Problem, observations: Sequence[Observation], under_way: Sequence[PlannedProbe]
) -> tuple[PlannedProbe, ...]:
    """Return the probes under way that are no longer worth their answer: it is known, or the search has ended."""
    return moot_of(Standing(problem, observations), under_way)


def plan_of(standing: Standing, under_way: Sequence[PlannedProbe], devices: Sequence[str]) -> tuple[PlannedProbe, ...]:
    """Plan as :func:`plan` does, from a standing."""
    free = list(devices)
    if not free or _has_ended(standing):
        return ()
    if standing.culprits:
        return _verify(standing, under_way, free)
    if standing.likely_culprits:
        return _confirm(standing, under_way, free)
    ends = _ends(standing, under_way, free)
    for probe in ends:
        free.remove(probe.device)
    return (*ends, *_search(standing, (*under_way, *ends), free))


def moot_of(standing: Standing, under_way: Sequence[PlannedProbe]) -> tuple[PlannedProbe, ...]:
    """Answer as :func:`moot` does, from a standing."""
    if _has_ended(standing):
        return tuple(under_way)
    worth = _worth(standing)
    return tuple(p for p in under_way if p.purpose is ProbePurpose.SEARCH and not worth[p.place])


def _worth(standing: Standing) -> NDArray[np.bool_]:
    """Return the places that are worth a probe; shape (candidates + 1,)."""
    before = standing.change_at_or_before
    worth = (before >= _OPEN) & (before <= 1 - _OPEN)
    if not worth.any():
        worth[_around_the_likeliest(standing)] = True
    if standing.problem.error is not None and not standing.exact:
        worth |= standing.doubt >= _OPEN
    if _between(standing):
        worth[1:-1] = True
    worth[[place for number in standing.likely_culprits for place in standing.sides_of(number)]] = True
    return worth


def _has_ended(standing: Standing) -> bool:
    return standing.not_reproducible or standing.verified


def _verify(standing: Standing, under_way: Sequence[PlannedProbe], free: Sequence[str]) -> tuple[PlannedProbe, ...]:
    """Measure culprit and parent in turns on one device; on that which measured more of them so far."""
    planned: list[PlannedProbe] = []
    left = list(free)
    for number in standing.culprits:
        running = {probe.place for probe in under_way if probe.purpose is ProbePurpose.VERIFY}
        sides = standing.sides_of(number)
        if not standing.unverified(number) or running.intersection(sides):
            continue
        if standing.problem.error is None:
            device = min(left, key=lambda name: len(standing.lacking(number, name)), default="")
            places = standing.lacking(number, device)[:1]
        else:
            places = standing.lacking(number, "")
        for place in places[: len(left)]:
            device = min(left, key=lambda name: len(standing.lacking(number, name)))
            left.remove(device)
            planned.append(PlannedProbe(place, device, ProbePurpose.VERIFY))
    return tuple(planned)


def _confirm(standing: Standing, under_way: Sequence[PlannedProbe], free: Sequence[str]) -> tuple[PlannedProbe, ...]:
    """Measure culprit and parent again, until it is sure that there was a change.

    Values are measured in turns on each device. Of answers, the parent denies that the change was earlier, or that all
    is at the level of the bad end; the culprit that it is later, or that all is at that of the good end. The side that
    is more open has more probes.
    """
    sides = [place for number in standing.likely_culprits for place in standing.sides_of(number)]
    if not sides:
        return ()
    made = [(o.place, o.device) for o in standing.observations] + [(probe.place, probe.device) for probe in under_way]
    denying = _denying_sides(standing)
    planned: list[PlannedProbe] = []
    for device in _by_experience(standing, free):
        if standing.problem.error is None:
            place = in_turn(sides, [place for place, on in made if on == device])[0]
        else:
            counts = Counter(place for place, _ in made)
            place = min(sides, key=lambda side: ((counts[side] + 1) * (1 if side in denying else _DENIES), side))
        made.append((place, device))
        purpose = ProbePurpose.VERIFY if standing.change_is_sure else _purpose(standing, place)
        planned.append(PlannedProbe(place, device, purpose))
    return tuple(planned)


def _denying_sides(standing: Standing) -> set[int]:
    """Return the side of each likely culprit that denies the likelier way in which it is wrong."""
    denying: set[int] = set()
    for number in standing.likely_culprits:
        earlier, later = standing.beside(number)
        denying.update(standing.sides_of(number)[:1] if earlier > later else standing.sides_of(number)[1:])
    return denying


def _purpose(standing: Standing, place: int) -> ProbePurpose:
    return ProbePurpose.END if place in {0, standing.problem.candidates} else ProbePurpose.SEARCH


def _ends(standing: Standing, under_way: Sequence[PlannedProbe], free: Sequence[str]) -> tuple[PlannedProbe, ...]:
    """Measure the ends, values on one device, until it is clear that they differ."""
    problem = standing.problem
    running = [probe for probe in under_way if probe.purpose is ProbePurpose.END]
    wanted = _wanted_ends(standing, [probe.place for probe in running])
    if problem.error is not None:
        return tuple(PlannedProbe(p, d, ProbePurpose.END) for p, d in zip(wanted, free, strict=False))
    if not wanted or running:
        return ()
    measured = Counter(o.device for o in standing.observations if o.place in {0, problem.candidates})
    usual = max(measured, key=lambda name: (measured[name], name), default="")
    if usual not in free and any(probe.device == usual for probe in under_way):
        return ()  # the device of the ends is busy, and goes on with them when it is free
    device = usual if usual in free else free[0]
    own = Counter(o.place for o in standing.observations if o.device == device)
    gains = standing.gain(device, wanted) if len(own) > 1 else np.zeros(len(wanted))
    place = min(zip(wanted, gains, strict=True), key=lambda end: (own[end[0]] + 1) / (end[1] + _LEAST_GAIN))[0]
    return (PlannedProbe(place, device, ProbePurpose.END),)


def _wanted_ends(standing: Standing, running: Sequence[int]) -> list[int]:
    """Return the ends that need another value, the one with fewer values first."""
    problem = standing.problem
    known = problem.error is not None or (problem.before.count > 0 and problem.after.count > 0)
    if standing.ends_are_certain and known:
        return []
    ends = [place for place in (0, problem.candidates) if place not in problem.skipped]
    counts = {place: standing.count_at(place, running) for place in ends}
    least = 1 if known else 2
    posterior = standing.belief.posterior
    changed = float(posterior.single.sum())
    open_ends = _ENDS_DIFFER < standing.without_change < problem.probability
    unclear = not standing.exact and open_ends and changed > _ENDS_AGREE
    if unclear and problem.error is not None and not standing.unseen_ends:
        return _denying_end(standing, counts)
    if unclear and min(counts.values(), default=0) >= least:
        return sorted(ends, key=lambda place: counts[place])
    enough = max(least, min(counts.values(), default=0) + 1 if unclear else 0)
    return sorted((place for place in ends if counts[place] < enough), key=lambda place: counts[place])


def _denying_end(standing: Standing, counts: Mapping[int, int]) -> list[int]:
    """Return the end whose answers may deny the likelier half of "none".

    At times the other one, whose rate counts too.
    """
    belief = standing.belief
    denying = 0 if belief.none_after > belief.none_before else standing.problem.candidates
    return sorted(counts, key=lambda place: (counts[place] + 1) * (1 if place == denying else _DENIES))[:1]


def _search(standing: Standing, under_way: Sequence[PlannedProbe], free: Sequence[str]) -> tuple[PlannedProbe, ...]:
    """Divide the posterior evenly with what is under way; the device that has measured most takes the middle."""
    problem = standing.problem
    before = _focus(standing)
    running = [before[probe.place] for probe in under_way if probe.purpose is not ProbePurpose.END]
    shares = len(running) + len(free) + 1
    targets = [number / shares for number in range(1, shares)]
    for position in running:
        targets.remove(min(targets, key=lambda target: abs(target - position)))
    usable = (before >= _OPEN) & (before <= 1 - _OPEN)
    usable[[place for place in problem.skipped if place <= problem.candidates]] = False
    made = [o.place for o in standing.observations] + [probe.place for probe in under_way]
    if standing.exact:
        usable[made] = False
    elif _between(standing):
        usable &= _least_measured(standing, made)
    places = _at_quantiles(before, targets, usable, problem.costs, repeats=not standing.exact)
    if not places and not under_way and not standing.exact:
        places = _around_the_likeliest(standing)
    ordered = _by_experience(standing, free)
    places = _with_references(standing, _with_open_answers(standing, places), ordered)
    return tuple(
        PlannedProbe(place, device, _purpose(standing, place)) for place, device in zip(places, ordered, strict=False)
    )


def _least_measured(standing: Standing, made: Sequence[int]) -> NDArray[np.bool_]:
    """Return the places with the fewest probes: where two changes may cancel out, no place is known to be best."""
    counts = np.bincount(made, minlength=standing.problem.candidates + 1).astype(np.float64)
    counts[[0, -1, *(place for place in standing.problem.skipped if place < len(counts))]] = np.inf
    return np.asarray(counts == counts.min())


def _with_open_answers(standing: Standing, places: Sequence[int]) -> list[int]:
    """Replace places that say little by the one whose answer is most open, as an end that contradicts its neighbours.

    Quantiles take two changes for the one or the other, and so they may return to a place whose answer is known.
    """
    problem = standing.problem
    if problem.error is None or standing.exact or problem.several <= 0:
        return list(places)
    doubt = standing.doubt.copy()
    doubt[[place for place in problem.skipped if place <= problem.candidates]] = 0.0
    most = int(np.argmax(doubt))
    return [most if doubt[place] * _LITTLE < doubt[most] else place for place in places]


def _with_references(standing: Standing, places: Sequence[int], devices: Sequence[str]) -> list[int]:
    """Put an end in place of a place whose value would say less, since a level is hardly known.

    Without values of both levels from these devices, "another device" explains a level as well as a change does.
    """
    problem = standing.problem
    if problem.error is not None or not standing.observations:
        return list(places)
    if _between(standing) or standing.belief.posterior.several > 0.5:
        return list(places)  # the gain knows of one change at most
    ends = [end for end in (0, problem.candidates) if end not in problem.skipped]
    chosen: list[int] = []
    for place, device in zip(places, devices, strict=False):
        options = [place, *(end for end in ends if end not in chosen)]
        chosen.append(options[int(np.argmax(standing.gain(device, options)))])
    return chosen


def _focus(standing: Standing) -> NDArray[np.float64]:
    """Return the cumulative posterior to divide; where two changes are likely, that of the one that is less clear.

    Where the ends agree, only two changes that cancel each other are left: the one that is first lies before a place
    between them, so that the places in doubt are those of the changes alone.
    """
    before = standing.change_at_or_before
    if _between(standing):
        return standing.raised
    if standing.belief.posterior.several <= 0.5:
        return before
    halves = [np.clip(2 * before, 0.0, 1.0), np.clip(2 * before - 1, 0.0, 1.0)]
    return max(halves, key=lambda half: 1.0 - float(np.diff(half).max()))


def _between(standing: Standing) -> bool:
    """Return True if the ends agree, so that only changes that cancel each other are left to look for."""
    posterior = standing.belief.posterior
    agree = posterior.none > _ENDS_DIFFER and float(posterior.single.sum()) <= _ENDS_AGREE
    return agree or (standing.without_change >= standing.problem.probability and standing.unseen_between > 0)


def _at_quantiles(
    before: NDArray[np.float64],
    targets: Sequence[float],
    usable: NDArray[np.bool_],
    costs: NDArray[np.float64] | None,
    *,
    repeats: bool,
) -> list[int]:
    """Return the places nearest to the targets, the middle first; a cheaper place may be a little off its target."""
    usable = usable.copy()
    chosen: list[int] = []
    for target in sorted(targets, key=lambda value: abs(value - 0.5)):
        open_places = np.flatnonzero(usable)
        if not len(open_places):
            break
        off = np.abs(before[open_places] - target) * (len(targets) + 1)
        price = off if costs is None else costs[open_places] * (1 + 4 * off**2)
        place = int(open_places[np.argmin(price)])
        chosen.append(place)
        usable[place] = repeats
    return chosen


def _around_the_likeliest(standing: Standing) -> list[int]:
    """Return the likeliest culprit and its parent, the one with fewer values first."""
    candidates = standing.candidates_of(int(np.argmax(standing.class_probability)))
    sides = [place for place in (candidates[0] - 1, candidates[-1]) if place not in standing.problem.skipped]
    return sorted(sides, key=standing.count_at)


def _by_experience(standing: Standing, free: Sequence[str]) -> list[str]:
    measured = Counter(observation.device for observation in standing.observations)
    return sorted(free, key=lambda name: -measured[name])
