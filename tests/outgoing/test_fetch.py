"""Requests by the rule, to real servers on loopback: pinned hosts, redirects, sizes, times and certificates."""

from __future__ import annotations

import gzip
import ssl
import zlib
from collections.abc import Callable, Sequence
from ipaddress import ip_address
from pathlib import Path
from threading import Event

import pytest
from tests.outgoing.conftest import Answer, WebServer, answering_raw, serving

from knickpoint.model.errors import AddressError, ServiceError
from knickpoint.outgoing import Network, OutgoingRule, fetch
from knickpoint.outgoing.rule import IPAddress

LOOPBACK = OutgoingRule(("127.0.0.1",))


def names(**hosts: str) -> Network:
    """Return a network in which each name, with ``_`` for ``.``, has this address."""

    def resolver(host: str) -> Sequence[IPAddress]:
        if host.replace(".", "_") not in hosts:
            raise OSError("there is no such host")
        return [ip_address(text) for text in hosts[host.replace(".", "_")].split()]

    return Network(resolver)


def test_an_allowed_server_answers(web: WebServer) -> None:
    web.answers["/a?b=c"] = Answer(201, (("X-Thing", "1"),), b"body")
    answer = fetch(f"http://127.0.0.1:{web.port}/a?b=c", LOOPBACK)
    assert (answer.status, answer.headers["x-thing"], answer.body) == (201, "1", b"body")


def test_a_server_on_loopback_is_not_asked_unless_it_is_allowed(web: WebServer) -> None:
    with pytest.raises(AddressError, match="loopback"):
        fetch(f"http://127.0.0.1:{web.port}/", OutgoingRule())
    assert web.asked == []


def test_a_name_with_an_address_on_loopback_is_not_asked(web: WebServer) -> None:
    with pytest.raises(AddressError, match=r"public.example has a loopback address"):
        fetch(f"http://public.example:{web.port}/", OutgoingRule(), network=names(public_example="127.0.0.1"))
    assert web.asked == []


def test_a_body_and_headers_are_sent(web: WebServer) -> None:
    fetch(f"http://127.0.0.1:{web.port}/", LOOPBACK, method="POST", headers={"X-Key": "k"}, body=b"data")
    method, path, headers, body = web.asked[0]
    assert (method, path, headers["X-Key"], body) == ("POST", "/", "k", b"data")


def test_the_host_is_looked_up_once_and_the_connection_goes_there(web: WebServer) -> None:
    answers = iter([["127.0.0.1"], ["10.0.0.1"], ["10.0.0.1"]])
    asked: list[str] = []

    def resolver(host: str) -> Sequence[IPAddress]:
        asked.append(host)
        return [ip_address(text) for text in next(answers)]

    fetch(f"http://rebound.example:{web.port}/", OutgoingRule(("127.0.0.0/8",)), network=Network(resolver))
    assert asked == ["rebound.example"]
    assert web.asked[0][2]["Host"] == f"rebound.example:{web.port}"


def test_a_host_with_an_address_that_does_not_answer_is_reached_at_the_next_one(web: WebServer) -> None:
    rule = OutgoingRule(("127.0.0.0/8",))
    answer = fetch(f"http://two.example:{web.port}/", rule, network=names(two_example="127.0.0.2 127.0.0.1"))
    assert answer.status == 200


def test_a_host_that_is_not_found_is_named() -> None:
    with pytest.raises(ServiceError, match=r"http://nowhere.example: .*no such host"):
        fetch("http://nowhere.example/", LOOPBACK, network=names())


def test_a_server_that_is_not_there_is_named() -> None:
    with serving() as gone:
        port = gone.port
    with pytest.raises(ServiceError, match=f"http://127.0.0.1:{port}: .*refused"):
        fetch(f"http://127.0.0.1:{port}/", LOOPBACK)


def test_a_lookup_that_takes_for_ever_ends_at_the_deadline() -> None:
    released = Event()

    def resolver(_: str) -> Sequence[IPAddress]:
        released.wait(60)
        return [ip_address("127.0.0.1")]

    try:
        with pytest.raises(ServiceError, match="not resolved in time"):
            fetch("http://slow.example/", LOOPBACK, seconds=0.05, network=Network(resolver))
    finally:
        released.set()


# Redirects


def test_redirects_are_followed_up_to_three(web: WebServer) -> None:
    web.redirect("/", "/1")
    web.redirect("/1", f"http://127.0.0.1:{web.port}/2", 308)
    web.redirect("/2", "3")
    answer = fetch(f"http://127.0.0.1:{web.port}/", LOOPBACK)
    assert (answer.status, answer.url) == (200, f"http://127.0.0.1:{web.port}/3")


