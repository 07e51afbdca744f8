"""Names from results that an index cannot hold are refused, and are not a failure of the store."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from knickpoint.model.commit import Repository
from knickpoint.model.errors import InputError
from knickpoint.store import FileState, Store

LONG = "".join(chr(0x4E00 + number * 7919 % 20000) for number in range(8000))
"""A text of 24,000 bytes that no database packs well."""


def _wait(store: Store, repository: Repository) -> None:
    store.ledger.wait(repository, LONG, b"", identity="", source="", content_hash="")


def _record(store: Store, _repository: Repository) -> None:
    store.ledger.record(LONG, "", FileState.STORED)


@pytest.mark.parametrize("location", [pytest.param("postgresql", marks=pytest.mark.postgres)], indirect=True)
@pytest.mark.parametrize("write", [_wait, _record])
def test_a_name_that_is_too_long_for_an_index_is_refused(
    store: Store, repository: Repository, write: Callable[[Store, Repository], None]
) -> None:
    with pytest.raises(InputError, match="too long"):
        write(store, repository)
