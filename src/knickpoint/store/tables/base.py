"""The MetaData that every table belongs to, and the column types that both databases share."""

from __future__ import annotations

from typing import Final

from sqlalchemy import DOUBLE_PRECISION, BigInteger, Float, Integer, LargeBinary, MetaData, Text

__all__ = ["Blob", "Code", "Number", "Time", "exact_text", "metadata"]

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