def test_a_loop_of_redirects_ends(web: WebServer) -> None:
    web.redirect("/", "/again")
    web.redirect("/again", "/")
    with pytest.raises(ServiceError, match="redirects more than 3 times"):
        fetch(f"http://127.0.0.1:{web.port}/", LOOPBACK)
    assert len(web.asked) == 4


@pytest.mark.parametrize(
    "location",
    [
        "http://169.254.169.254/latest/meta-data/",
        "http://10.0.0.1/",
        "http://[::1]/",
        "http://2130706433/",
        "//10.0.0.1/",
        "file:///etc/passwd",
        "gopher://example.org/",
        "http://user:word@example.org/",
        "http://[",
        "http://inside.example/",
    ],
)
def test_a_redirect_is_checked_like_the_first_address(web: WebServer, location: str) -> None:
    web.redirect("/", location)
    with pytest.raises(AddressError):
        fetch(f"http://127.0.0.1:{web.port}/", LOOPBACK, network=names(inside_example="192.168.0.1"))


def test_headers_with_secrets_stay_with_the_origin(web: WebServer) -> None:
    with serving() as other:
        web.redirect("/", f"http://127.0.0.1:{other.port}/")
        secrets = {"Authorization": "Bearer s", "Cookie": "s", "X-Api-Key": "s", "Accept": "text/plain"}
        fetch(f"http://127.0.0.1:{web.port}/", LOOPBACK, headers=secrets)
        received = other.asked[0][2]
    assert received["Accept"] == "text/plain"
    assert not {"Authorization", "Cookie", "X-Api-Key"} & received.keys()


def test_headers_are_sent_again_to_the_same_origin(web: WebServer) -> None:
    web.redirect("/", "/next")
    fetch(f"http://127.0.0.1:{web.port}/", LOOPBACK, headers={"Authorization": "Bearer s"})
    assert web.asked[1][2]["Authorization"] == "Bearer s"


def test_the_redirect_of_a_post_is_its_answer(web: WebServer) -> None:
    web.redirect("/", "/next", 307)
    assert fetch(f"http://127.0.0.1:{web.port}/", LOOPBACK, method="POST", body=b"x").status == 307
    assert len(web.asked) == 1


def test_no_redirect_is_followed_where_none_is_wanted(web: WebServer) -> None:
    web.redirect("/", "/next")
    assert fetch(f"http://127.0.0.1:{web.port}/", LOOPBACK, redirects=0).status == 302


# Sizes and times


def test_an_answer_of_the_largest_size_is_read(web: WebServer) -> None:
    web.answers["/"] = Answer(body=b"x" * 1000)
    assert len(fetch(f"http://127.0.0.1:{web.port}/", LOOPBACK, largest=1000).body) == 1000


@pytest.mark.parametrize("start", [b"HTTP/1.0 200 OK\r\n", b"HTTP/1.1 200 OK\r\nConnection: close\r\n"])
def test_an_answer_that_ends_its_connection_is_read_to_its_end(start: bytes) -> None:
    def send_all(send: Callable[[bytes], None]) -> None:
        send(start + b"Content-Length: 500000\r\n\r\n" + b"x" * 500_000)

    with answering_raw(send_all) as port:
        assert len(fetch(f"http://127.0.0.1:{port}/", LOOPBACK).body) == 500_000


def test_a_larger_answer_is_refused(web: WebServer) -> None:
    web.answers["/"] = Answer(body=b"x" * 1001)
    with pytest.raises(ServiceError, match="more than 1,000 bytes"):
        fetch(f"http://127.0.0.1:{web.port}/", LOOPBACK, largest=1000)


def test_an_answer_without_a_length_ends_with_its_connection() -> None:
    sent = b"HTTP/1.0 200 OK\r\n\r\n" + b"x" * 100_000
    with answering_raw(lambda send: send(sent)) as port:
        assert fetch(f"http://127.0.0.1:{port}/", LOOPBACK).body == b"x" * 100_000


@pytest.mark.parametrize("length", [999, 1001])
def test_a_larger_answer_without_a_length_is_refused(length: int) -> None:
    sent = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n" % (length, b"x" * length)
    with answering_raw(lambda send: send(sent)) as port:
        if length <= 1000:
            assert len(fetch(f"http://127.0.0.1:{port}/", LOOPBACK, largest=1000).body) == length
        else:
            with pytest.raises(ServiceError, match="more than 1,000 bytes"):
                fetch(f"http://127.0.0.1:{port}/", LOOPBACK, largest=1000)


