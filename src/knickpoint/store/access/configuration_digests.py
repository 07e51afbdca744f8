"""Keep a digest of each section of the configuration file that was last used, to notice which sections change.

The digests are salted and have 32 bits: they cannot confirm what a guessed secret is.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from sqlalchemy import delete, select

from knickpoint.store.database import Database
from knickpoint.store.tables.access import configuration_digest as table

__all__ = ["ConfigurationDigests", "SectionChanges"]

_SALT: Final = ""
"""The section whose digest is the salt."""

_DIGITS: Final = 8


@dataclass(frozen=True, slots=True)
class SectionChanges:
    """The sections of a configuration file that are new, have another content, or are gone; sorted by name."""

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.changed or self.removed)

    def __str__(self) -> str:
        """Render as ``added: a, b; changed: c``, without the kinds that are empty."""
        kinds = {"added": self.added, "changed": self.changed, "removed": self.removed}
        return "; ".join(f"{kind}: {', '.join(names)}" for kind, names in kinds.items() if names)


class ConfigurationDigests:
    """Hold the configuration area of a store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def changes(self, sections: Mapping[str, str]) -> SectionChanges | None:
        """Return how ``sections``, name → content, differ from those that were recorded last; None if none were."""
        known = self._known()
        if not known:
            return None
        salt = known.pop(_SALT)
        now = _digests(sections, salt)
        return SectionChanges(
            added=tuple(sorted(now.keys() - known.keys())),
            changed=tuple(sorted(name for name in now.keys() & known.keys() if now[name] != known[name])),
            removed=tuple(sorted(known.keys() - now.keys())),
        )

    def record(self, sections: Mapping[str, str]) -> None:
        """Record ``sections``, name → content, in place of those before."""
        with self._database.transaction() as connection:
            salt = self._known().get(_SALT) or secrets.token_hex(16)
            digests = {_SALT: salt, **_digests(sections, salt)}
            connection.execute(delete(table))
            connection.execute(table.insert(), [{"section": name, "digest": text} for name, text in digests.items()])

    def _known(self) -> dict[str, str]:
        with self._database.reading() as connection:
            return {row.section: row.digest for row in connection.execute(select(table))}


def _digests(sections: Mapping[str, str], salt: str) -> dict[str, str]:
    return {
        name: hmac.digest(salt.encode(), text.encode(errors="surrogatepass"), "sha256").hex()[:_DIGITS]
        for name, text in sections.items()
    }
