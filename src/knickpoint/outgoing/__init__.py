"""The one rule for addresses that the program contacts: which hosts it may reach, and how it reaches them safely."""

from knickpoint.outgoing.fetch import Fetched, Network, NoAnswerError, fetch
from knickpoint.outgoing.rule import OutgoingAddress, OutgoingRule, OutgoingSettings, check_address

__all__ = [
    "Fetched",
    "Network",
    "NoAnswerError",
    "OutgoingAddress",
    "OutgoingRule",
    "OutgoingSettings",
    "check_address",
    "fetch",
]
