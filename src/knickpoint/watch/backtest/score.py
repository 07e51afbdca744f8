"""Compare what a replay announced with the labels: found, lost, noise, avoided, new."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from knickpoint.model.notification import AnnouncementKind
from knickpoint.model.quality import Label
from knickpoint.watch.backtest.history import PlacedLabel, ReplayHistory
from knickpoint.watch.backtest.replay import Replay, ReplayedFinding
from knickpoint.watch.identity import StepLocation, match_points
from knickpoint.watch.quality.report import Rate


class Outcome(Enum):
    """What became of one label or of one announced finding.

    FOUND and LOST are real changes, announced or not. NOISE was announced although people hid it, AVOIDED was hidden
    and is not announced. UNDECIDED was announced and is a finding without a decision, NEW was announced and is no
    finding so far.
    """

    FOUND = "found"
    LOST = "lost"
    NOISE = "noise"
    AVOIDED = "avoided"
    UNDECIDED = "undecided"
    NEW = "new"


@dataclass(frozen=True, slots=True)
class ScoredFinding:
    """One line of the result: a label, the announced finding that is the same change, or both.

    ``position`` is that of the announced finding, else of the label. ``delay`` is in values, None where nothing was
    announced.
    """

    outcome: Outcome
    trace_key: str
    position: int
    relative_size: float
    name: str = ""
    delay: int | None = None
    chain: int = 0


@dataclass(frozen=True, slots=True)
class Score:
    """How an alert would have done.

    ``precision`` is the share of the real changes among the announced findings with a label, ``recall`` the share of
    the real changes that were announced. ``delays`` are the values from each found change to its announcement,
    ascending. ``chains`` counts the announced changes by what people say of their findings, each once: the first of
    real, noise and undecided that one of them is. ``announcements`` counts all rows of the ledger by kind.
    """

    findings: tuple[ScoredFinding, ...]
    chains: Mapping[Label, int]
    announcements: Mapping[AnnouncementKind, int]

    def count(self, outcome: Outcome) -> int:
        """Return the number of findings with ``outcome``."""
        return sum(each.outcome is outcome for each in self.findings)

    @property
    def precision(self) -> Rate:
        """FOUND among FOUND and NOISE."""
        found = self.count(Outcome.FOUND)
        return Rate(found, found + self.count(Outcome.NOISE))

    @property
    def recall(self) -> Rate:
        """FOUND among FOUND and LOST."""
        found = self.count(Outcome.FOUND)
        return Rate(found, found + self.count(Outcome.LOST))

    @property
    def delays(self) -> tuple[int, ...]:
        """The delays of what was FOUND."""
        found = (each.delay for each in self.findings if each.outcome is Outcome.FOUND)
        return tuple(sorted(delay for delay in found if delay is not None))

    def delay(self, percentile: float) -> float:
        """Return a percentile of the delays, nan without any."""
        return float(np.percentile(self.delays, percentile)) if self.delays else float("nan")

    @property
    def messages(self) -> int:
        """How many messages one recipient of everything would have got, each announcement at once."""
        return sum(self.announcements.values())


def score(history: ReplayHistory, replayed: Replay, labels: Sequence[PlacedLabel]) -> Score:
    """Match announced findings with ``labels`` behind the start, trace by trace, by the rule of identity."""
    rows = {trace.id: row for row, trace in enumerate(history.traces)}
    in_row: dict[int, list[PlacedLabel]] = defaultdict(list)
    for label in labels:
        if label.position > history.start and label.trace_id in rows:
            in_row[rows[label.trace_id]].append(label)
    announced: dict[int, list[ReplayedFinding]] = defaultdict(list)
    for finding in replayed.findings:
        announced[finding.trace].append(finding)

    scored: list[ScoredFinding] = []
    chains: dict[int, set[Label]] = defaultdict(set)
    for row in sorted({*in_row, *announced}):
        for each in _score_row(history, row, in_row[row], announced[row]):
            scored.append(each)
            if each.chain:
                chains[each.chain].add(_LABELS[each.outcome])
    order = list(Label)
    heard = [min(labels_of_chain, key=order.index) for labels_of_chain in chains.values()]
    return Score(tuple(scored), {label: heard.count(label) for label in Label}, replayed.announcements)


_LABELS: Mapping[Outcome, Label] = {
    Outcome.FOUND: Label.REAL,
    Outcome.NOISE: Label.NOISE,
    Outcome.UNDECIDED: Label.UNDECIDED,
    Outcome.NEW: Label.UNDECIDED,
}


def _score_row(
    history: ReplayHistory, row: int, labels: Sequence[PlacedLabel], findings: Sequence[ReplayedFinding]
) -> list[ScoredFinding]:
    measured = np.flatnonzero(~np.isnan(history.values[row]))

    def locate(each: PlacedLabel | ReplayedFinding) -> StepLocation:
        rank = int(np.searchsorted(measured, each.position))
        return StepLocation(each.previous, each.position, rank, each.movement, each.interval)

    # Decisions first: where a hidden and a real change are near to each other, an undecided one takes neither.
    partner: dict[int, PlacedLabel] = {}
    matched: set[int] = set()
    for wanted in (True, False):
        chosen = [label for label in labels if (label.label is not Label.UNDECIDED) is wanted]
        for i, j in match_points([locate(each) for each in chosen], [locate(each) for each in findings], taken=partner):
            partner[j] = chosen[i]
            matched.add(id(chosen[i]))
    key = history.traces[row].key
    found = [_announced(key, finding, partner.get(j)) for j, finding in enumerate(findings)]
    found += [
        ScoredFinding(
            Outcome.LOST if label.label is Label.REAL else Outcome.AVOIDED,
            key,
            label.position,
            label.relative_size,
            label.name,
        )
        for label in labels
        if id(label) not in matched and label.label is not Label.UNDECIDED
    ]
    return sorted(found, key=lambda each: (each.position, each.outcome.value, each.name))


def _announced(key: str, finding: ReplayedFinding, label: PlacedLabel | None) -> ScoredFinding:
    """Return the line of an announced finding with its label; missed or withdrawn, what was announced was announced."""
    outcome = Outcome.NEW if label is None else _OUTCOMES[label.label]
    name = label.name if label else ""
    return ScoredFinding(
        outcome, key, finding.position, finding.relative_size, name, delay=finding.delay, chain=finding.chain
    )


_OUTCOMES: Mapping[Label, Outcome] = {
    Label.REAL: Outcome.FOUND,
    Label.NOISE: Outcome.NOISE,
    Label.UNDECIDED: Outcome.UNDECIDED,
}
