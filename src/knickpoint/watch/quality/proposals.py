"""Proposals: changes of alerts that would have left out much of what people hid, and little of what they kept.

Each names the settings that it changes and the counts behind it. A person accepts it or not: nothing is changed here.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from knickpoint.detect.methods.default.model import FALSE_ALARMS, default_bound, rate_of_bound
from knickpoint.model.alert import Alert
from knickpoint.model.params import decode_key
from knickpoint.model.quality import FindingRecord, Label, ProposalKind
from knickpoint.model.quantity_text import figure_text
from knickpoint.model.query import QueryTerm, parse_query
from knickpoint.model.settlement import FindingKind
from knickpoint.watch.detection.alert_settings import depends_on_group

_LEAST_HIDDEN: Final = 5
"""Hidden findings of an alert from which a proposal is made: fewer may be chance."""

_LEAST_SHARE: Final = 0.3
"""Share of the hidden findings that a proposal has to leave out."""

_MOST_REAL: Final = 0.02
"""Share of the real findings that it may leave out."""

_ENOUGH: Final = 0.8
"""Share of the hidden findings at which no further traces are named."""

_ROUNDING: Final = 1000
"""Effects are proposed in steps of 0.1 %."""

_LEAST_DECIDED: Final = 20
"""Decided findings of an alert from which its rate of false alarms is calibrated."""

_LEAST_RATE: Final = 1e-4
"""The smallest rate of false alarms that is proposed."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A change of ``alert``: ``changed`` takes its place, and with SPLIT a second alert comes.

    ``hidden`` of ``all_hidden`` hidden findings of the alert and ``real`` of ``all_real`` real ones would not have been
    reported by it. ``traces`` are those with hidden findings that it is about.
    """

    kind: ProposalKind
    alert: Alert
    changed: tuple[Alert, ...]
    hidden: int
    all_hidden: int
    real: int
    all_real: int
    traces: int

    @property
    def name(self) -> str:
        """The name by which a person accepts it, as in ``all:raise``."""
        return f"{self.alert.name}:{self.kind.value}"

    @property
    def reason(self) -> str:
        """The counts behind it, in words."""
        if self.kind is ProposalKind.CALIBRATE:
            bound = default_bound(_rate_of(self.changed[0]))
            return (
                f"{self.hidden} of {self.all_hidden} hidden findings and {self.real} of {self.all_real} real changes "
                f"have log-odds below {bound:.2f}"
            )
        noun = "trace" if self.traces == 1 else "traces"
        share = self.hidden / self.all_hidden
        return (
            f"{self.traces} {noun} made {figure_text(share, '.0%')} of what was hidden ({self.hidden} of "
            f"{self.all_hidden}); {self.real} of {self.all_real} real changes would go"
        )

    @property
    def change(self) -> str:
        """What it does, in words."""
        first = self.changed[0]
        if self.kind is ProposalKind.RAISE:
            return f"minimum_effect {self.alert.minimum_effect:g} → {first.minimum_effect:g}"
        if self.kind is ProposalKind.CALIBRATE:
            return f"false_alarms {_rate_of(self.alert):g} → {_rate_of(first):g}"
        if self.kind is ProposalKind.MUTE:
            return f"query → {first.query}"
        second = self.changed[1]
        return f"query → {first.query}; new alert {second.name}: query {second.query}, method {second.method}"


def propose(records: Iterable[FindingRecord], alerts: Sequence[Alert]) -> list[Proposal]:
    """Return the proposals for ``alerts`` by the labels of ``records``, those that leave out most first.

    Of two kinds for one alert, a person takes one: the other is proposed again as far as it still holds.
    """
    listed = list(records)
    found = [proposal for alert in alerts for proposal in _for_alert(alert, listed)]
    return sorted(found, key=lambda each: (-each.hidden, each.real, each.name))


def _for_alert(alert: Alert, records: Iterable[FindingRecord]) -> Iterator[Proposal]:
    own = [record for record in records if alert.name in record.methods]
    noise = [record for record in own if record.label is Label.NOISE]
    real = [record for record in own if record.label is Label.REAL]
    if len(noise) < _LEAST_HIDDEN:
        return
    for make in (_raise, _calibrate, _mute, _split):
        proposal = make(alert, noise, real)
        if proposal is not None and proposal.hidden >= _LEAST_SHARE * len(noise):
            yield proposal


def _made(
    kind: ProposalKind,
    alert: Alert,
    changed: tuple[Alert, ...],
    *,
    noise: Sequence[FindingRecord],
    real: Sequence[FindingRecord],
    dropped: Sequence[FindingRecord],
) -> Proposal:
    hidden = [record for record in dropped if record.label is Label.NOISE]
    return Proposal(
        kind,
        alert,
        changed,
        hidden=len(hidden),
        all_hidden=len(noise),
        real=len(dropped) - len(hidden),
        all_real=len(real),
        traces=len({record.trace_id for record in hidden}),
    )


# Raise


def _raise(alert: Alert, noise: Sequence[FindingRecord], real: Sequence[FindingRecord]) -> Proposal | None:
    """Propose the least effect that keeps the real findings but for a few, just above the largest hidden one below."""
    kept = sorted(abs(record.relative_size) for record in real)
    allowed = int(_MOST_REAL * len(kept))
    bound = kept[allowed] if kept else math.inf
    below = [abs(record.relative_size) for record in noise if abs(record.relative_size) < bound]
    if not below:
        return None
    effect = math.floor(max(below) * _ROUNDING + 1) / _ROUNDING
    if effect > bound:
        effect = math.floor(bound * _ROUNDING) / _ROUNDING
    if not effect > alert.minimum_effect or math.isinf(effect):
        return None
    dropped = [record for record in (*noise, *real) if abs(record.relative_size) < effect]
    changed = replace(alert, minimum_effect=effect)
    return _made(ProposalKind.RAISE, alert, (changed,), noise=noise, real=real, dropped=dropped)


# Calibrate


def _calibrate(alert: Alert, noise: Sequence[FindingRecord], real: Sequence[FindingRecord]) -> Proposal | None:
    """Propose the rate of false alarms whose bound keeps the real steps but for a few, and no hidden one below them."""
    if alert.method != "default":
        return None
    scored = [[each for each in several if _has_log_odds(each, alert)] for several in (noise, real)]
    if sum(map(len, scored)) < _LEAST_DECIDED:
        return None
    most = default_bound(_LEAST_RATE)
    kept = sorted(record.score for record in scored[1])
    allowed = int(_MOST_REAL * len(kept))
    limit = min(kept[allowed], most) if kept else most
    below = [record.score for record in scored[0] if record.score < limit]
    if not below or not max(below) >= default_bound(_rate_of(alert)):
        return None
    rate = max(_LEAST_RATE, _rounded_down(rate_of_bound(max(below)), 2))
    if default_bound(rate) > limit:  # so close to what is real that two digits are too coarse
        rate = rate_of_bound(limit)
    dropped = [record for several in scored for record in several if record.score < default_bound(rate)]
    changed = replace(alert, parameters={**alert.parameters, "false_alarms": rate})
    return _made(ProposalKind.CALIBRATE, alert, (changed,), noise=noise, real=real, dropped=dropped)


def _rate_of(alert: Alert) -> float:
    return float(alert.parameters.get("false_alarms", FALSE_ALARMS))


def _has_log_odds(record: FindingRecord, alert: Alert) -> bool:
    """Return True if the score of a finding is the log-odds of the default method, by which no other alert found it."""
    default = set(record.methods.values()) == {alert.method}
    return default and record.kind is FindingKind.STEP and math.isfinite(record.score)


def _rounded_down(rate: float, digits: int) -> float:
    unit = 10.0 ** (math.floor(math.log10(rate)) - digits + 1)
    return float(f"{(math.ceil(rate / unit) - 1) * unit:.{digits}g}")


# Mute and split: by values of one param, because that is what a query can name.


def _mute(alert: Alert, noise: Sequence[FindingRecord], real: Sequence[FindingRecord]) -> Proposal | None:
    """Propose to leave out the values of one param that made most of what was hidden, and next to nothing real."""
    chosen = _noisy_values(noise, real, len(real))
    if chosen is None:
        return None
    name, values = chosen
    muted = replace(alert, query=_with_term(alert, QueryTerm(name, refused=values)))
    dropped = [record for record in (*noise, *real) if decode_key(record.trace_key).get(name) in values]
    return _made(ProposalKind.MUTE, alert, (muted,), noise=noise, real=real, dropped=dropped)


def _split(alert: Alert, noise: Sequence[FindingRecord], real: Sequence[FindingRecord]) -> Proposal | None:
    """Propose an alert for modes over the traces whose hidden findings go up and down."""
    if alert.method == "modes" or depends_on_group(alert):
        return None
    movements: dict[int, set[int]] = defaultdict(set)
    for record in noise:
        movements[record.trace_id].add(record.movement)
    jumping = [record for record in noise if len(movements[record.trace_id]) > 1]
    chosen = _noisy_values(jumping, real, len(real))
    if chosen is None:
        return None
    name, values = chosen
    rest = replace(alert, query=_with_term(alert, QueryTerm(name, refused=values)))
    modes = replace(
        alert,
        name=f"{alert.name}-modes",
        query=str(parse_query(alert.query).without(name).with_term(QueryTerm(name, values=values))),
        method="modes",
        parameters={},
    )
    dropped = [record for record in (*noise, *real) if decode_key(record.trace_key).get(name) in values]
    return _made(ProposalKind.SPLIT, alert, (rest, modes), noise=noise, real=real, dropped=dropped)


def _noisy_values(
    noise: Sequence[FindingRecord], real: Sequence[FindingRecord], all_real: int
) -> tuple[str, tuple[str, ...]] | None:
    """Return the param and its values that cover most of ``noise`` and almost nothing of ``real``, None for none."""
    hidden = _counts(noise)
    kept = _counts(real)
    best: tuple[int, int, str, tuple[str, ...]] | None = None
    for name, counts in sorted(hidden.items()):
        covered, lost, values = 0, 0, []
        for value, count in sorted(counts.items(), key=lambda each: (-each[1], each[0])):
            cost = kept.get(name, Counter())[value]
            if lost + cost > _MOST_REAL * all_real:
                continue
            covered, lost = covered + count, lost + cost
            values.append(value)
            if covered >= _ENOUGH * len(noise):
                break
        # A param with one value for all of them says nothing about which traces are noisy.
        if values and len({**counts, **kept.get(name, Counter())}) > len(values):
            candidate = (-covered, len(values), name, tuple(values))
            best = candidate if best is None else min(best, candidate)
    return None if best is None else (best[2], best[3])


def _counts(records: Iterable[FindingRecord]) -> dict[str, Counter[str]]:
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for record in records:
        for name, value in decode_key(record.trace_key).items():
            found[name][value] += 1
    return found


def _with_term(alert: Alert, term: QueryTerm) -> str:
    return str(parse_query(alert.query).with_term(term))
