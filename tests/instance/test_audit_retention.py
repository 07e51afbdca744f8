from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from knickpoint.access.settings import AccessSettings
from knickpoint.instance import CONFIG_FILE, Instance, Worker, create_instance, forget_audit_entries, open_instance
from knickpoint.model.access import AuditKind
from knickpoint.model.errors import ConfigError

NOW = datetime.now(UTC)


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[Instance]:
    """Make an instance whose audit log has an entry of today and one of a hundred days ago."""
    with create_instance(tmp_path / "lab") as made:
        for days in (100, 0):
            made.store.audit.append(AuditKind.DECIDED, "ada", f"{days} days ago", time=NOW - timedelta(days=days))
        yield made


def keeping(instance: Instance, days: float) -> Instance:
    """Return the instance with another rule."""
    return replace(instance, config=replace(instance.config, access=AccessSettings(audit_days=days)))


def test_by_default_every_entry_is_kept(instance: Instance) -> None:
    assert forget_audit_entries(instance, now=NOW + timedelta(days=9999)) == 0
    assert len(instance.store.audit.entries()) == 2


def test_the_worker_deletes_old_entries_and_records_the_deletion_once(instance: Instance) -> None:
    announced: list[str] = []
    worker = Worker(keeping(instance, 90), announce=announced.append)
    worker.step()
    assert forget_audit_entries(keeping(instance, 90)) == 0
    deletion, kept = instance.store.audit.entries()
    assert (kept.about, deletion.kind) == ("0 days ago", AuditKind.ENTRIES_DELETED)
    assert deletion.about == "1 entry older than 90 days"
    assert "audit log: deleted 1 old entry" in announced


@pytest.mark.parametrize("days", ["-1", "nan", "inf", "1e9"])
def test_a_rule_without_sense_is_refused(instance: Instance, days: str) -> None:
    file = instance.directory / CONFIG_FILE
    file.write_text(f"{file.read_text(encoding='utf-8')}\n[access]\naudit_days = {days}\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="audit_days"):
        open_instance(instance.directory)
