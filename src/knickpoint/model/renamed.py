"""The names that have been replaced, so that the old ones are refused with the new ones named."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

_RENAMED: Final = {"gate": "schedule", "profile": "recipe"}
"""Old word → new word, of options, commands, sections and values."""


def new_name(name: str, known: Collection[str]) -> str:
    """Return the name in ``known`` that replaced ``name``, "" without one.

    Each word of a name such as --gate-commits counts.
    """
    replaced = re.sub(r"[a-z]+", lambda word: _RENAMED.get(word[0], word[0]), name)
    return replaced if replaced != name and replaced in known else ""