@pytest.mark.parametrize(("encoding", "pack"), [("gzip", gzip.compress), ("deflate", zlib.compress)])
def test_a_packed_answer_is_unpacked(web: WebServer, encoding: str, pack: Callable[[bytes], bytes]) -> None:
    web.answers["/"] = Answer(headers=(("Content-Encoding", encoding),), body=pack(b"x" * 1000))
    assert fetch(f"http://127.0.0.1:{web.port}/", LOOPBACK, largest=1000).body == b"x" * 1000


def test_a_bomb_is_refused(web: WebServer) -> None:
    web.answers["/"] = Answer(headers=(("Content-Encoding", "gzip"),), body=gzip.compress(bytes(50_000_000)))
    with pytest.raises(ServiceError, match="more than 100,000 bytes"):
        fetch(f"http://127.0.0.1:{web.port}/", LOOPBACK, largest=100_000)


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        ((("Content-Encoding", "br"),), b"x"),
        ((("Content-Encoding", "gzip, gzip"),), b"x"),
        ((("Content-Encoding", "gzip"),), b"no gzip"),
        ((("Content-Encoding", "gzip"),), gzip.compress(b"x" * 1000, mtime=0)[:-9]),
    ],
)
def test_an_answer_packed_otherwise_or_cut_short_is_refused(
    web: WebServer, headers: tuple[tuple[str, str], ...], body: bytes
) -> None:
    web.answers["/"] = Answer(headers=headers, body=body)
    with pytest.raises(ServiceError):
        fetch(f"http://127.0.0.1:{web.port}/", LOOPBACK)


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"no http\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
        b"HTTP/1.1 200 OK\r\n" + b"".join(b"X%d: y\r\n" % number for number in range(500)) + b"\r\n",
        b"HTTP/1.1 200 " + b"x" * 100_000 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"y" * 100_000 + b"\r\n\r\n",
        b"\x1b[31mHTTP/9 \xff\xfe\r\n\r\n",
    ],
)
def test_what_is_not_http_is_refused(sent: bytes) -> None:
    with answering_raw(lambda send: send(sent)) as port, pytest.raises(ServiceError) as failed:
        fetch(f"http://127.0.0.1:{port}/", LOOPBACK)
    assert str(failed.value).isprintable()


@pytest.mark.parametrize(
    "start",
    [
        b"HTTP/1.1 100 Continue\r\n",
        b"HTTP/1.1 200 OK\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n",
    ],
)
def test_a_server_that_sends_byte_by_byte_is_left_at_the_deadline(start: bytes) -> None:
    stopped = Event()

    def drip(send: Callable[[bytes], None]) -> None:
        send(start)
        while not stopped.wait(0.01):  # far below the timeout of a single read
            send(b"x")

    with answering_raw(drip) as port:
        try:
            with pytest.raises(ServiceError, match=r"in time|timed out"):
                fetch(f"http://127.0.0.1:{port}/", LOOPBACK, seconds=0.2)
        finally:
            stopped.set()


# Certificates


def trusting(certificate: Path, **hosts: str) -> Network:
    return Network(names(**hosts).resolver, ssl.create_default_context(cafile=str(certificate)))


def test_a_certificate_is_checked_for_the_name_that_was_looked_up(secure_web: WebServer, certificate: Path) -> None:
    network = trusting(certificate, allowed_example="127.0.0.1")
    answer = fetch(f"https://allowed.example:{secure_web.port}/", LOOPBACK, network=network)
    assert answer.status == 200
    assert secure_web.asked[0][2]["Host"] == f"allowed.example:{secure_web.port}"


def test_a_certificate_for_another_name_is_refused(secure_web: WebServer, certificate: Path) -> None:
    network = trusting(certificate, other_example="127.0.0.1")
    with pytest.raises(ServiceError, match="certificate is not valid"):
        fetch(f"https://other.example:{secure_web.port}/", LOOPBACK, network=network)
    assert secure_web.asked == []


def test_a_certificate_of_an_unknown_authority_is_refused(secure_web: WebServer) -> None:
    with pytest.raises(ServiceError, match="certificate is not valid"):
        fetch(f"https://127.0.0.1:{secure_web.port}/", LOOPBACK)
    assert secure_web.asked == []


def test_a_redirect_from_https_to_http_is_refused(web: WebServer, secure_web: WebServer, certificate: Path) -> None:
    secure_web.redirect("/", f"http://127.0.0.1:{web.port}/")
    with pytest.raises(AddressError, match="from https to http"):
        fetch(f"https://127.0.0.1:{secure_web.port}/", LOOPBACK, network=trusting(certificate))
    assert web.asked == []


def test_a_message_shows_no_secret_of_the_address() -> None:
    with serving() as gone:
        port = gone.port
    with pytest.raises(ServiceError) as failed:
        fetch(f"http://127.0.0.1:{port}/hook/s3cret?token=s3cret", LOOPBACK)
    assert "s3cret" not in str(failed.value)
