"""The bisections of an instance: asked for by people or by rule, coordinated by workers, put onto their findings."""

from knickpoint.instance.bisections.requests import fitting_recipes, plan_bisection, request_bisection, stop_bisection
from knickpoint.instance.bisections.runs import (
    LEASE_SECONDS,
    import_waiting_results,
    run_bisection,
    run_claimed_bisection,
)
from knickpoint.instance.bisections.store_journal import StoreJournal

__all__ = [
    "LEASE_SECONDS",
    "StoreJournal",
    "fitting_recipes",
    "import_waiting_results",
    "plan_bisection",
    "request_bisection",
    "run_bisection",
    "run_claimed_bisection",
    "stop_bisection",
]
