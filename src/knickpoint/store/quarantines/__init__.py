"""Quarantined results: which runs and why, which findings are held because of them, and calls of hooks."""

from knickpoint.store.quarantines.hook_calls import HookCall, HookCalls, HookState
from knickpoint.store.quarantines.quarantines import Quarantines, StoredQuarantine

__all__ = ["HookCall", "HookCalls", "HookState", "Quarantines", "StoredQuarantine"]
