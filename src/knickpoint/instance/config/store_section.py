"""Write another place of the store into the text of a configuration."""

from __future__ import annotations

import re
import tomllib
from typing import Final

from knickpoint.instance.config.toml_text import copied, literal, written

__all__ = ["with_store"]

_REPLACED: Final = ("location", "replicas")
_SECTION: Final = re.compile(r"^[ \t]*\[[ \t]*store[ \t]*\][^\n]*\n?", re.MULTILINE)
_NEXT_SECTION: Final = re.compile(r"^[ \t]*\[", re.MULTILINE)
_PLACE: Final = re.compile(rf"^[ \t]*(?:{'|'.join(_REPLACED)})[ \t]*=[^\n]*(?:\n|\Z)", re.MULTILINE)


def with_store(text: str, location: str) -> str:
    """Return the text of a configuration whose store is at ``location``.

    The replicas of the former place go: they follow another server. All else stays, comments included; where that cannot be
    done, the same settings are written anew.
    """
    wanted = copied(tomllib.loads(text))
    section = wanted.get("store", {})
    kept = section.items() if isinstance(section, dict) else ()
    wanted["store"] = {"location": location, **{name: value for name, value in kept if name not in _REPLACED}}
    edited = _edited(text, f"location = {literal(location)}\n")
    try:
        if tomllib.loads(edited) == wanted:
            return edited
    except tomllib.TOMLDecodeError:
        pass
    return written(wanted)


def _edited(text: str, line: str) -> str:
    """Return ``text`` with ``line`` at the beginning of the section of the store, in place of what it replaces."""
    head = _SECTION.search(text)
    if head is None:
        first = _NEXT_SECTION.search(text)
        place = first.start() if first else len(text)
        return f"{text[:place].rstrip()}\n\n[store]\n{line}\n{text[place:]}".lstrip()
    end = _NEXT_SECTION.search(text, head.end())
    inside = _PLACE.sub("", text[head.end() : end.start() if end else len(text)])
    return f"{text[: head.end()].rstrip()}\n{line}{inside}{text[end.start() :] if end else ''}"
