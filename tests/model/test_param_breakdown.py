"""What traces that moved together have in common, beside all traces."""

from __future__ import annotations

import random
from collections import Counter
from itertools import product

from knickpoint.model.params import ValueShare, break_down, decode_key, encode_key

_ALL = [
    encode_key({"arch": arch, "benchmark": f"b{number}", "browser": "c", "os": os})
    for arch, number, os in product(("arm", "riscv", "x86"), range(40), ("linux", "mac"))
]


def facets(keys: list[str]) -> dict[str, Counter[str]]:
    counted: dict[str, Counter[str]] = {}
    for key in keys:
        for name, value in decode_key(key).items():
            counted.setdefault(name, Counter())[value] += 1
    return counted


def test_the_param_that_members_share_comes_first_and_what_all_traces_share_is_left_out() -> None:
    members = [key for key in _ALL if "arch=arm," in key][:76] + [key for key in _ALL if "arch=x86," in key][:4]
    arch, *others = break_down(members, facets(_ALL), len(_ALL))
    assert (arch.name, arch.even) == ("arch", False)
    assert arch.values == (ValueShare("arm", 76, 80), ValueShare("x86", 4, 80), ValueShare("riscv", 0, 80))
    assert round(arch.distance, 3) == round(0.95 - 1 / 3, 3)
    assert [(each.name, each.even) for each in others] == [("benchmark", True), ("os", True)]


def test_members_without_a_param_are_counted() -> None:
    plain = [encode_key({"benchmark": f"p{number}"}) for number in range(100)]
    tagged = [encode_key({"benchmark": f"t{number}", "arch": "arm"}) for number in range(100)]
    found = {each.name: each for each in break_down(plain[:50], facets(plain + tagged), 200)}
    assert found["arch"].values == (ValueShare("", 50, 100), ValueShare("arm", 0, 100))
    assert not found["arch"].even


def test_random_members_are_seldom_called_uneven() -> None:
    chance = random.Random(5)
    verdicts = [
        each.even
        for _ in range(200)
        for each in break_down(chance.sample(_ALL, chance.choice((10, 40, 120))), facets(_ALL), len(_ALL))
    ]
    assert len(verdicts) == 600
    assert sum(verdicts) >= 0.93 * len(verdicts)


_RARE = [
    encode_key({"benchmark": f"suite{number // 5}/b{number}", "compiler": compiler})
    for number, compiler in product(range(200), ("clang", "gcc", "msvc"))
]
"""600 traces of 200 benchmarks: each has three."""


def test_members_of_a_few_benchmarks_of_very_many_are_uneven_in_the_benchmark() -> None:
    members = [key for key in _RARE if "suite7/" in key]
    benchmark, compiler = break_down(members, facets(_RARE), len(_RARE))
    assert (benchmark.name, benchmark.even) == ("benchmark", False)
    assert [(each.members, each.traces) for each in benchmark.values[:6]] == [(3, 3)] * 5 + [(0, 3)]
    assert (compiler.name, compiler.even) == ("compiler", True)


def test_random_members_are_seldom_called_uneven_in_a_param_of_very_many_values() -> None:
    chance = random.Random(6)
    verdicts = [
        each.even
        for _ in range(200)
        for each in break_down(chance.sample(_RARE, chance.choice((10, 40, 200))), facets(_RARE), len(_RARE))
    ]
    assert sum(verdicts) >= 0.93 * len(verdicts)


def test_all_traces_as_members_are_even_in_each_param() -> None:
    assert all(each.even for each in break_down(_ALL, facets(_ALL), len(_ALL)))


def test_one_member_of_a_few_traces_is_even_in_what_halves_them() -> None:
    for half in range(1, 6):
        keys = [encode_key({"benchmark": f"b{number}", "os": os}) for number in range(half) for os in ("linux", "mac")]
        found = {each.name: each for each in break_down(keys[:1], facets(keys), len(keys))}
        assert found["os"].even
