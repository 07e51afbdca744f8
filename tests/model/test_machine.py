"""The facts of two machines are compared: what matters, and what is said of it."""

from __future__ import annotations

import pytest

from knickpoint.model.machine import compare_machines

GOOGLE = {"host_name": "ci-1", "num_cpus": "8", "mhz_per_cpu": "3500", "executable": "./b"}
PYTEST = {
    "node": "ci-1",
    "cpu.brand_raw": "AMD EPYC 7763",
    "cpu.count": "4",
    "cpu.hz_advertised_friendly": "2.4000 GHz",
    "python_version": "3.12.1",
    "release": "6.8.0",
}


def test_the_frequency_is_said_in_gigahertz_with_the_new_side_first() -> None:
    found = compare_machines([GOOGLE] * 6, [GOOGLE | {"mhz_per_cpu": "2900"}])
    assert (found.machine, set(found.unlike)) == ("frequency 2.9 against 3.5 GHz", {True})
    found = compare_machines([PYTEST] * 6, [PYTEST | {"cpu.hz_advertised_friendly": "3.6000 GHz"}])
    assert found.machine == "frequency 3.6 against 2.4 GHz"


def test_a_frequency_that_varies_a_little_is_the_same() -> None:
    assert compare_machines([GOOGLE], [GOOGLE | {"mhz_per_cpu": "3591"}]).unlike == (False,)


def test_facts_of_the_job_are_no_facts_of_the_machine() -> None:
    found = compare_machines([GOOGLE], [GOOGLE | {"executable": "./c", "ci": "github"}])
    assert (found.machine, found.software, found.unlike) == ("", "", (False,))


def test_the_software_differs_on_a_machine_alike() -> None:
    found = compare_machines([PYTEST] * 6, [PYTEST | {"python_version": "3.13.0", "release": "6.11.0"}])
    assert found.software == "kernel 6.11.0 against 6.8.0, toolchain 3.13.0 against 3.12.1"
    assert (found.machine, set(found.unlike)) == ("", {False})


def test_another_host_counts_where_hosts_have_lasting_names() -> None:
    new = [GOOGLE | {"host_name": "ci-77"}]
    assert compare_machines([GOOGLE] * 6, new).machine == "host ci-77 against ci-1"
    hosted = [GOOGLE | {"host_name": f"runner-{number}"} for number in range(6)]
    assert compare_machines(hosted, new).unlike == (False,) * 6


def test_one_fleeting_fact_does_not_count_beside_lasting_ones() -> None:
    hosted = [{"node": f"runner-{number}", "machine": "x86_64", "runner": "linux"} for number in range(9)]
    assert compare_machines(hosted, [{"node": "runner-77", "machine": "x86_64", "runner": "linux"}]).machine == ""


def test_a_frequency_of_the_moment_does_not_count() -> None:
    moments = [GOOGLE | {"mhz_per_cpu": str(800 + 250 * number)} for number in range(10)]
    assert compare_machines(moments, [GOOGLE | {"mhz_per_cpu": "4100"}]).unlike == (False,) * 10


@pytest.mark.parametrize("new", [{}, {"os": "Linux"}, {"cpu": "AMD EPYC 7763"}])
def test_what_one_side_does_not_state_is_alike(new: dict[str, str]) -> None:
    assert compare_machines([PYTEST, {}], [new]).unlike == (False, False)


def test_each_past_run_is_compared_and_the_newest_unlike_one_named() -> None:
    intel = PYTEST | {"cpu.brand_raw": "Intel Xeon 8370C"}
    found = compare_machines([PYTEST, intel, PYTEST], [PYTEST])
    assert found.unlike == (False, True, False)
    assert found.machine == "processor AMD EPYC 7763 against Intel Xeon 8370C"


def test_one_new_run_on_another_machine_is_enough() -> None:
    found = compare_machines([GOOGLE], [GOOGLE, GOOGLE | {"num_cpus": "2"}])
    assert (found.unlike, found.machine) == ((True,), "cores 2 against 8")


def test_a_long_text_of_a_fact_is_cut() -> None:
    found = compare_machines([{"cpu": "A" * 500}], [{"cpu": "B" * 500}])
    assert len(found.machine) < 120


def test_the_machines_of_the_history_are_counted_as_far_as_runs_state_them() -> None:
    others = [GOOGLE | {"num_cpus": cores} for cores in ("4", "16")]
    past = [GOOGLE, GOOGLE, *others, *others, {}, GOOGLE | {"mhz_per_cpu": "3550"}]
    assert compare_machines(past, [GOOGLE]).machines == 3
    assert compare_machines([{}, {}], [GOOGLE]).machines == 1
    hosts = [PYTEST | {"node": f"runner-{number}"} for number in range(9)]
    assert compare_machines(hosts, [PYTEST]).machines == 1  # a new name each time says nothing
