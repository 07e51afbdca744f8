"""The bisections of an instance: asked for by people or by rule, coordinated by workers, put onto their findings."""

from knickpoint.instance.bisections.requests import fitting_profiles, request_bisection, stop_bisection
from knickpoint.instance.bisections.store_journal import StoreJournal

__all__ = [
    "StoreJournal",
    "fitting_profiles",
    "request_bisection",
    "stop_bisection",
]
