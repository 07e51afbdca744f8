"""Rows whose values no version of Knickpoint writes, as in a database that something else changed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from knickpoint.model.errors import StoreError

__all__ = ["naming_the_row", "texts_of"]


@contextmanager
def naming_the_row(row: str) -> Iterator[None]:
    """Turn every failure to read a value into an error that names ``row``, as in ``entry 17 of the audit log``.

    Raises:
        StoreError: a value cannot be read.
    """
    try:
        yield
    except (OSError, OverflowError, RecursionError, TypeError, ValueError) as error:
        raise StoreError(
            f"{row} has a value that cannot be read ({error})",
            remedy="Something other than Knickpoint changed the database; use a backup from before.",
        ) from error


def texts_of(values: object) -> tuple[str, ...]:
    """Return a list of texts as a tuple.

    Raises:
        TypeError: it is anything else.
    """
    if not isinstance(values, list) or not all(isinstance(each, str) for each in values):
        raise TypeError("not a list of texts")
    return tuple(values)
