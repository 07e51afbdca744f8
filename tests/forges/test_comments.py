"""One comment in each pull request, whatever else happens at the same time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.forges.forge_server import ForgeServer, GitHubServer, GitLabServer, serving

from knickpoint.forges import ForgeJob, ForgeKind, Posted, When, open_thread, post_comment, read_job
from knickpoint.model.errors import InputError
from knickpoint.notify.channel import DeliveryError
from knickpoint.reports.markdown import marker

_MARK = "<!-- knickpoint check ada/textmill -->"
_HEAD = "a" * 40


@pytest.fixture(params=[GitHubServer, GitLabServer], ids=["github", "gitlab"])
def forge(request: pytest.FixtureRequest) -> Iterator[ForgeServer]:
    with serving(request.param()) as server:
        yield server


def _job(forge: ForgeServer) -> ForgeJob:
    if isinstance(forge, GitHubServer):
        return ForgeJob(ForgeKind.GITHUB, forge.url, "ada/textmill", "12", _HEAD)
    return ForgeJob(ForgeKind.GITLAB, f"{forge.url}/api/v4", "7", "12", _HEAD)


def _post(forge: ForgeServer, text: str = "All is well.", pauses: list[float] | None = None) -> Posted:
    thread = open_thread(_job(forge), "the-token", pause=(pauses if pauses is not None else []).append)
    assert thread is not None
    return post_comment(thread, f"{_MARK}\n{text}\n", commit=_HEAD)


def _texts(forge: ForgeServer) -> list[str]:
    return [note.body for note in forge.notes]


def test_the_first_report_adds_a_comment(forge: ForgeServer) -> None:
    assert _post(forge) is Posted.CREATED
    assert _texts(forge) == [f"{_MARK}\nAll is well.\n"]


def test_the_next_report_updates_it_although_it_is_on_a_later_page(forge: ForgeServer) -> None:
    for number in range(7):
        forge.add("grace", f"Remark {number}")
    _post(forge)
    forge.add("grace", "Thanks")
    assert _post(forge, "Something regressed.") is Posted.UPDATED
    assert [text for text in _texts(forge) if text.startswith(_MARK)] == [f"{_MARK}\nSomething regressed.\n"]


@pytest.mark.parametrize(
    ("when", "begins"),
    [
        (When.ALWAYS, {"nothing", "changed", "worse", ""}),
        (When.CHANGED, {"changed", "worse", ""}),
        (When.WORSE, {"worse", ""}),
    ],
)
def test_a_comment_begins_only_when_something_happened_if_one_wishes(
    forge: ForgeServer, when: When, begins: set[str]
) -> None:
    thread = open_thread(_job(forge), "the-token")
    assert thread is not None
    for happened in ("nothing", "changed", "worse", ""):
        end = f"<!-- knickpoint result: {happened} -->\n" if happened else ""
        posted = post_comment(thread, f"{_MARK}\nText\n{end}", commit=_HEAD, when=when)
        assert posted is (Posted.CREATED if happened in begins else Posted.LEFT_OUT)
        forge.notes.clear()


def test_a_comment_that_is_there_is_updated_when_all_is_well_again(forge: ForgeServer) -> None:
    thread = open_thread(_job(forge), "the-token")
    assert thread is not None
    for happened, posted in (("worse", Posted.CREATED), ("nothing", Posted.UPDATED)):
        body = f"{_MARK}\n{happened}\n<!-- knickpoint result: {happened} -->\n"
        assert post_comment(thread, body, commit=_HEAD, when=When.WORSE) is posted


def test_the_same_report_again_writes_nothing(forge: ForgeServer) -> None:
    _post(forge)
    written = len(forge.writes)
    assert _post(forge) is Posted.SAME
    assert len(forge.writes) == written


def test_a_person_who_copies_the_marker_does_not_choose_what_is_overwritten(forge: ForgeServer) -> None:
    forge.add("eve", f"{_MARK}\nMerge this.")
    _post(forge)
    assert _texts(forge) == [f"{_MARK}\nMerge this.", f"{_MARK}\nAll is well.\n"]


def test_two_jobs_that_add_a_comment_at_the_same_time_leave_one(forge: ForgeServer) -> None:
    def other() -> None:
        forge.add(forge.author, f"{_MARK}\nOf the other job.")

    forge.before_create = other
    _post(forge)
    assert _texts(forge) == [f"{_MARK}\nAll is well.\n"]


def test_jobs_of_different_names_have_comments_of_their_own(forge: ForgeServer) -> None:
    thread = open_thread(_job(forge), "the-token")
    assert thread is not None
    names = ("linux", "mac os", "mac_os", "", "-->", "mac%20os")
    for text in ("Do not merge", "May be merged"):
        for name in names:
            post_comment(thread, f"{marker('ada/textmill', name)}\n{name}: {text}\n", commit=_HEAD)
    assert [body.splitlines()[1] for body in _texts(forge)] == [f"{name}: May be merged" for name in names]
    assert _texts(forge)[3].splitlines()[0] == _MARK


def test_a_comment_whose_answer_is_lost_is_there_once(forge: ForgeServer) -> None:
    forge.lost = 1
    assert _post(forge) is Posted.CREATED
    assert len(forge.notes) == 1


def test_a_newer_commit_keeps_its_comment(forge: ForgeServer) -> None:
    forge.head = "b" * 40
    assert _post(forge) is Posted.OUTDATED
    forge.head, forge.state = _HEAD, "closed"
    assert _post(forge) is Posted.OUTDATED
    assert forge.writes == []


def test_a_rate_limit_is_waited_for_as_long_as_the_forge_asks(forge: ForgeServer) -> None:
    pauses: list[float] = []
    forge.refusals = [(429, {"message": "slow down"}, {"Retry-After": "7"}), (403, {}, {"Retry-After": "11"})]
    assert _post(forge, pauses=pauses) is Posted.CREATED
    assert pauses == [7.0, 11.0]


def test_a_wait_of_an_hour_is_an_error_that_says_so(forge: ForgeServer) -> None:
    forge.refusals = [(429, {"message": "slow down"}, {"Retry-After": "3600"})]
    with pytest.raises(DeliveryError, match="429: slow down"):
        _post(forge)


def test_the_token_of_a_fork_may_not_comment(forge: ForgeServer) -> None:
    forge.readonly = True
    pauses: list[float] = []
    with pytest.raises(DeliveryError, match="not accessible by integration"):
        _post(forge, pauses=pauses)
    assert pauses == []


def test_a_report_without_a_marker_is_refused(forge: ForgeServer) -> None:
    thread = open_thread(_job(forge), "the-token")
    assert thread is not None
    with pytest.raises(InputError, match="no marker"):
        post_comment(thread, "Merge this.")


def test_the_second_step_for_a_fork_takes_the_pull_request_from_the_event(tmp_path: Path) -> None:
    run = {
        "event": "pull_request",
        "head_sha": _HEAD,
        "head_branch": "faster",
        "head_repository": {"owner": {"login": "eve"}},
    }
    event = tmp_path / "event.json"
    event.write_text(json.dumps({"workflow_run": run}), encoding="utf-8")
    with serving(GitHubServer()) as forge:
        variables = {
            "GITHUB_ACTIONS": "true",
            "GITHUB_EVENT_PATH": str(event),
            "GITHUB_API_URL": forge.url,
            "GITHUB_REPOSITORY": "ada/textmill",
        }
        thread = open_thread(read_job(variables), "the-token")
        assert thread is not None
        assert post_comment(thread, f"{_MARK}\nText\n", commit=_HEAD) is Posted.CREATED
        forge.head = "b" * 40
        assert open_thread(read_job(variables), "the-token") is None


def test_a_pipeline_of_merged_results_is_about_the_commit_of_the_branch() -> None:
    variables = {
        "GITLAB_CI": "true",
        "CI_MERGE_REQUEST_IID": "12",
        "CI_MERGE_REQUEST_PROJECT_ID": "7",
        "CI_COMMIT_SHA": "c" * 40,
        "CI_API_V4_URL": "https://gitlab.example/api/v4",
    }
    assert read_job(variables).commit == "c" * 40
    merged = read_job({**variables, "CI_MERGE_REQUEST_SOURCE_BRANCH_SHA": _HEAD})
    assert (merged.commit, merged.project, merged.number) == (_HEAD, "7", "12")


@pytest.mark.parametrize("variables", [{}, {"GITLAB_CI": "true"}, {"GITHUB_ACTIONS": "true"}])
def test_a_job_without_a_pull_request_is_named(variables: dict[str, str]) -> None:
    with pytest.raises(InputError):
        read_job(variables)
