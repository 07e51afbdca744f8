"""Call what people triage a change: rename the table of regressions, and the columns that refer to it."""

from __future__ import annotations

from alembic import op

revision = "0039"
down_revision = "0038"
branch_labels = None
depends_on = None

_REFERRING = ("announcement", "bisection", "bystander", "change_point", "decision", "gate_probe", "suspects")
_INDEXED = ("announcement", "bisection", "change_point")
_PAYLOAD = {
    "new_regressions": "new_changes",
    "changed_regressions": "updated_changes",
    "history_regressions": "history_changes",
    "regressions": "changes",
}
"""Members of the events that are not consumed yet."""


def upgrade() -> None:
    """Rename the table, the columns and the indexes; and the names in events that wait."""
    op.drop_index("ix_regression_unprocessed", "regression")
    op.rename_table("regression", "change")
    op.create_index("ix_change_unprocessed", "change", ["repository_id", "unprocessed"])
    for table in _INDEXED:
        op.drop_index(f"ix_{table}_regression_id", table)
    for table in _REFERRING:
        op.alter_column(table, "regression_id", new_column_name="change_id")
    for table in _INDEXED:
        op.create_index(f"ix_{table}_change_id", table, ["change_id"])
    for table in ("outbox_event", "outbox_consumer"):
        op.execute(f"UPDATE {table} SET kind = 'changes-updated' WHERE kind = 'regressions-changed'")  # noqa: S608
    for old, new in _PAYLOAD.items():
        op.execute(f"UPDATE outbox_event SET payload = REPLACE(payload, '\"{old}\"', '\"{new}\"')")  # noqa: S608
    if op.get_bind().dialect.name == "postgresql":
        op.execute("ALTER INDEX pk_regression RENAME TO pk_change")
