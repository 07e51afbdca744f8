"""GitHub, GitLab and Jira: each change has one ticket and each message one comment, whatever fails in between."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.notify.conftest import Reply, serving
from tests.notify.github_server import GitHubServer
from tests.notify.jira_server import FAILING, JiraServer
from tests.notify.tracker_server import TOKEN
from tests.notify.tracker_world import COMMIT, KINDS, World, message, open_channel, server_of

from knickpoint.model.change_point import Status
from knickpoint.model.commit import Commit
from knickpoint.model.errors import ConfigError
from knickpoint.model.notification import FixVerdict, Message, Sent
from knickpoint.model.report import Result, ResultTable, RunReport
from knickpoint.notify.channel import ChannelContext, DeliveryError, Exchange
from knickpoint.notify.settings import ChannelKind, ChannelSettings
from knickpoint.notify.trackers.github import github_channel
from knickpoint.notify.trackers.gitlab import gitlab_channel
from knickpoint.notify.trackers.jira import jira_channel
from knickpoint.notify.trackers.rest import Rest
from knickpoint.notify.trackers.sync import sync_tickets
from knickpoint.notify.trackers.tracker_channel import LABEL, TrackerChannel, fixing_revision, read_block
from knickpoint.outgoing import OutgoingRule
from knickpoint.store import RunWrite, Store, create_store, open_store
from knickpoint.watch.alert_run.run import default_alert, run_alerts


@pytest.fixture(params=KINDS)
def world(request: pytest.FixtureRequest, store: Store) -> Iterator[World]:
    kind = str(request.param)
    with serving(server_of(kind)) as server:
        yield World(kind, server, store, open_channel(kind, server, store))


def changes_of_message(sent: Message) -> list[object]:
    changes = sent.data["changes"]
    assert isinstance(changes, list)
    return changes


def send_until_taken(channel: TrackerChannel, sent: Message) -> Sent:
    """Send as the sender does: again after each failure, ten times at most."""
    for _ in range(10):
        with suppress(DeliveryError):
            return channel.send(sent)
    raise AssertionError("it was never taken")


def test_a_new_change_makes_a_ticket(world: World) -> None:
    sent = world.channel.send(message())
    assert world.ticket.title == "sort is 100 % slower"
    assert {LABEL, "severity-high", "performance"} <= set(world.ticket.labels)
    assert sent.reference.endswith("1")
    assert sent.link.endswith("1")


def test_the_ticket_maps_back_to_the_change(world: World) -> None:
    world.channel.send(message())
    key, (change,) = read_block(world.ticket.body)
    assert key == "k1"
    assert (change.repository, change.trace, change.failing) == ("textmill", ",benchmark=sort,os=linux,", COMMIT)
    assert (change.change, change.traces, change.severity, change.line) == (1, 1, "high", "main")


def test_jira_has_the_first_failing_revision_in_its_field(store: Store) -> None:
    with serving(JiraServer()) as server:
        open_channel("jira", server, store).send(message())
        assert server.tickets[1].fields[FAILING] == COMMIT


def test_the_finding_leaves_the_list_of_work(world: World) -> None:
    repository = world.store.commits.repository("textmill")
    assert world.store.findings.count(repository, processed=False) == 1
    name = world.channel.send(message()).reference
    (point,) = world.store.findings.live_members(1)
    assert (point.effective_status, point.matched_ticket) == (Status.TICKET, name)


def test_the_same_message_again_changes_nothing(world: World) -> None:
    assert world.channel.send(message()) == world.channel.send(message())
    assert len(world.server.tickets) == 1


@pytest.mark.parametrize("half", [True, False], ids=["half an answer", "500"])
def test_a_lost_answer_makes_no_second_ticket(world: World, *, half: bool) -> None:
    world.server.replies = [Reply(201 if half else 500, body=b"{", half=half, after=True)]
    with pytest.raises(DeliveryError) as failed:
        world.channel.send(message())
    assert failed.value.unclear
    world.channel.send(message())
    assert len(world.server.tickets) == 1


def test_a_killed_sender_makes_no_second_ticket(world: World) -> None:
    world.channel.send(message())
    world.store.findings.tracker_tickets.forget(world.store.findings.tracker_tickets.all()[0])
    world.channel.send(message())
    assert len(world.server.tickets) == 1


def test_a_correction_is_a_comment(world: World) -> None:
    world.channel.send(message())
    world.channel.send(message("k2", "regressed", "moved"))
    (comment,) = world.ticket.comments
    assert "sort is 100 % slower" in comment


def test_a_lost_answer_makes_no_second_comment(world: World) -> None:
    world.channel.send(message())
    world.server.replies = [Reply(500, after=True)]
    send_until_taken(world.channel, message("k2", "regressed", "moved"))
    assert len(world.ticket.comments) == 1


def test_a_second_chain_of_a_change_joins_its_ticket(world: World) -> None:
    world.channel.send(message())
    world.channel.send(replace(message("k2"), thread="change/2"))
    assert len(world.server.tickets) == 1
    assert len(world.ticket.comments) == 1


def test_several_findings_have_one_ticket(world: World) -> None:
    first, second = message(), message(change=2)
    changes = [*changes_of_message(first), *changes_of_message(second)]
    world.channel.send(replace(first, data={"changes": changes}))
    world.channel.send(replace(message("k2", "regressed", "moved", change=2), thread="change/2"))
    assert len(world.server.tickets) == 1


@pytest.mark.parametrize("close", [False, True])
@pytest.mark.parametrize("kind", ["recovered", "fixed", "withdrawn"])
def test_a_change_that_is_over_closes_its_ticket_only_where_a_setting_says_so(
    world: World, kind: str, *, close: bool
) -> None:
    world.channel.send(message())
    channel = open_channel(world.kind, world.server, world.store, close=close)
    channel.send(message("k2", "regressed", kind, fixed=f"{20:040d}"))
    assert world.ticket.open is not close
    assert len(world.ticket.comments) == 1


@pytest.mark.parametrize("after", [False, True], ids=["refused", "lost answer"])
def test_closing_goes_on_after_each_failure_and_writes_the_fixing_revision_once(world: World, *, after: bool) -> None:
    world.channel.send(message())
    channel = open_channel(world.kind, world.server, world.store, close=True)
    world.server.replies = [Reply(503, after=after)] * 4
    send_until_taken(channel, message("k2", "regressed", "fixed", fixed=f"{20:040d}"))
    (change,) = read_block(world.ticket.body)[1]
    assert (world.ticket.open, change.fixed, len(world.ticket.comments)) == (False, f"{20:040d}", 1)


def test_jira_gets_the_fixing_revision_in_its_field(store: Store) -> None:
    with serving(JiraServer()) as server:
        channel = open_channel("jira", server, store, close=True)
        channel.send(message())
        channel.send(message("k2", "regressed", "fixed", fixed=f"{20:040d}"))
        assert server.tickets[1].fixed == f"{20:040d}"


@pytest.mark.parametrize("kind", ["recovered", "fixed", "withdrawn", "provisional"])
def test_what_is_over_or_provisional_makes_no_ticket(world: World, kind: str) -> None:
    assert world.channel.send(message("k2", kind)) == Sent()
    assert world.server.tickets == {}


def test_a_message_about_no_change_makes_no_ticket(world: World) -> None:
    assert world.channel.send(replace(message(), data={})) == Sent()


@pytest.mark.parametrize("status", [404, 410])
def test_a_deleted_ticket_is_made_anew(world: World, status: int) -> None:
    world.channel.send(message())
    world.server.tickets.clear()
    world.server.add("of others", "", [])
    world.server.reads_fail = True
    world.server.replies = [Reply(status)]
    made = world.channel.send(message("k2", "regressed", "returned"))
    assert len(world.server.tickets) == 2
    (point,) = world.store.findings.live_members(1)
    assert point.matched_ticket == made.reference
    assert [row.name for row in world.store.findings.tickets.all(world.store.commits.repository("textmill"))] == [
        made.reference
    ]


@pytest.mark.parametrize(
    ("reply", "lasting", "wait", "unclear"),
    [
        (Reply(401), False, 0.0, False),
        (Reply(403, (("X-RateLimit-Remaining", "0"), ("X-RateLimit-Reset", "1000000060"))), False, 60.0, False),
        (Reply(403), False, 0.0, False),
        (Reply(404), True, 0.0, False),
        (Reply(409), False, 0.0, False),
        (Reply(410), True, 0.0, False),
        (Reply(422), True, 0.0, False),
        (Reply(429, (("Retry-After", "30"),)), False, 30.0, False),
        (Reply(500), False, 0.0, True),
        (Reply(201, body=b"{", half=True), False, 0.0, True),
        (Reply(201, body=b"no json"), False, 0.0, True),
        (Reply(silent=True), False, 0.0, True),
    ],
    ids=["401", "403 limit", "403", "404", "409", "410", "422", "429", "500", "half", "no json", "silent"],
)
def test_a_failure_says_what_to_do(world: World, reply: Reply, *, lasting: bool, wait: float, unclear: bool) -> None:
    rest: Rest = world.channel.tracker.rest  # type: ignore[attr-defined]
    hasty = Exchange(
        rest.exchange.rule, rest.exchange.headers, seconds=0.3 if reply.silent else 20.0, clock=lambda: 1e9
    )
    tracker = replace(world.channel.tracker, rest=replace(rest, exchange=hasty))  # type: ignore[type-var]
    world.server.replies = [reply]
    with pytest.raises(DeliveryError) as failed:
        replace(world.channel, tracker=tracker).send(message())
    assert (failed.value.lasting, failed.value.wait_seconds, failed.value.unclear) == (lasting, wait, unclear)


def test_a_wrong_token_is_refused_without_showing_it(world: World) -> None:
    wrong = open_channel(world.kind, world.server, world.store, token="another-token")
    with pytest.raises(DeliveryError, match="it answers 401: Bad credentials") as failed:
        wrong.send(message())
    assert "another-token" not in str(failed.value) + repr(wrong)


def test_an_error_has_the_words_of_the_tracker_without_the_token(world: World) -> None:
    world.server.replies = [Reply(422, body=f'{{"message": "Validation Failed for {TOKEN}"}}'.encode())]
    with pytest.raises(DeliveryError, match="it answers 422: Validation Failed for …"):
        world.channel.send(message())


_FAILURES = st.sampled_from(
    [
        *(Reply(status) for status in (401, 403, 409, 429, 500, 503)),
        *(Reply(status, body=b"{", half=True, after=True) for status in (200, 201)),
        Reply(500, after=True),
        Reply(502, body=b"<html>"),
    ]
)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.thorough
@settings(max_examples=examples(5), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(failures=st.lists(_FAILURES, max_size=6), messages=st.lists(st.sampled_from("abc"), min_size=1, max_size=5))
def test_no_sequence_of_failures_doubles_or_loses_anything(
    template: Path, kind: str, failures: list[Reply], messages: list[str]
) -> None:
    with (
        TemporaryDirectory() as directory,
        open_store(shutil.copy(template, Path(directory) / "store.db")) as store,
        serving(server_of(kind)) as server,
    ):
        server.replies, server.reads_fail = list(failures), True
        channel = open_channel(kind, server, store)
        for name in messages:
            send_until_taken(channel, message(name))
        (ticket,) = server.tickets.values()
        assert read_block(ticket.body)[0] == messages[0]
        assert len(ticket.comments) == len(set(messages) - {messages[0]}) + (messages[0] in messages[1:])


def test_a_sync_reads_all_pages(world: World) -> None:
    for number in range(5):
        world.server.add(f"ticket {number}", "", [LABEL])
    world.server.page = 2
    assert [ticket.title for ticket in world.sync()] == [f"ticket {number}" for number in range(5)]


def test_a_sync_reads_what_changed_since(world: World) -> None:
    world.server.add("before", "", [LABEL])
    world.server.add("of another program", "", ["bug"])
    world.sync()
    world.server.add("after", "", [LABEL])
    assert "after" in [ticket.title for ticket in world.sync()]


@pytest.mark.parametrize("kind", ["github", "gitlab"])
def test_a_sync_without_news_is_answered_with_304(store: Store, kind: str) -> None:
    with serving(server_of(kind)) as server:
        world = World(kind, server, store, open_channel(kind, server, store))
        server.add("before", "", [LABEL])
        world.sync()  # the time is known
        world.sync()  # its ETag is known
        assert world.sync() == []
        assert "if-none-match" in server.requests[-1].headers


def test_what_people_changed_comes_back(world: World) -> None:
    world.channel.send(message())
    world.server.touch(world.ticket, title="sort is slow", assignee="Ada", open=False, fixed=f"{20:040d}")
    (ticket,) = world.sync()
    assert (ticket.title, ticket.assignee, ticket.open, ticket.fixed) == ("sort is slow", "Ada", False, f"{20:040d}")


def test_a_fixing_revision_in_the_text_counts(world: World) -> None:
    ticket = world.server.add("sort is slow", "It was bad.\n\nFixed by: 1a2b3c4d\n", [LABEL])
    world.server.touch(ticket, open=False)
    assert [each.fixed for each in world.sync()] == ["1a2b3c4d"]


def test_pages_of_another_host_are_not_asked(store: Store) -> None:
    with serving(GitHubServer()) as server:
        server.reads_fail = True
        server.replies = [Reply(200, (("Link", '<https://elsewhere.example/issues>; rel="next"'),), b"[]")]
        channel = open_channel("github", server, store)
        with pytest.raises(DeliveryError, match=r"its next page is at https://elsewhere\.example"):
            channel.send(message())


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Fixed by 1a2b3c4", "1a2b3c4"),
        ("- fixing revision: `1A2B3C4D`", "1a2b3c4d"),
        ("fixed by: 1111111\nfixed by: 2222222", "2222222"),
        ("It is not fixed by 1a2b3c4.", ""),
        ("Fixed by Ada", ""),
    ],
)
def test_the_fixing_revision_of_a_text(text: str, found: str) -> None:
    assert fixing_revision(text) == found


@given(st.text())
def test_any_text_is_read_as_a_block_or_as_none(text: str) -> None:
    read_block(f"<!-- knickpoint\n{{{text}}}\n-->")


@pytest.mark.parametrize(
    ("kind", "more", "says"),
    [
        ("github", {"token": ""}, "token is missing"),
        ("github", {"project": "textmill"}, "project is 'textmill'"),
        ("gitlab", {"project": "textmill"}, "project is 'textmill'"),
        ("jira", {"project": 'PERF" OR 1=1'}, "project is"),
        ("jira", {"server": ""}, "server is not an address"),
    ],
)
def test_settings_that_cannot_be_used_are_named(tmp_path: Path, kind: str, more: dict[str, str], says: str) -> None:
    context = ChannelContext(tmp_path, "", OutgoingRule(), "Textmill")
    given = ChannelSettings("tracker", ChannelKind(kind), server="https://x.example", token="t", project="a/b")
    given = replace(given, **{"project": "PERF" if kind == "jira" else "a/b", **more})  # type: ignore[arg-type]
    maker = {"github": github_channel, "gitlab": gitlab_channel, "jira": jira_channel}[kind]
    with pytest.raises(ConfigError, match=rf"\[channels.tracker\]: {says}"):
        maker(given, context)


def test_a_ticket_follows_its_change_when_missing_commits_are_measured(tmp_path: Path, world: World) -> None:
    with create_store(tmp_path / "sparse.db") as store:
        repository = store.commits.add_repository("textmill")
        begin = datetime(2026, 1, 1, tzinfo=UTC)
        store.commits.add(repository, [Commit(f"{each:040d}", "Ada", "", begin, "Change") for each in range(60)])
        store.commits.set_line(repository, "main", range(60))

        def measure(level: Callable[[int], float], slots: Iterable[int]) -> None:
            for slot in slots:
                value = level(slot) + 0.02 * (slot % 2)
                run = RunReport(ResultTable.of([Result({"benchmark": "sort", "os": "linux"}, (value,), "ms")]))
                store.runs.write(repository, [RunWrite(slot, run, str(slot), f"{slot} {value}", "test")])
            run_alerts(store, [default_alert()], as_work=True)

        measure(lambda slot: 10.0 if slot < 14 else 12.0, range(0, 48, 3))
        channel = open_channel(world.kind, world.server, store)
        name = channel.send(message()).reference
        (point,) = store.findings.live_members(1)
        assert (point.suspect_range.slot, point.matched_ticket) == (15, name)

        # The change is located: the fields at the tracker name its commit, and what people wrote stays.
        world.server.touch(world.ticket, body=f"Ours: {COMMIT}. {world.ticket.body}")
        measure(lambda slot: 10.0 if slot < 14 else 12.0, (13, 14))
        sync_tickets(channel, now=0.0)
        sync_tickets(channel, now=0.0)
        located = f"{14:040d}"
        _, (change,) = read_block(world.ticket.body)
        assert change.failing == located
        assert world.ticket.body.startswith(f"Ours: {COMMIT}. ")
        assert not world.kind.startswith("jira") or world.ticket.fields[FAILING] == located
        assert [row.slot for row in store.findings.tickets.all(repository)] == [14]

        # Closed with the revision that fixed it, it is compared with the values since then.
        world.server.touch(world.ticket, open=False, fixed=f"{48:040d}")
        measure(lambda _slot: 10.0, range(48, 60))
        sync_tickets(channel, now=0.0)
        (ticket,) = store.findings.tracker_tickets.all()
        assert ticket.verdict is FixVerdict.FIXED
