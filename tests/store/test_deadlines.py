"""The time of a request, as the databases keep it."""

from __future__ import annotations

from typing import Final

import pytest
from sqlalchemy import text

from knickpoint.budget import Budget, spending
from knickpoint.model.errors import DeadlineError
from knickpoint.store import open_store

ENDLESS: Final = text(
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i % 1000 + 1 FROM n) SELECT count(*) FROM n WHERE i < 0"
)


@pytest.mark.parametrize("kind", ["reading", "transaction"])
def test_a_statement_without_end_is_stopped_when_the_time_is_up(location: str, kind: str) -> None:
    with open_store(location) as store:
        enter = getattr(store.database, kind)
        with spending(Budget.begin(0.1, 1)), pytest.raises(DeadlineError, match=r"0\.1 seconds"), enter() as connection:
            connection.execute(ENDLESS).all()
        with enter() as connection:
            assert connection.execute(text("SELECT 1")).scalar() == 1


def test_what_a_transaction_wrote_is_undone_when_the_time_is_up(location: str) -> None:
    with open_store(location) as store:

        def write() -> None:
            with spending(Budget.begin(0.2, 1)), store.transaction() as connection:
                store.commits.add_repository("late")
                connection.execute(ENDLESS).all()

        with pytest.raises(DeadlineError):
            write()
        assert store.commits.repositories() == []
