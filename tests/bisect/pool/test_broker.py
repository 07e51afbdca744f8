"""What the scheduler of a pool decides, without its network."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.bisect.pool.probes import job

from knickpoint.bisect.job import Device, ProbeJob
from knickpoint.bisect.pool.broker import Broker, Order, PoolRules
from knickpoint.bisect.pool.documents import DeviceState, JobRequest, Offer
from knickpoint.bisect.pool.probe_run import lost
from knickpoint.bisect.settings import DeviceSettings, DeviceUse
from knickpoint.model.bisection import ProbeOutcome, ProbeResult

_DIGEST = job("1").recipe.digest


def _broker(*devices: DeviceSettings) -> Broker:
    recipe = job("1").recipe
    rules = PoolRules({recipe.name: recipe}, {each.name: each for each in devices}, heartbeat_seconds=10.0)
    return Broker(lambda: rules)


def _offer(name: str, agent: str = "", **params: str) -> Offer:
    return Offer(Device(name, params), agent or f"agent of {name}")


def _request(wanted: ProbeJob) -> JobRequest:
    return JobRequest(wanted, wanted.recipe.digest)


def _result(probe: str) -> ProbeResult:
    return replace(lost(job(probe), "?", ""), outcome=ProbeOutcome.MEASURED)


def _started(broker: Broker) -> Order:
    (order,) = broker.take_orders()
    assert order.job is not None
    return order


def test_a_result_waits_until_its_session_says_that_it_has_it() -> None:
    broker = _broker()
    broker.join(_offer("a"), 0.0)
    broker.submit("s", 1, ["1"], [_request(job("1"))], 0.0)
    broker.result("a", _started(broker).run, _DIGEST, _result("1"), 1.0)
    for _ in range(2):
        assert [(each.probe, each.device) for each in broker.collect("s", [], 1.0)] == [("1", "a")]
    assert broker.collect("s", ["1"], 1.0) == ()


def test_a_scheduler_that_starts_again_asks_for_the_jobs() -> None:
    broker = _broker()
    assert not broker.knows("s")
    assert broker.submit("s", 7, ["1", "2"], [_request(job("2"))], 0.0) == ("1",)


def test_a_call_that_a_later_one_overtook_changes_nothing() -> None:
    broker = _broker()
    broker.join(_offer("a"), 0.0)
    broker.submit("s", 2, ["1"], [_request(job("1"))], 0.0)
    broker.submit("s", 1, [], [], 0.0)
    assert _started(broker).device == "a"


def test_what_a_session_does_not_name_any_more_is_ended() -> None:
    broker = _broker()
    broker.join(_offer("a"), 0.0)
    broker.submit("s", 1, ["1"], [_request(job("1"))], 0.0)
    run = _started(broker).run
    broker.submit("s", 2, [], [], 0.0)
    assert broker.take_orders() == (Order("a", run),)


def test_a_new_session_takes_over_the_probe_of_one_that_died() -> None:
    broker = _broker()
    broker.join(_offer("a"), 0.0)
    broker.submit("old", 1, ["1"], [_request(job("1"))], 0.0)
    run = _started(broker).run
    broker.submit("new", 1, ["1"], [_request(job("1"))], 15.0)
    broker.hear("a", 20.0)
    broker.tick(21.0)
    assert not broker.knows("old")
    assert broker.take_orders() == ()
    broker.result("a", run, _DIGEST, _result("1"), 22.0)
    assert [each.outcome for each in broker.collect("new", [], 22.0)] == [ProbeOutcome.MEASURED]


def test_a_silent_agent_loses_its_probe_once_and_its_late_result_counts_as_nothing() -> None:
    broker = _broker()
    broker.join(_offer("a"), 0.0)
    broker.submit("s", 1, ["1"], [_request(job("1"))], 0.0)
    run = _started(broker).run
    assert broker.tick(10.1) == ("a",)
    broker.result("a", run, _DIGEST, _result("1"), 10.2)
    (result,) = broker.collect("s", [], 10.3)
    assert (result.outcome, result.device) == (ProbeOutcome.LOST, "a")


def test_a_result_that_an_earlier_scheduler_ordered_ends_the_probe_that_was_started_again() -> None:
    broker = _broker()
    for name in "ab":
        broker.join(_offer(name), 0.0)
    broker.drain("a")
    broker.submit("s", 1, ["1"], [_request(job("1"))], 0.0)
    run = _started(broker).run
    broker.result("a", "1#7", _DIGEST, _result("1"), 1.0)
    assert broker.take_orders() == (Order("b", run),)
    assert [(each.outcome, each.device) for each in broker.collect("s", [], 1.0)] == [(ProbeOutcome.MEASURED, "a")]


def test_a_result_that_comes_before_its_job_is_asked_for_again_waits_for_it() -> None:
    broker = _broker()
    broker.join(_offer("a"), 0.0)
    broker.result("a", "1#7", _DIGEST, _result("1"), 1.0)
    broker.submit("s", 1, ["1", "2"], [_request(job("1")), _request(job("2"))], 2.0)
    assert [each.probe for each in broker.collect("s", [], 2.0)] == ["1"]
    assert _started(broker).run.startswith("2#")


@pytest.mark.parametrize(
    "asked",
    [job("1", commit="2" * 40), job("1", device="b"), replace(job("1"), probe="3")],
    ids=["another commit", "another device", "another probe"],
)
def test_a_late_result_serves_no_other_job(asked: ProbeJob) -> None:
    broker = _broker()
    for name in "ab":
        broker.join(_offer(name), 0.0)
    broker.result("a", "1#7", _DIGEST, _result("1"), 1.0)
    broker.submit("s", 1, [asked.probe], [_request(asked)], 2.0)
    assert broker.collect("s", [], 2.0) == ()
    broker.result("a", "1#7", _DIGEST, _result("1"), 3.0)
    assert broker.collect("s", [], 3.0) == ()


def test_a_late_result_is_forgotten_after_a_while() -> None:
    broker = _broker()
    broker.join(_offer("a"), 0.0)
    broker.result("a", "1#7", _DIGEST, _result("1"), 1.0)
    broker.hear("a", 700.0)
    broker.tick(700.0)
    broker.submit("s", 1, ["1"], [_request(job("1"))], 700.0)
    assert broker.collect("s", [], 700.0) == ()


def test_a_scheduler_that_ends_gives_no_further_probe_and_has_finished_when_all_results_are_taken() -> None:
    broker = _broker()
    broker.join(_offer("a"), 0.0)
    broker.submit("s", 1, ["1", "2"], [_request(job("1")), _request(job("2"))], 0.0)
    run = _started(broker).run
    broker.end_after_probes()
    states = [(broker.under_way, broker.finished)]
    broker.result("a", run, _DIGEST, _result(run[0]), 1.0)
    states.append((broker.under_way, broker.finished))
    broker.collect("s", [run[0]], 2.0)
    states.append((broker.under_way, broker.finished))
    assert states == [(1, False), (0, False), (0, True)]
    assert broker.take_orders() == ()
    assert broker.devices() == ()


def test_commands_come_from_the_configuration_of_the_pool() -> None:
    broker = _broker()
    broker.join(_offer("a"), 0.0)
    named = replace(job("1"), recipe=replace(job("1").recipe, measure=("rm", "-rf", "/")))
    broker.submit("s", 1, ["1"], [JobRequest(named, job("1").recipe.digest)], 0.0)
    made = _started(broker).job
    assert made is not None
    assert made.recipe == job("1").recipe
    broker.submit("s", 2, ["2"], [_request(replace(named, probe="2"))], 0.0)
    assert "is not that of the request" in broker.refused("s")["2"]


def test_the_configuration_says_what_a_device_is_for_and_what_it_must_state() -> None:
    broker = _broker(
        DeviceSettings("a", use=DeviceUse.SCHEDULE),
        DeviceSettings("b", {"arch": "arm64"}),
        DeviceSettings("c", enabled=False),
    )
    for name in ("a", "c"):
        broker.join(_offer(name), 0.0)
    assert broker.refusal(_offer("b", arch="x86")) == "[devices.b] asks for arch=arm64, and the agent states arch=x86"
    assert broker.refusal(_offer("b", arch="arm64")) == ""
    broker.submit("s", 1, ["1"], [_request(job("1"))], 0.0)
    assert broker.take_orders() == ()
    states = {status.device.name: status.state for status in broker.statuses()}
    assert states == {"a": DeviceState.IDLE, "b": DeviceState.GONE, "c": DeviceState.DRAINED}


def test_the_same_agent_may_join_again_and_another_one_may_not() -> None:
    broker = _broker()
    broker.join(_offer("a", "first"), 0.0)
    assert "is lent by another agent already" in broker.refusal(_offer("a", "second"))
    assert broker.refusal(_offer("a", "first")) == ""
    broker.leave("a", "gone", 1.0)
    assert broker.refusal(_offer("a", "second")) == ""
