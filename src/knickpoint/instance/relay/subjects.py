"""The names of the subjects, the stream and the consumer of an instance on NATS."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Final, Self

from knickpoint.model.errors import ConfigError
from knickpoint.store import EventKind

__all__ = ["RELAYED", "Subjects", "subject_name"]

_APP: Final = "knickpoint"
_LONGEST: Final = 64
_OTHER: Final = re.compile(r"[^a-z0-9]+")

RELAYED: Final = (EventKind.TRACES_CHANGED, EventKind.CHANGES_UPDATED)
"""The kinds of events that are published."""


def subject_name(instance: str) -> str:
    """Return the name of an instance as part of a subject.

    Accents are dropped, letters become lower case, each run of other characters becomes one hyphen, and 64 characters
    are kept: ``Lab München/2`` is ``lab-munchen-2``.

    Raises:
        ConfigError: no character is left.
    """
    plain = unicodedata.normalize("NFKD", instance).encode("ascii", "ignore").decode().lower()
    name = _OTHER.sub("-", plain).strip("-")[:_LONGEST].strip("-")
    if not name:
        raise ConfigError(
            f"the instance's name {instance!r} has no letter from a to z and no digit, which subjects of NATS need",
            remedy="Give the instance another name in knickpoint.toml.",
        )
    return name


@dataclass(frozen=True, slots=True)
class Subjects:
    """The names of one instance: ``<app>-<function>-<instance>``, each a single token."""

    instance: str
    stream: str

    @classmethod
    def of(cls, instance: str, stream: str = "") -> Self:
        """Return the names for an instance; without ``stream``, the stream belongs to this instance only.

        Raises:
            ConfigError: the name of the instance cannot be part of a subject.
        """
        name = subject_name(instance)
        return cls(name, stream or f"{_APP}-{name}")

    def of_kind(self, kind: EventKind) -> str:
        """Return the subject of events of a kind."""
        return self._subject(kind.value)

    @property
    def files_arrived(self) -> str:
        """The subject under which files are announced."""
        return self._subject("files-arrived")

    @property
    def consumer(self) -> str:
        """The durable consumer of announced files, which all workers of the instance share."""
        return self.files_arrived

    @property
    def all(self) -> tuple[str, ...]:
        """Every subject of the instance."""
        return (*(self.of_kind(kind) for kind in RELAYED), self.files_arrived)

    def _subject(self, function: str) -> str:
        return f"{_APP}-{function}-{self.instance}"
