"""The settings of outgoing requests."""

from __future__ import annotations

from dataclasses import dataclass

from knickpoint.outgoing.rule import OutgoingRule


@dataclass(frozen=True, slots=True)
class OutgoingSettings:
    """The hosts that the program may contact beside those of the public Internet; ``[outgoing]``.

    It applies to addresses from elsewhere: events, requests, redirects, what a provider names. Addresses in this file
    are always contacted.

    Attributes:
        allow: networks and host names, as in `["10.1.0.0/16", "tracker.internal"]`. Other private, loopback and
            link-local addresses are refused.
    """

    allow: tuple[str, ...] = ()

    @property
    def rule(self) -> OutgoingRule:
        """The rule that every outgoing request follows."""
        return OutgoingRule(self.allow)
