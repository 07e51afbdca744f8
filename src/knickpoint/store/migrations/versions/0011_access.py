"""Make the tables of tokens, ended sessions and the audit log, and the triggers that keep the log append-only."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
TIME = sa.Float(precision=53).with_variant(sa.DOUBLE_PRECISION(), "postgresql")

SQLITE_TRIGGERS = (
    """
    CREATE TRIGGER audit_entry_is_not_changed BEFORE UPDATE ON audit_entry
    BEGIN SELECT RAISE(ABORT, 'entries of the audit log are not changed'); END
    """,
    """
    CREATE TRIGGER audit_entry_is_kept BEFORE DELETE ON audit_entry
    WHEN OLD.time >= COALESCE((SELECT MAX(before) FROM audit_retention), 0)
    BEGIN SELECT RAISE(ABORT, 'entries of the audit log are deleted by age only'); END
    """,
)
POSTGRES_TRIGGERS = (
    """
    CREATE FUNCTION refuse_change_of_audit_entry() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF TG_OP = 'DELETE' THEN
            IF OLD.time < COALESCE((SELECT MAX(before) FROM audit_retention), 0) THEN RETURN OLD; END IF;
        END IF;
        RAISE EXCEPTION 'entries of the audit log are not changed, and deleted by age only';
    END $$
    """,
    """
    CREATE TRIGGER audit_entry_is_kept BEFORE UPDATE OR DELETE ON audit_entry
    FOR EACH ROW EXECUTE FUNCTION refuse_change_of_audit_entry()
    """,
    """
    CREATE TRIGGER audit_entry_is_not_truncated BEFORE TRUNCATE ON audit_entry
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change_of_audit_entry()
    """,
)


def upgrade() -> None:
    """Make the tables and the triggers."""
    op.create_table(
        "token",
        sa.Column("name", TEXT, nullable=False),
        sa.Column("digest", TEXT, nullable=False),
        sa.Column("scopes", TEXT, nullable=False),
        sa.Column("repositories", TEXT, nullable=False),
        sa.Column("created", TIME, nullable=False),
        sa.Column("created_by", TEXT, nullable=False),
        sa.Column("expires", TIME, nullable=True),
        sa.Column("last_used", TIME, nullable=True),
        sa.Column("revoked", TIME, nullable=True),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_token")),
        sa.UniqueConstraint("digest", name=op.f("uq_token_digest")),
    )
    op.create_table(
        "ended_session",
        sa.Column("id", TEXT, nullable=False),
        sa.Column("ended", TIME, nullable=False),
        sa.Column("until", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_ended_session")),
    )
    op.create_table(
        "audit_entry",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("time", TIME, nullable=False),
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("who", TEXT, nullable=False),
        sa.Column("about", TEXT, nullable=False),
        sa.Column("address", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit_entry")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_audit_entry_time", "audit_entry", ["time"], unique=False)
    op.create_table("audit_retention", sa.Column("before", TIME, nullable=False))
    op.create_table(
        "configuration_digest",
        sa.Column("section", TEXT, nullable=False),
        sa.Column("digest", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("section", name=op.f("pk_configuration_digest")),
    )
    embedded = op.get_bind().dialect.name == "sqlite"
    for statement in SQLITE_TRIGGERS if embedded else POSTGRES_TRIGGERS:
        op.execute(sa.text(statement.replace(":", "\\:")))
