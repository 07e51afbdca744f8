"""What one caller may take from the server, and what every refusal says."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families
from tests.server.client import Client

from knickpoint.access.tokens import create_token
from knickpoint.answers.visible_repositories import OverloadedError, TooManyRequestsError
from knickpoint.instance import Instance
from knickpoint.instance.config import CONFIG_FILE, LimitSettings, read_config
from knickpoint.model.access import Permission
from knickpoint.model.errors import ConfigError
from knickpoint.server import create_app
from knickpoint.server.request_limits import Backlog, RateLimit, RequestLimits, Turns, address_key


def limited(instance: Instance, **limits: Any) -> Instance:
    """Return ``instance`` with other limits."""
    return replace(instance, config=replace(instance.config, limits=LimitSettings(**limits)))


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_caller_may_send_a_minutes_requests_at_once_and_then_as_many_as_time_gives() -> None:
    clock = Clock()
    limit = RateLimit(60, "requests", clock)
    for _ in range(60):
        limit.take("a")
    with pytest.raises(TooManyRequestsError) as caught:
        limit.take("a")
    assert caught.value.seconds == pytest.approx(1.0)
    clock.now = 1.0
    limit.take("a")
    with pytest.raises(TooManyRequestsError):
        limit.take("a")


def test_callers_do_not_share_their_rate() -> None:
    limit = RateLimit(1, "requests", Clock())
    limit.take("a")
    limit.take("b")


def test_a_rate_limit_forgets_the_caller_seen_longest_ago() -> None:
    limit = RateLimit(1, "requests", Clock())
    for number in range(20_001):
        limit.take(str(number))
    limit.take("0")
    with pytest.raises(TooManyRequestsError):
        limit.take("20000")


@pytest.mark.parametrize(
    ("address", "key"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::9", "2001:db8:1:2::/64"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("fe80::1%eth0", "fe80::/64"),
        ("unix", "unix"),
    ],
)
def test_the_addresses_of_one_network_of_ipv6_are_one_caller(address: str, key: str) -> None:
    assert address_key(address) == key


class Work:
    """Work of several callers that waits for turns, and holds them until all may end."""

    def __init__(self, turns: Turns) -> None:
        self.turns = turns
        self._begun: asyncio.Queue[str] = asyncio.Queue()
        self._end = asyncio.Event()

    def begin(self, caller: str) -> asyncio.Task[None]:
        return asyncio.create_task(self._hold(caller))

    async def _hold(self, caller: str) -> None:
        async with self.turns.turn(caller):
            self._begun.put_nowait(caller)
            await self._end.wait()

    async def begun(self, count: int) -> list[str]:
        """Wait until ``count`` pieces of work have begun, and return their callers."""
        return sorted([await self._begun.get() for _ in range(count)])

    def end(self) -> None:
        self._end.set()


def test_a_caller_with_many_requests_waits_for_its_own_ones_only() -> None:
    async def story() -> None:
        work = Work(Turns("requests", 3, 2, 60))
        tasks = [work.begin(caller) for caller in ("a", "a", "a", "b")]
        assert await work.begun(3) == ["a", "a", "b"]
        work.end()
        await asyncio.gather(*tasks)
        assert (work.turns.working, await work.begun(1)) == (0, ["a"])

    asyncio.run(story())


@pytest.mark.parametrize(("callers", "error"), [(["a", "a"], TooManyRequestsError), (["b", "c"], OverloadedError)])
def test_who_waits_too_long_is_refused_for_what_it_waits_for(callers: list[str], error: type[Exception]) -> None:
    async def story() -> None:
        work = Work(Turns("requests", 2, 2, 0.001))
        tasks = [work.begin(caller) for caller in callers]
        await work.begun(2)
        with pytest.raises(error):
            await work.begin("a")
        work.end()
        await asyncio.gather(*tasks)
        await work.begin("a")
        assert work.turns.working == 0

    asyncio.run(story())


def test_callers_that_wait_take_turns_whoever_came_first() -> None:
    async def story() -> list[str]:
        turns, order = Turns("imports", 1, 1, 60), []

        async def import_one(source: str) -> None:
            async with turns.turn(source):
                order.append(source)
                await asyncio.sleep(0)

        await asyncio.gather(*(import_one(source) for source in "aaaaabbc"))
        return order

    assert asyncio.run(story()) == list("abcabaaa")


def test_the_repositories_of_a_caller_take_turns_too() -> None:
    async def story() -> list[str]:
        turns = Turns("imports", 1, 1, 60)
        order: list[str] = []

        async def import_one(repository: str) -> None:
            async with turns.turn("ci", repository):
                order.append(repository)
                await asyncio.sleep(0)

        await asyncio.gather(*(import_one(repository) for repository in "aaab"))
        return order

    assert asyncio.run(story()) == list("abaa")


@pytest.mark.parametrize(("at_once", "of_one"), [(1, 1), (2, 1), (3, 2)])
def test_the_files_of_one_caller_leave_a_place_to_others_whatever_their_repositories(at_once: int, of_one: int) -> None:
    async def story() -> list[str]:
        limits = RequestLimits(LimitSettings(uploads_at_once=at_once))
        order: list[str] = []
        release = asyncio.Event()

        async def import_one(caller: str, repository: str) -> None:
            async with limits.import_turn(caller, repository):
                order.append(caller)
                await release.wait()

        files = [import_one("greedy", f"r{number}") for number in range(4)]
        tasks = [asyncio.create_task(each) for each in (*files, import_one("other", "r"))]
        for _ in range(10):
            await asyncio.sleep(0)
        begun = list(order)
        release.set()
        await asyncio.gather(*tasks)
        return begun

    assert asyncio.run(story()) == ["greedy"] * of_one + ["other"] * (at_once - of_one)


def test_a_full_backlog_refuses_at_once_and_says_when_to_come_back() -> None:
    now = [0.0]
    backlog = Backlog(3, 1000, clock=lambda: now[0])
    with ExitStack() as held:
        for _ in range(3):
            held.enter_context(backlog.holding("a", 10))
        with pytest.raises(TooManyRequestsError) as refused, backlog.holding("a", 10):
            pass
        assert refused.value.seconds == 5
        held.enter_context(backlog.holding("b", 10))  # it has less than its share
        held.enter_context(backlog.holding("b", 10))
        with pytest.raises(TooManyRequestsError), backlog.holding("b", 10):
            pass
    assert (backlog.files, backlog.bytes) == (0, 0)


def test_a_backlog_counts_bytes_and_lets_each_caller_send_one_large_file() -> None:
    backlog = Backlog(100, 1000)
    with backlog.holding("a", 900):
        with backlog.holding("b", 900), pytest.raises(TooManyRequestsError), backlog.holding("a", 900):
            pass
        with backlog.holding("a", 100):
            assert backlog.bytes == 1000


def test_the_time_to_wait_follows_the_pace_of_the_uploads() -> None:
    now = [0.0]
    backlog = Backlog(10, 1000, clock=lambda: now[0])
    for _ in range(20):
        with backlog.holding("a", 1):
            now[0] += 4
    with ExitStack() as held:
        for _ in range(10):
            held.enter_context(backlog.holding("a", 1))
        with pytest.raises(TooManyRequestsError) as refused, backlog.holding("a", 1):
            pass
    assert refused.value.seconds == pytest.approx(4 * 19 / 20 * 10 / 2)


def test_an_upload_beyond_the_backlog_is_refused_with_429_and_nothing_of_it_is_stored(instance: Instance) -> None:
    before = instance.store.ledger.counts()
    app = create_app(limited(instance, uploads_waiting=0))
    answer = Client(app).post("/api/v1/results?name=a", content=b"{}")
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "5")
    counted = generate_latest(app.state.request_metrics.registry).decode()
    assert 'knickpoint_requests_limited_total{limit="uploads"} 1.0' in counted
    assert "nothing of it was stored" in answer.json()["remedy"]
    assert instance.store.ledger.counts() == before


def test_a_wait_that_is_cancelled_takes_no_turn() -> None:
    async def story() -> int:
        work = Work(Turns("requests", 1, 1, 60))
        first, second = work.begin("a"), work.begin("b")
        await work.begun(1)
        second.cancel()
        work.end()
        await asyncio.gather(first, second, return_exceptions=True)
        return work.turns.working

    assert asyncio.run(story()) == 0


def test_too_many_requests_are_refused_with_when_to_go_on(instance: Instance) -> None:
    client = Client(create_app(limited(instance, requests_per_minute=2)))
    codes = [client.get("/api/v1/version").status_code for _ in range(2)]
    refused = client.get("/api/v1/version")
    assert (codes, refused.status_code) == ([200, 200], 429)
    assert 1 <= int(refused.headers["retry-after"]) <= 30
    assert refused.json()["remedy"]


def test_addresses_that_are_not_known_have_their_own_rates(instance: Instance) -> None:
    app = create_app(limited(instance, requests_per_minute=1))
    one, other = (Client(app, peer=peer) for peer in ("192.0.2.1", "192.0.2.2"))
    assert [one.get("/api/v1/version").status_code for _ in range(2)] == [200, 429]
    assert other.get("/api/v1/version").status_code == 200


def test_wrong_credentials_are_refused_more_briefly_where_there_are_too_many(instance: Instance) -> None:
    client = Client(create_app(limited(instance, sign_ins_per_minute=2)))
    wrong = {"authorization": "Bearer knick_wrong"}
    codes = [client.get("/api/v1/version", headers=wrong).status_code for _ in range(3)]
    assert codes == [401, 401, 429]


def test_an_address_has_60_wrong_credentials_a_minute() -> None:
    limits = RequestLimits(LimitSettings())
    for _ in range(60):
        limits.admit_unknown("192.0.2.1", sign_in=False)
        limits.count_refused_credential("192.0.2.1")
    with pytest.raises(TooManyRequestsError):
        limits.admit_unknown("192.0.2.1", sign_in=False)


def test_guesses_that_were_under_way_when_the_rate_was_used_up_are_owed() -> None:
    clock = Clock()
    limit = RateLimit(60, "requests with wrong credentials", clock)
    for _ in range(100):
        limit.count("a")
    clock.now = 40.5
    with pytest.raises(TooManyRequestsError):
        limit.check("a")
    clock.now = 41.0
    limit.check("a")


def test_visitors_without_a_credential_shut_out_no_one_else_at_their_address(instance: Instance) -> None:
    secret = create_token(instance.store, "reader", [Permission.READ], by="test").secret
    client = Client(create_app(limited(instance, requests_per_minute=3), open_port=True), peer="203.0.113.7")
    codes = [client.get("/api/v1/changes").status_code for _ in range(5)]
    assert (codes[0], codes[-1]) == (401, 429)
    known = client.get("/api/v1/changes", headers={"authorization": f"Bearer {secret}"})
    assert known.status_code == 200


def test_too_many_attempts_to_sign_in_are_refused(instance: Instance) -> None:
    client = Client(create_app(limited(instance, sign_ins_per_minute=2)))
    codes = [client.get("/sign-in/none").status_code for _ in range(3)]
    assert (429 in codes[:2], codes[2]) == (False, 429)
    assert client.get("/api/v1/version").status_code == 200


def test_light_requests_are_answered_while_all_turns_are_taken(instance: Instance) -> None:
    app = create_app(limited(instance, costly_at_once=1, costly_per_caller=1, wait_seconds=0.001))

    async def story() -> None:
        async with app.state.limits.costly_turn("somebody else"):
            codes = await asyncio.to_thread(
                lambda: [Client(app).get(path).status_code for path in ("/api/v1/health", "/api/v1/traces")]
            )
            assert codes == [200, 503]

    asyncio.run(story())
    assert Client(app).get("/api/v1/traces").status_code == 200


def _too_long_an_address(client: Client) -> Any:
    return client.get("/api/v1/traces", params={"query": "a" * 3000})


def _too_many_headers(client: Client) -> Any:
    return client.get("/api/v1/version", headers={"cookie": "a" * 3000})


def _too_large_a_body(client: Client) -> Any:
    return client.post("/api/v1/triage", content=b" " * 3000)


@pytest.mark.parametrize(
    ("send", "code"), [(_too_long_an_address, 414), (_too_many_headers, 431), (_too_large_a_body, 413)]
)
def test_what_is_too_large_is_refused_with_a_remedy(
    instance: Instance, send: Callable[[Client], Any], code: int
) -> None:
    client = Client(create_app(limited(instance, address_bytes=2000, header_bytes=2000, body_bytes=2000)))
    answer = send(client)
    assert answer.status_code == code
    assert answer.json()["error"]
    assert answer.json()["remedy"]


def test_requests_are_counted_by_the_template_of_their_endpoint(instance: Instance) -> None:
    client = Client(create_app(limited(instance, requests_per_minute=5)))
    for path in ("/api/v1/traces/1", "/api/v1/traces/2", "/nothing", "/triage"):
        client.get(path)
    samples = {
        (sample.labels.get("endpoint"), sample.labels.get("status")): sample.value
        for family in text_string_to_metric_families(client.get("/api/v1/metrics").text)
        for sample in family.samples
        if sample.name == "knickpoint_requests_total"
    }
    found = samples.get(("/api/v1/traces/{key}", "200"), 0) + samples.get(("/api/v1/traces/{key}", "404"), 0)
    assert found == 2
    assert samples["other", "404"] == 1
    assert any(endpoint == "/triage" for endpoint, _ in samples)


def test_requests_that_a_limit_refuses_are_counted(instance: Instance) -> None:
    app = create_app(limited(instance, requests_per_minute=1))
    for _ in range(3):
        Client(app).get("/api/v1/version")
    assert (
        'knickpoint_requests_limited_total{limit="rate"} 2.0'
        in generate_latest(app.state.request_metrics.registry).decode()
    )


def test_a_worker_that_starts_again_begins_no_new_series(instance: Instance) -> None:
    client = Client(create_app(instance))

    def series() -> set[str]:
        lines = client.get("/api/v1/metrics").text.splitlines()
        return {line.rpartition(" ")[0] for line in lines if line.startswith("knickpoint_worker")}

    instance.store.workers.report("host/100/worker", started=1e9)
    before = series()
    instance.store.workers.report("host/200/worker", started=2e9)
    assert series() == before
    assert {each["name"] for each in client.get("/api/v1/health").json()["workers"]} == {
        "host/100/worker",
        "host/200/worker",
    }


@pytest.mark.parametrize("path", ["/triage", "/api/v1/health", "/api/v1/traces", "/assets"])
def test_head_is_get_without_the_body(reader: Client, path: str) -> None:
    head, get = reader.ask("HEAD", path), reader.get(path)
    assert (head.status_code, head.content) == (get.status_code, b"")
    assert head.headers.get("content-length") == get.headers.get("content-length")


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PUT", "/api/v1/triage", "GET, HEAD, POST"),
        ("GET", "/api/v1/triage/undo", "POST"),
        ("HEAD", "/api/v1/triage/undo", "POST"),
        ("OPTIONS", "/api/v1/traces/1", "GET, HEAD"),
        ("POST", "/triage", "GET, HEAD"),
    ],
)
def test_a_method_that_an_address_does_not_have_is_refused_with_those_it_has(
    reader: Client, method: str, path: str, allowed: str
) -> None:
    answer = reader.ask(method, path)
    assert (answer.status_code, answer.headers["allow"]) == (405, allowed)


@pytest.mark.parametrize("setting", ["requests_per_minute = 0", "request_seconds = -1", "wait_seconds = nan"])
def test_a_limit_that_would_refuse_everything_is_an_error_of_the_configuration(tmp_path: Path, setting: str) -> None:
    path = tmp_path / CONFIG_FILE
    path.write_text(f"[limits]\n{setting}\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=setting.partition(" ")[0]) as caught:
        read_config(path)
    assert "[limits]" in caught.value.where
