"""What migrations say about tables whose changes end cached answers; see :mod:`knickpoint.store.data_changes`."""

from __future__ import annotations

from collections.abc import Iterable

from alembic import op


def note_changes_of(tables: Iterable[str]) -> None:
    """Have PostgreSQL note each transaction that changes one of ``tables``.

    A statement that changes no row counts too.
    """
    for table in tables:
        op.execute(
            f"CREATE TRIGGER data_changed AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON {table}"
            " FOR EACH STATEMENT EXECUTE FUNCTION note_data_change()"
        )
