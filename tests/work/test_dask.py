from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from knickpoint.model.errors import InputError
from knickpoint.work import Dask

distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.filterwarnings("ignore")


def square(number: int) -> int:
    if number < 0:
        raise InputError(f"{number} is negative")
    return number * number


@pytest.fixture(scope="module")
def runner() -> Iterator[Dask]:
    cluster: Any = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0", protocol="tcp"
    )
    with Dask(cluster.scheduler_address) as made:
        yield made
    cluster.close()


def test_a_cluster_gives_results_in_the_order_of_the_items(runner: Dask) -> None:
    assert list(runner.map(square, range(20))) == [k * k for k in range(20)]


def test_an_error_on_a_worker_reaches_the_caller(runner: Dask) -> None:
    with pytest.raises(InputError, match="-1 is negative"):
        list(runner.map(square, [3, -1, 4]))
