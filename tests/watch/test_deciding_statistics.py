from __future__ import annotations

from knickpoint.model.params import decode_key, encode_key
from knickpoint.watch.results_check.sides import deciding_keys


def decides(*statistics: str) -> set[str]:
    """Return which statistics of one benchmark decide; "" is the plain value."""
    keys = [encode_key({"benchmark": "a", **({"stat": name} if name else {})}) for name in statistics]
    return {decode_key(key).get("stat", "") for key in deciding_keys(keys)}


def test_the_plain_value_decides() -> None:
    assert decides("max", "p99.9", "", "mean", "stddev") == {""}


def test_without_a_plain_value_the_best_location_decides() -> None:
    assert decides("max", "p99", "mean", "min") == {"mean"}
    assert decides("max", "p99", "p95") == {"p95"}


def test_a_spread_never_decides() -> None:
    assert decides("stddev") == set()


def test_each_configuration_decides_for_itself() -> None:
    keys = [encode_key({"benchmark": "a", "os": name, "stat": "mean"}) for name in ("linux", "macos")]
    assert deciding_keys(keys) == set(keys)
