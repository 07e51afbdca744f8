"""Proposals to change alerts: their kinds, and what people decided about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from knickpoint.model.alert import Alert

__all__ = ["ProposalDecision", "ProposalKind"]


class ProposalKind(Enum):
    """What a proposal does with an alert.

    RAISE the least effect, CALIBRATE the rate of false alarms, MUTE traces, or SPLIT traces that jump between levels off to
    an alert for modes.
    """

    RAISE = "raise"
    CALIBRATE = "calibrate"
    MUTE = "mute"
    SPLIT = "split"


@dataclass(frozen=True, slots=True)
class ProposalDecision:
    """A proposal for ``alert`` that a person accepted or rejected.

    ``change`` says in words what it does, and ``hidden`` how many hidden findings it would have left out. An accepted one has
    the alerts of the store ``before``, None for one that was not there, and ``after``, both by name.
    """

    id: int
    alert: str
    kind: ProposalKind
    accepted: bool
    change: str
    hidden: int
    before: Mapping[str, Alert | None]
    after: Mapping[str, Alert]
    who: str
    time: datetime

    @property
    def name(self) -> str:
        """The name of the proposal, as in ``all:raise``."""
        return f"{self.alert}:{self.kind.value}"
