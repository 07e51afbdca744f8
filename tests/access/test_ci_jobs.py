"""What jobs of a CI service may do, and which of their tokens are refused."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from joserfc.jwk import ECKey, RSAKey
from tests.access.issuer import EC, RSA, STRANGER, CiService, ci_service, github_claims, gitlab_claims, part, sign

from knickpoint.access.identity_token import KeySource, ci_job_caller
from knickpoint.access.settings import CiJobKind, CiJobSettings
from knickpoint.model.access import Caller, CallerKind, Permission
from knickpoint.model.errors import NotSignedInError

_NOW: Final = datetime(2026, 11, 22, 12, tzinfo=UTC)
_MOMENT: Final = _NOW.timestamp()
_AUDIENCE: Final = "https://perf.example.org"


@pytest.fixture(scope="module")
def issuer() -> Iterator[CiService]:
    with ci_service() as served:
        yield served


@pytest.fixture(scope="module")
def keys() -> KeySource:
    return KeySource()


class Jobs:
    """Ask what a token may do, with one section of the configuration for each CI service."""

    def __init__(self, issuer: CiService, keys: KeySource) -> None:
        self.address = issuer.address
        self.keys = keys
        self.github = CiJobSettings(
            "actions", CiJobKind.GITHUB, ("ada/engine",), issuer=issuer.address, repositories=("engine",)
        )
        self.gitlab = CiJobSettings(
            "gitlab", CiJobKind.GITLAB, ("ada/tools/engine",), issuer=f"{issuer.address}/gitlab"
        )

    def caller(self, text: str, *sections: CiJobSettings, now: datetime = _NOW) -> Caller:
        named = {section.name: section for section in sections or (self.github, self.gitlab)}
        return ci_job_caller(text, named, audience=_AUDIENCE, keys=self.keys, now=now)

    def github_token(self, **changed: Any) -> str:
        return sign(self.github_claims(**changed))

    def github_claims(self, **changed: Any) -> dict[str, Any]:
        return github_claims(self.address, _AUDIENCE, _MOMENT, **changed)

    def gitlab_token(self, **changed: Any) -> str:
        return sign(gitlab_claims(f"{self.address}/gitlab", _AUDIENCE, _MOMENT, **changed))

    def refusal(self, text: str, *sections: CiJobSettings, now: datetime = _NOW) -> NotSignedInError:
        with pytest.raises(NotSignedInError) as caught:
            self.caller(text, *sections, now=now)
        return caught.value


@pytest.fixture(scope="module")
def jobs(issuer: CiService, keys: KeySource) -> Jobs:
    return Jobs(issuer, keys)


def test_a_job_of_github_may_upload_to_the_repositories_of_its_section_and_do_nothing_else(jobs: Jobs) -> None:
    caller = jobs.caller(jobs.github_token())
    assert (caller.kind, caller.name) == (CallerKind.CI_JOB, "github:ada/engine")
    assert caller.grants.allow(Permission.UPLOAD, "engine")
    assert not caller.grants.allow(Permission.UPLOAD, "another")
    assert not any(caller.grants.allow_somewhere(other) for other in set(Permission) - {Permission.UPLOAD})


def test_a_job_of_gitlab_may_upload_to_every_repository_where_its_section_names_none(jobs: Jobs) -> None:
    caller = jobs.caller(jobs.gitlab_token())
    assert (caller.kind, caller.name) == (CallerKind.CI_JOB, "gitlab:ada/tools/engine")
    assert caller.grants.everywhere == {Permission.UPLOAD}


def test_a_job_that_two_sections_name_has_the_permissions_of_both(jobs: Jobs) -> None:
    second = replace(jobs.github, name="second", repositories=("second",))
    elsewhere = replace(jobs.github, name="third", repositories=("third",), refs=("refs/heads/release",))
    caller = jobs.caller(jobs.github_token(), jobs.github, second, elsewhere)
    assert [name for name in ("engine", "second", "third") if caller.grants.allow(Permission.UPLOAD, name)] == [
        "engine",
        "second",
    ]


def test_a_token_for_a_list_of_audiences_is_accepted_where_one_is_the_right_one(jobs: Jobs) -> None:
    assert jobs.caller(jobs.github_token(aud=["https://other.example.org", _AUDIENCE]))


def test_an_elliptic_curve_signs_as_well(jobs: Jobs) -> None:
    assert jobs.caller(sign(jobs.github_claims(), EC, algorithm="ES256"))


def test_a_section_with_an_audience_takes_this_one_and_not_the_default(jobs: Jobs) -> None:
    section = replace(jobs.github, audience="knickpoint")
    assert jobs.caller(jobs.github_token(aud="knickpoint"), section)
    assert jobs.refusal(jobs.github_token(), section)


def test_the_audience_of_one_section_opens_no_other(jobs: Jobs) -> None:
    second = replace(jobs.github, name="second", audience="knickpoint", repositories=("second",))
    caller = jobs.caller(jobs.github_token(aud="knickpoint"), jobs.github, second)
    assert set(caller.grants.repositories) == {"second"}


# Claims

_WRONG_CLAIMS: Final[dict[str, dict[str, Any]]] = {
    "issuer with a slash": {"iss": "http://127.0.0.1/"},
    "no issuer": {"iss": None},
    "a list of issuers": {"iss": ["https://gitlab.com"]},
    "another audience": {"aud": "https://other.example.org"},
    "an audience that begins alike": {"aud": f"{_AUDIENCE}.evil.example"},
    "an audience in another case": {"aud": _AUDIENCE.upper()},
    "a list of other audiences": {"aud": ["https://other.example.org", "knick"]},
    "a list with something else than texts": {"aud": [_AUDIENCE, 1]},
    "an empty list of audiences": {"aud": []},
    "an object as audience": {"aud": {_AUDIENCE: True}},
    "no audience": {"aud": None},
    "expired": {"exp": _MOMENT - 61},
    "no expiry": {"exp": None},
    "an expiry that is a text": {"exp": str(_MOMENT + 600)},
    "an expiry that is true": {"exp": True},
    "an expiry that is not a number": {"exp": float("nan")},
    "an expiry without end": {"exp": float("inf")},
    "an expiry of many digits": {"exp": 10**400},
    "not valid yet": {"nbf": _MOMENT + 61},
    "no beginning": {"nbf": None},
    "made in the future": {"iat": _MOMENT + 61},
    "made at no time": {"iat": "now"},
    "valid for two days": {"exp": _MOMENT + 2 * 86_400},
    "valid for years, made long ago": {"nbf": _MOMENT - 1e8, "iat": _MOMENT - 1e8},
    "another project": {"repository": "ada/other"},
    "the project in another case": {"repository": "Ada/Engine"},
    "a project that begins alike": {"repository": "ada/engine-evil"},
    "a project that ends alike": {"repository": "evil/ada/engine"},
    "a project with a line end": {"repository": "ada/engine\n"},
    "no project": {"repository": None},
    "a list of projects": {"repository": ["ada/engine"]},
    "no ref": {"ref": None},
    "no event": {"event_name": None},
    "a pull request that runs as its target": {"event_name": "pull_request_target"},
    "a comment": {"event_name": "issue_comment"},
    "a workflow that another one started": {"event_name": "workflow_run"},
    "a list of events": {"event_name": ["push"]},
}


@pytest.mark.parametrize("changed", _WRONG_CLAIMS.values(), ids=_WRONG_CLAIMS.keys())
def test_a_wrong_claim_is_refused(jobs: Jobs, changed: dict[str, Any]) -> None:
    assert jobs.refusal(jobs.github_token(**changed))


@pytest.mark.parametrize(
    "changed",
    [
        {"project_path": "ada/tools"},
        {"project_path": None},
        {"ref": None},
        {"ref_type": None},
        {"ref_type": "commit"},
        {"aud": "https://gitlab.com"},
    ],
)
def test_a_wrong_claim_of_gitlab_is_refused(jobs: Jobs, changed: dict[str, Any]) -> None:
    assert jobs.refusal(jobs.gitlab_token(**changed))


def test_a_token_of_one_service_is_not_read_with_the_names_of_the_other(jobs: Jobs) -> None:
    both = github_claims(f"{jobs.address}/gitlab", _AUDIENCE, _MOMENT, repository="ada/tools/engine")
    assert jobs.refusal(sign(both))


@pytest.mark.parametrize("seconds", [-59, 0, 659])
def test_clocks_may_differ_by_a_minute(jobs: Jobs, seconds: float) -> None:
    assert jobs.caller(jobs.github_token(), now=_NOW + timedelta(seconds=seconds))


@pytest.mark.parametrize("event", ["push", "schedule", "workflow_dispatch", "pull_request", "merge_group", "release"])
def test_events_that_only_people_with_write_access_start_may_upload(jobs: Jobs, event: str) -> None:
    assert jobs.caller(jobs.github_token(event_name=event))


@pytest.mark.parametrize(
    ("ref", "accepted"),
    [
        ("refs/heads/main", True),
        ("refs/tags/v1.2", True),
        ("refs/heads/main2", False),
        ("refs/heads/x/refs/heads/main", False),
        ("refs/tags/main", False),
        ("refs/heads/MAIN", False),
        ("refs/pull/7/merge", False),
        ("main", False),
    ],
)
def test_refs_limit_which_branches_and_tags_may_upload(jobs: Jobs, ref: str, *, accepted: bool) -> None:
    section = replace(jobs.github, refs=("refs/heads/main", "refs/tags/v*"))
    token = jobs.github_token(ref=ref)
    assert jobs.caller(token, section) if accepted else jobs.refusal(token, section)


@pytest.mark.parametrize(
    ("changed", "pattern"),
    [
        ({}, "refs/heads/main"),
        ({"ref": "v1", "ref_type": "tag"}, "refs/tags/v1"),
        ({"pipeline_source": "merge_request_event"}, "refs/merge-requests/main"),
    ],
)
def test_refs_of_gitlab_have_the_full_names_of_git(jobs: Jobs, changed: dict[str, Any], pattern: str) -> None:
    assert jobs.caller(jobs.gitlab_token(**changed), replace(jobs.gitlab, refs=(pattern,)))


def test_a_merge_request_from_a_branch_called_main_is_not_main(jobs: Jobs) -> None:
    token = jobs.gitlab_token(pipeline_source="merge_request_event")
    assert jobs.refusal(token, replace(jobs.gitlab, refs=("refs/heads/*",)))


@pytest.mark.parametrize("stated", ["false", False, None, "TRUE", 1, ["true"]])
def test_a_section_for_protected_refs_refuses_others(jobs: Jobs, stated: object) -> None:
    assert jobs.refusal(jobs.github_token(ref_protected=stated), replace(jobs.github, protected=True))


def test_a_section_for_protected_refs_takes_these(jobs: Jobs) -> None:
    assert jobs.caller(jobs.github_token(), replace(jobs.github, protected=True))
    assert jobs.caller(jobs.gitlab_token(), replace(jobs.gitlab, protected=True))


# Signatures


def test_a_token_without_a_signature_is_refused(jobs: Jobs) -> None:
    payload = part(json.dumps(jobs.github_claims()))
    for algorithm in ("none", "None", "NONE", "", None, ["RS256"], {"RS256": 1}):
        for signature in ("", "AAAA"):
            jobs.refusal(f"{part(json.dumps({'alg': algorithm, 'kid': 'first'}))}.{payload}.{signature}")


@pytest.mark.parametrize("algorithm", ["HS256", "HS384", "HS512"])
@pytest.mark.parametrize(
    "secret", [RSA.as_pem(private=False), RSA.as_der(private=False), str(RSA.get("n")).encode(), b""]
)
def test_the_public_key_is_no_shared_secret(jobs: Jobs, algorithm: str, secret: bytes) -> None:
    assert jobs.refusal(sign(jobs.github_claims(), secret, algorithm=algorithm))


def test_a_key_of_someone_else_with_a_known_id_is_refused(jobs: Jobs) -> None:
    assert jobs.refusal(sign(jobs.github_claims(), STRANGER))


@pytest.mark.parametrize(
    "header",
    [
        {"jwk": STRANGER.as_dict(private=False)},
        {"jku": "http://127.0.0.1:1/keys"},
        {"x5u": "http://127.0.0.1:1/chain"},
        {"x5c": ["AAAA"]},
        {"crit": ["exp"], "exp": 1},
        {"crit": ["b64"], "b64": False},
        {"typ": "at+jwt"},
        {"typ": 7},
        {"kid": None},
        {"kid": ""},
        {"kid": 1},
        {"kid": ["first"]},
        {"kid": "curve"},
        {"kid": "../../keys/first"},
        {"kid": "first' OR '1'='1"},
        {"kid": "first\x00"},
    ],
)
def test_a_token_does_not_choose_its_key(jobs: Jobs, header: dict[str, Any]) -> None:
    assert jobs.refusal(sign(jobs.github_claims(), RSA, header=header))


@pytest.mark.parametrize("header", [{"jwk": STRANGER.as_dict(private=False)}, {"kid": "stranger"}])
def test_a_key_that_comes_with_its_token_is_refused(jobs: Jobs, header: dict[str, Any]) -> None:
    assert jobs.refusal(sign(jobs.github_claims(), STRANGER, header=header))


@pytest.mark.parametrize(
    ("key", "algorithm"),
    [(RSA, "RS384"), (RSA, "PS256"), (ECKey.generate_key("P-384", {"kid": "curve"}), "ES384")],
)
def test_another_algorithm_than_that_of_the_key_is_refused(jobs: Jobs, key: RSAKey | ECKey, algorithm: str) -> None:
    assert jobs.refusal(sign(jobs.github_claims(), key, algorithm=algorithm))


def test_a_header_without_a_meaning_here_is_ignored(jobs: Jobs) -> None:
    assert jobs.caller(sign(jobs.github_claims(), RSA, header={"x5t": "AAAA", "future": {"more": 1}}))


@pytest.mark.parametrize(
    "payload",
    [
        '{"repository": "evil/fork", ',  # the second name is that of the claims below
        '{"exp": 1, ',
        '{"iss": "https://gitlab.com", ',
    ],
)
def test_a_name_that_occurs_twice_is_refused(jobs: Jobs, payload: str) -> None:
    assert jobs.refusal(sign(payload + json.dumps(jobs.github_claims())[1:]))


def test_a_name_that_occurs_twice_in_the_header_is_refused(jobs: Jobs) -> None:
    header = part('{"alg": "RS256", "alg": "RS256", "typ": "JWT", "kid": "first"}')
    _, payload, signature = jobs.github_token().split(".")
    assert jobs.refusal(f"{header}.{payload}.{signature}")


def test_a_huge_token_is_refused_before_it_is_read(jobs: Jobs) -> None:
    assert jobs.refusal(jobs.github_token(more="x" * 40_000))
    assert jobs.refusal("a" * 10_000_000)


@pytest.mark.parametrize("payload", ["[]", "null", "1", '"text"', "", "{", "[" * 20_000, '{"iss": 1e999}', "\ud800"])
def test_a_payload_that_is_no_object_is_refused(jobs: Jobs, payload: str) -> None:
    parts = (part('{"alg": "RS256", "kid": "first"}'), part(payload), "AAAA")
    assert jobs.refusal(".".join(parts))


@pytest.mark.parametrize("text", ["", "a", "a.b", "a.b.c.d", "a.b.c.d.e", " ", "..", "é.é.é", "a.b.c\n", "\x00.a.b"])
def test_what_is_no_token_is_refused(jobs: Jobs, text: str) -> None:
    assert jobs.refusal(text)


@given(st.data())
def test_a_changed_character_is_refused(jobs: Jobs, data: st.DataObject) -> None:
    token = jobs.github_token()
    place = data.draw(st.integers(0, len(token) - 1))
    character = data.draw(st.sampled_from("AZaz09-_.").filter(lambda each: each != token[place]))
    assert jobs.refusal(token[:place] + character + token[place + 1 :])


@given(st.text(max_size=300), st.text(max_size=300), st.text(max_size=50))
def test_no_text_breaks_the_reader(jobs: Jobs, header: str, payload: str, signature: str) -> None:
    parts = [part(content) for content in (header, payload, signature)]
    assert jobs.refusal(".".join(parts))


# What the sender and the log learn


def test_every_refusal_has_the_same_message_and_the_log_has_the_reason_without_the_token(
    jobs: Jobs, caplog: pytest.LogCaptureFixture
) -> None:
    tokens = [
        jobs.github_token(exp=_MOMENT - 1e6),
        jobs.github_token(aud="https://other.example.org"),
        jobs.github_token(repository="evil/fork\nforged line"),
        jobs.github_token(iss="https://evil.example/\r\nforged line"),
        sign(jobs.github_claims(), STRANGER),
        "a.b.c",
    ]
    with caplog.at_level(logging.INFO):
        refusals = {str(jobs.refusal(token)) for token in tokens}
    assert len(refusals) == 1
    assert len(caplog.records) == len(tokens)
    assert len({record.getMessage() for record in caplog.records}) == len(tokens)
    assert "has expired" in caplog.text
    assert "evil/fork" in caplog.text
    assert not any("\n" in record.getMessage() or "\r" in record.getMessage() for record in caplog.records)
    assert [each for token in tokens[:-1] for each in token.split(".") if each in caplog.text] == []


def test_an_issuer_that_is_not_configured_is_never_asked(jobs: Jobs, service: CiService) -> None:
    assert jobs.refusal(sign(github_claims(service.address, _AUDIENCE, _MOMENT)))
    assert not service.asked
