"""The MetaData of all tables, the column types that both databases share, and the facts about the store itself."""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    DOUBLE_PRECISION,
    BigInteger,
    Column,
    Float,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
)

# The MetaData that every table belongs to, and the column types that both databases share.


metadata: Final = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

Number = BigInteger().with_variant(Integer(), "sqlite")
"""A 64-bit integer. SQLite calls it ``INTEGER``, and makes ids by itself only for a key of that name."""

Code = Integer()
"""A 32-bit integer."""

Blob = LargeBinary()
"""Bytes."""

Time = Float(53).with_variant(DOUBLE_PRECISION(), "postgresql")
"""Seconds since 1970-01-01 UTC."""

exact_text = Text().with_variant(Text(collation="C"), "postgresql")
"""Text that is compared by code point on both databases."""


# Which programs may use a store, and which of its connections changed data last.


schema_support = Table(
    "schema_support",
    metadata,
    Column("revision", exact_text, nullable=False),
    Column("since", exact_text, nullable=False),
    PrimaryKeyConstraint("revision"),
)
"""One row: programs that know the schema ``since``, or a newer one, may use a store of the schema ``revision``."""

data_change = Table(
    "data_change",
    metadata,
    Column("backend", Number, nullable=False, autoincrement=False),
    Column("last", Number, nullable=False),
    PrimaryKeyConstraint("backend"),
)
"""The last transaction of each connection that changed data, by the process id of its backend; empty on SQLite.

Triggers on PostgreSQL write it: see :mod:`knickpoint.store.data_changes`.
"""
