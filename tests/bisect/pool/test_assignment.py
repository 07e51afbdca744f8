"""Which waiting jobs go to which devices."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.bisect.pool.probes import job

from knickpoint.bisect.job import Device, ProbeJob
from knickpoint.bisect.pool.job_table import assign
from knickpoint.bisect.settings import DeviceUse


def _started(*jobs: ProbeJob, devices: tuple[Device, ...], usage: dict[str, float] | None = None) -> dict[str, str]:
    """Return the device of each job that starts."""
    found = assign(jobs, devices, {device.name: device.slots for device in devices}, usage or {})
    return {job.probe: each.device for each in found for job in each.jobs}


def test_jobs_go_to_devices_with_their_params() -> None:
    devices = (Device("a", {"arch": "arm64"}), Device("b", {"arch": "x86_64"}))
    assert _started(job("1", params={"arch": "x86_64"}), job("2", params={"arch": "riscv"}), devices=devices) == {
        "1": "b"
    }


def test_a_job_that_names_a_device_waits_for_it() -> None:
    assert _started(job("1", device="b"), devices=(Device("a"),)) == {}
    assert _started(job("1", device="b"), devices=(Device("a"), Device("b"))) == {"1": "b"}


def test_devices_that_are_reserved_for_bisection_take_no_job_of_a_schedule() -> None:
    devices = (Device("a", use=DeviceUse.BISECT),)
    assert _started(job("1", use=DeviceUse.SCHEDULE), devices=devices) == {}
    assert _started(job("1", use=DeviceUse.BISECT), devices=devices) == {"1": "a"}


def test_a_scarce_device_stays_free_for_the_job_that_needs_it() -> None:
    devices = (Device("a"), Device("b"))
    assert _started(job("1"), job("2", device="a"), devices=devices) == {"1": "b", "2": "a"}


def test_a_larger_priority_goes_first() -> None:
    assert _started(job("1"), job("2", requester="B2", priority=1), devices=(Device("a"),)) == {"2": "a"}


def test_a_thousand_jobs_of_one_requester_leave_another_its_share() -> None:
    jobs = [job(f"{number}") for number in range(1000)]
    others = [job(f"b{number}", requester="B2", commit=f"{number:0>39}f") for number in range(4)]
    devices = tuple(Device(f"d{number}") for number in range(8))
    started = _started(*jobs, *others, devices=devices)
    assert sum(probe.startswith("b") for probe in started) == 4


def test_what_a_requester_has_used_counts_against_it() -> None:
    jobs = (job("1"), job("2", requester="B2"))
    assert _started(*jobs, devices=(Device("a"),), usage={"B1": 10.0, "B2": 3.0}) == {"2": "a"}


def test_one_probe_serves_all_requesters_that_ask_for_the_same() -> None:
    jobs = [job(f"{number}", commit="c" * 40, requester=f"B{number}") for number in range(3)]
    (found,) = assign(jobs, (Device("a"), Device("b")), {"a": 1, "b": 1}, {})
    assert [each.probe for each in found.jobs] == ["0", "1", "2"]


def test_two_jobs_of_one_requester_are_two_probes() -> None:
    jobs = (job("1", commit="c" * 40), job("2", commit="c" * 40))
    assert set(_started(*jobs, devices=(Device("a"), Device("b"))).values()) == {"a", "b"}


def test_a_job_for_another_device_is_not_served_by_a_shared_probe() -> None:
    jobs = (job("1", commit="c" * 40, device="a"), job("2", commit="c" * 40, requester="B2", device="b"))
    assert _started(*jobs, devices=(Device("a"), Device("b"))) == {"1": "a", "2": "b"}


_JOBS = st.lists(
    st.builds(
        job,
        st.integers(0, 10_000).map(str),
        commit=st.sampled_from(["a" * 40, "b" * 40, "c" * 40]),
        requester=st.sampled_from(["B1", "B2", "schedule nightly"]),
        device=st.sampled_from(["", "", "d1", "d9"]),
        priority=st.integers(0, 2),
        use=st.sampled_from([DeviceUse.BISECT, DeviceUse.SCHEDULE]),
        params=st.sampled_from([{}, {"arch": "arm"}]),
    ),
    unique_by=lambda job: job.probe,
    max_size=20,
)
_DEVICES = st.lists(
    st.builds(
        Device,
        st.sampled_from(["d1", "d2", "d3"]),
        st.sampled_from([{}, {"arch": "arm"}]),
        st.sampled_from(DeviceUse),
        st.integers(1, 3),
    ),
    unique_by=lambda device: device.name,
)


@settings(max_examples=50)
@given(jobs=_JOBS, devices=_DEVICES)
def test_no_slot_is_used_twice_no_job_starts_twice_and_no_fitting_slot_stays_free(
    jobs: list[ProbeJob], devices: list[Device]
) -> None:
    named = {device.name: device for device in devices}
    found = assign(jobs, devices, {device.name: device.slots for device in devices}, {})
    started = [each.probe for assignment in found for each in assignment.jobs]
    busy = [assignment.device for assignment in found]
    assert len(started) == len(set(started))
    assert all(busy.count(device.name) <= device.slots for device in devices)
    assert all(named[assignment.device].fits(each) for assignment in found for each in assignment.jobs)
    assert all(
        len({each.requester for each in assignment.jobs}) == len(assignment.jobs)
        and len({each.key for each in assignment.jobs}) == 1
        for assignment in found
    )
    open_devices = [device for device in devices if busy.count(device.name) < device.slots]
    left = [each for each in jobs if each.probe not in started]
    assert not any(device.fits(each) for device in open_devices for each in left)
