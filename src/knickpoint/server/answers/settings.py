"""Read and keep what people set for themselves in the dashboard."""

from __future__ import annotations

from enum import Enum

from knickpoint.model.access import Caller, CallerKind
from knickpoint.model.errors import InputError, NotSignedInError
from knickpoint.server.schemas.settings import SettingsAnswer
from knickpoint.store import Store

__all__ = ["Setting", "put_setting", "read_settings"]


class Setting(Enum):
    """What a person can set. The values are texts that only the dashboard reads."""

    LAST_LOOK = "last-look"
    THEME = "theme"
    TIME_ZONE = "time-zone"
    VIEWS = "views"


def read_settings(store: Store, caller: Caller) -> SettingsAnswer:
    """Return the settings of a caller; those who did not sign in have none here."""
    kept = caller.kind is CallerKind.PERSON
    return SettingsAnswer(kept=kept, values=store.people.get(caller) if kept else {})


def put_setting(store: Store, caller: Caller, name: Setting, value: str) -> SettingsAnswer:
    """Keep a setting of a person.

    Raises:
        NotSignedInError: it is not known who asks.
        InputError: the caller is no person who signed in.
    """
    if caller.kind is CallerKind.ANYONE:
        raise NotSignedInError("settings are kept for people who sign in", where=name.value, remedy="Sign in.")
    if caller.kind is not CallerKind.PERSON:
        raise InputError(
            "the server keeps settings only of people who sign in", where=name.value, remedy="Keep it in the browser."
        )
    store.people.put(caller, name.value, value)
    return read_settings(store, caller)
