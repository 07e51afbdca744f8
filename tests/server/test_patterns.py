"""What a trace follows besides levels: a drift with its ends and its interval."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tests.server.client import Client
from tests.server.story import COMMITS, REPOSITORY, commit_hash

from knickpoint.ingest.file_import import import_data
from knickpoint.ingest.sidecar import Sidecar
from knickpoint.instance import Instance
from knickpoint.model.alert import Alert
from knickpoint.watch.alert_run.run import run_alerts


def measure_drift(instance: Instance) -> None:
    """Measure a benchmark that grows by 0.5 % with every commit from the one at position 20 on."""
    noise = np.random.default_rng(2).normal(0, 0.3, COMMITS)
    with instance.store.transaction():
        for position in range(COMMITS):
            value = 100 + 0.5 * max(0, position - 20) + float(noise[position])
            sidecar = Sidecar(repository=REPOSITORY, commit=commit_hash(position), run=f"d{position}")
            data = json.dumps([{"name": "slow", "value": value, "unit": "ns/iter"}]).encode()
            assert not import_data(instance, data, source=f"slow {position}", stated=sidecar).failed


def test_a_drift_has_its_ends_and_no_flat_level(instance: Instance, client: Client) -> None:
    measure_drift(instance)
    run_alerts(instance.store, [Alert("default")])
    trace = client.get("/api/v1/traces", params={"query": "benchmark=slow"}).json()["traces"][0]["id"]
    answer = client.get(f"/api/v1/traces/{trace}/patterns").json()
    (drift,) = answer["drifts"]
    assert drift["first"] == pytest.approx(20, abs=3)
    assert drift["last"] >= COMMITS - 3
    size = drift["after"] - drift["before"]
    assert size == pytest.approx(19.5, abs=1)
    assert drift["low"] < size < drift["high"]
    assert answer["flipping"] == []
    before, along, *_ = client.get(f"/api/v1/traces/{trace}/change-points").json()["regions"]
    assert (before["first"], before["last"]) == (0, drift["first"])
    assert (along["first"], along["last"]) == (drift["first"] + 1, drift["last"])


def test_a_trace_without_patterns_has_none(client: Client) -> None:
    trace = client.get("/api/v1/traces", params={"query": "benchmark=parse"}).json()["traces"][0]["id"]
    assert client.get(f"/api/v1/traces/{trace}/patterns").json() == {"drifts": [], "flipping": []}
