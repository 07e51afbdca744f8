"""Read sidecars: small JSON files that state what results files do not, such as commit, branch and environment."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from knickpoint.formats.toolbox.numbers import in_utc
from knickpoint.formats.toolbox.storable_text import keepable_text
from knickpoint.model.errors import InputError
from knickpoint.model.revision import commit_name

SIDECAR: Final = "knick.sidecar.json"
"""The sidecar of all files in its directory."""

SIDECAR_SUFFIX: Final = ".sidecar.json"
"""The suffix that makes the name of a file that of the sidecar for this file alone."""

_LARGEST: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Sidecar:
    """What a sidecar states; each value may be left out.

    Attributes:
        commit: hash, unique prefix or number.
        branch: the branch that was measured.
        repository: name or URL of the repository.
        run: the id of this execution, attempt included.
        time: when it ran, ISO 8601; UTC where it names no zone.
        format: name of the format of the results.
        params: params to add to every result.
        environment: facts about the machine.
        links: name → URL.
        revisions: other repositories taking part: name → revision.
    """

    commit: str = ""
    branch: str = ""
    repository: str = ""
    run: str = ""
    time: datetime | None = None
    format: str = ""
    params: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    links: Mapping[str, str] = field(default_factory=dict)
    revisions: Mapping[str, str] = field(default_factory=dict)

    def over(self, other: Sidecar) -> Sidecar:
        """Return the facts of both; where they differ, this one counts."""
        merged: dict[str, Any] = {}
        for each in fields(self):
            upper, lower = getattr(self, each.name), getattr(other, each.name)
            merged[each.name] = {**lower, **upper} if isinstance(upper, Mapping) else upper or lower
        return replace(self, **merged)


def is_sidecar(path: Path) -> bool:
    """Return True if ``path`` is a sidecar and not results."""
    return path.name == SIDECAR or path.name.endswith(SIDECAR_SUFFIX)


def sidecar_of(path: Path) -> Sidecar:
    """Return the sidecar of the results file ``path``, that of the file over that of its directory.

    Raises:
        InputError: a sidecar cannot be read.
    """
    found = Sidecar()
    for sidecar in (path.with_name(SIDECAR), path.with_name(path.name + SIDECAR_SUFFIX)):
        try:
            with sidecar.open("rb") as file:
                data = file.read(_LARGEST + 1)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            raise InputError(
                f"the sidecar cannot be read: {error.strerror}", where=str(sidecar), remedy="Grant read access to it."
            ) from error
        found = read_sidecar(data, where=str(sidecar)).over(found)
    return found


def read_sidecar(data: bytes, *, where: str) -> Sidecar:
    """Read a sidecar. Raises ``InputError`` where its JSON, a key or a type is wrong."""
    if len(data) > _LARGEST:
        raise InputError(f"a sidecar has at most {_LARGEST} bytes", where=where, remedy="Keep results out of it.")
    try:
        content = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InputError(f"the sidecar is not JSON: {error}", where=where, remedy="Correct it there.") from error
    if not isinstance(content, dict):
        raise InputError("the sidecar is not an object", where=where, remedy='Write {"commit": "…"}.')
    names = {each.name: each.type for each in fields(Sidecar)}
    values: dict[str, Any] = {}
    for key, value in content.items():
        if key not in names:
            raise InputError(
                f"unknown key {key!r} in the sidecar", where=where, remedy=f"Known keys are {', '.join(names)}."
            )
        values[key] = _checked(key, value, where)
    return Sidecar(**values)


def _checked(key: str, value: object, where: str) -> object:
    if key in {"params", "environment", "links", "revisions"}:
        if not isinstance(value, dict):
            raise InputError(f"{key!r} is not an object", where=where, remedy=f'Write "{key}": {{"name": "value"}}.')
        return {name: _plain(f"{key}.{name}", text, where) for name, text in value.items()}
    text = _plain(key, value, where)
    if key == "commit":
        return commit_name(text)
    if key != "time" or not text:
        return text or (None if key == "time" else "")
    try:
        moment = in_utc(datetime.fromisoformat(text))
    except ValueError:
        moment = None
    if moment is None:
        raise InputError(f"{text!r} is not a time", where=where, remedy="Write it as 2026-01-31T12:00:00Z.")
    return moment


def _plain(key: str, value: object, where: str) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return keepable_text(str(value)).strip()
    raise InputError(f"{key!r} is neither text nor number", where=where, remedy="Write it as a text.")
