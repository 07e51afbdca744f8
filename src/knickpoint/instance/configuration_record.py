"""Record in the audit log which sections of ``knickpoint.toml`` changed since the instance was last opened."""

from __future__ import annotations

import json
import logging
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from knickpoint.access.local_user import local_caller
from knickpoint.model.audit import AuditKind
from knickpoint.model.errors import StoreError
from knickpoint.store import Store

__all__ = ["record_configuration"]

_LOG: Final = logging.getLogger("knickpoint.instance")


def record_configuration(store: Store, file: Path) -> None:
    """Add an entry to the audit log if ``file`` differs from the configuration that was recorded last.

    The entry names sections, and no value. The first configuration of a store is recorded without an entry. A store that
    cannot be written now, because it is read-only or an import writes to it, is left for the next time.
    """
    try:
        sections = _sections(tomllib.loads(file.read_text(encoding="utf-8")))
        known = store.configuration.changes(sections)
        if known is not None and not known:
            return
        with store.transaction(wait=False):
            # Another process may have recorded the same change since.
            changes = store.configuration.changes(sections)
            store.configuration.record(sections)
            if changes:
                store.audit.append(AuditKind.CONFIGURATION_CHANGED, local_caller().name, str(changes))
    except (StoreError, OSError, ValueError) as error:  # the file was good a moment ago, and will be again
        _LOG.info("the change of the configuration is recorded later: %s", error)


def _sections(table: Mapping[str, object]) -> dict[str, str]:
    """Return name → content of each section: ``server``, ``alerts.render``; a plain key at the top is one too.

    Variables such as ``${SECRET}`` stay as they are written, so that their values are no part of it.
    """
    sections: dict[str, object] = {}
    for name, value in table.items():
        if isinstance(value, dict) and value and all(isinstance(inner, dict) for inner in value.values()):
            sections |= {f"{name}.{inner}": content for inner, content in value.items()}
        else:
            sections[name] = value
    return {name: json.dumps(value, sort_keys=True, default=str) for name, value in sections.items()}
