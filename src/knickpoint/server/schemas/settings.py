"""What people set for themselves in the dashboard."""

from __future__ import annotations

from pydantic import Field

from knickpoint.server.schemas.base import Answer, Text

__all__ = ["SettingRequest", "SettingsAnswer"]


class SettingsAnswer(Answer):
    """What the caller set in the dashboard."""

    kept: bool = Field(
        description="Whether the server keeps the settings of this caller: of people who signed in. Otherwise the browser "
        "keeps them."
    )
    values: dict[str, str]


class SettingRequest(Answer):
    """The new value of a setting."""

    value: Text = Field(max_length=20_000)
