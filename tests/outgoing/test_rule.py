"""Which addresses may be contacted: how they are read, the ranges that are refused, and what the operator allows."""

from __future__ import annotations

from ipaddress import ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knickpoint.model.errors import AddressError, ConfigError
from knickpoint.outgoing import OutgoingRule, check_address
from knickpoint.outgoing.rule import IPAddress, check_hosts, unwrap

_NOTHING = OutgoingRule()

SPECIAL = (
    "127.0.0.1",
    "127.255.255.254",
    "0.0.0.0",
    "0.1.2.3",
    "10.0.0.1",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.1.1",
    "100.64.0.1",
    "100.100.100.200",
    "169.254.169.254",
    "168.63.129.16",
    "192.0.0.192",
    "192.0.2.1",
    "192.88.99.1",
    "198.18.0.1",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "239.255.255.255",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::2",
    "::7f00:1",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "::ffff:169.254.169.254",
    "64:ff9b::7f00:1",
    "64:ff9b::10.0.0.1",
    "64:ff9b:1::7f00:1",
    "100::1",
    "2001::1",
    "2001:db8::1",
    "2002:7f00:1::",
    "2002:808:808::",
    "3fff::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fec0::1",
    "ff02::1",
    "4000::1",
    "8000::1",
)
"""Addresses that are not hosts of the public Internet: a range or a form each."""

PUBLIC = (
    "1.1.1.1",
    "8.8.8.8",
    "9.255.255.255",
    "11.0.0.1",
    "100.63.255.255",
    "100.128.0.1",
    "126.255.255.255",
    "128.0.0.1",
    "169.253.255.255",
    "172.15.255.255",
    "172.32.0.1",
    "192.167.255.255",
    "223.255.255.255",
    "2606:4700::1111",
    "2a00:1450::1",
    "::ffff:8.8.8.8",
    "64:ff9b::8.8.8.8",
)
"""Neighbours of those ranges, and public addresses in their IPv6 forms."""

OTHER_SPELLINGS = (
    "127.1",
    "127.0.1",
    "2130706433",
    "0x7f000001",
    "0x7f.1",
    "0x7f.0.0.0x1",
    "0177.0.0.1",
    "017700000001",
    "127.0.0.01",
    "127.000.000.001",
    "0",
    "127.0.0.1.0x0",
    "0x",
    "1.2.3.4.5",
    "999.1.1.1",
    "example.1",
)
"""Hosts that some resolvers read as an IPv4 address; the last label is a number."""


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


@pytest.mark.parametrize("host", SPECIAL)
def test_an_address_that_is_not_public_is_refused(host: str) -> None:
    with pytest.raises(AddressError, match="must not be contacted"):
        check_address(f"http://{_bracketed(host)}/", _NOTHING)


@pytest.mark.parametrize("host", PUBLIC)
def test_a_public_address_is_allowed(host: str) -> None:
    assert check_address(f"https://{_bracketed(host)}/", _NOTHING).ip == ip_address(host)


@pytest.mark.parametrize("host", SPECIAL)
def test_a_name_that_has_such_an_address_is_refused(host: str) -> None:
    address = check_address("https://public.example/", _NOTHING)
    with pytest.raises(AddressError, match=r"public\.example has"):
        check_hosts(address, [ip_address("8.8.8.8"), ip_address(host)], _NOTHING)


@pytest.mark.parametrize("host", OTHER_SPELLINGS)
@pytest.mark.parametrize("dot", ["", "."])
def test_an_ip_address_in_another_spelling_is_refused(host: str, dot: str) -> None:
    with pytest.raises(AddressError, match="unusual spelling"):
        check_address(f"http://{host}{dot}/", OutgoingRule(("0.0.0.0/0",)))


@pytest.mark.parametrize("host", ["127.0.0.1.", "[::1%25lo]", "[::1%lo]", "[0:0:0:0:0:0:0:1]", "[::FFFF:7F00:1]"])
def test_loopback_with_a_dot_an_interface_or_written_out_is_refused(host: str) -> None:
    with pytest.raises(AddressError):
        check_address(f"http://{host}/", _NOTHING)


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "ftp://example.org/",
        "gopher://example.org/",
        "ext::sh -c id",
        "ssh://example.org/",
        "javascript:alert(1)",
        "data:text/plain,x",
        "//example.org/",
        "example.org",
        "",
        "http:",
        "http:///path",
        "http:example.org",
        "https://user@example.org/",
        "https://user:word@example.org/",
        "https://:@example.org/",
        "https://example.org@127.0.0.1/",
        "https://example.org:0/",
        "https://example.org:65536/",
        "https://example.org:80a/",
        "https://example.org\\@127.0.0.1/",
        "https://example.org /",
        " https://example.org/",
        "https://exa\nmple.org/",
        "https://exa\tmple.org/",
        "https://example.org/\r\nX: y",
        "https://example.org/\x00",
        "https://ⓛocalhost/",
        "https://①②⑦.⓪.⓪.①/",
        "https://127。0。0。1/",
        "https://еxample.org/",
        "https://exa%6dple.org/",
        "https://example..org/",
        "https://.example.org/",
        "https://-example.org/",
        "https://example.org../",
        "https://" + "a" * 64 + ".org/",
        "https://" + "a." * 127 + "org/",
        "https://[::1/",
        "https://[v1.x]/",
        "https://[example.org]/",
        "https://example.org/" + "a" * 8200,
    ],
)
def test_an_address_that_two_programs_may_read_differently_is_refused(url: str) -> None:
    with pytest.raises(AddressError):
        check_address(url, OutgoingRule(("0.0.0.0/0", "::/0", "example.org", "localhost")))


def test_an_address_is_read_into_its_parts() -> None:
    address = check_address("HTTPS://Example.ORG.:8443/a%20b?c=d#e", _NOTHING)
    assert (address.scheme, address.host, address.port, address.target) == ("https", "example.org", 8443, "/a%20b?c=d")
    assert address.url == "https://example.org:8443/a%20b?c=d"


@pytest.mark.parametrize(
    ("allowed", "host"),
    [
        ("10.1.0.0/16", "10.1.2.3"),
        ("10.1.2.3", "10.1.2.3"),
        ("10.1.0.0/16", "::ffff:10.1.2.3"),
        ("fd00::/8", "fd00::1"),
        ("127.0.0.0/8", "127.0.0.1"),
        ("::1", "::1"),
    ],
)
def test_an_allowed_network_is_reached(allowed: str, host: str) -> None:
    assert check_address(f"http://{_bracketed(host)}/", OutgoingRule((allowed,))).ip == ip_address(host)


def test_an_allowed_network_allows_nothing_else() -> None:
    with pytest.raises(AddressError):
        check_address("http://10.2.0.1/", OutgoingRule(("10.1.0.0/16",)))


def test_an_allowed_name_may_have_any_address() -> None:
    rule = OutgoingRule(("Tracker.Internal.",))
    check_hosts(check_address("http://tracker.internal/", rule), [ip_address("10.0.0.1")], rule)


@pytest.mark.parametrize("host", ["tracker.internal.example.org", "a.tracker.internal", "tracker-internal"])
def test_an_allowed_name_is_compared_whole(host: str) -> None:
    rule = OutgoingRule(("tracker.internal",))
    with pytest.raises(AddressError):
        check_hosts(check_address(f"http://{host}/", rule), [ip_address("10.0.0.1")], rule)


@pytest.mark.parametrize(
    "text", ["10.1.2.3/16", "10.0.0.0/40", "ünicode.example", "a b", "http://a/", "", "127.1", "*.x"]
)
def test_what_is_neither_a_network_nor_a_name_cannot_be_allowed(text: str) -> None:
    with pytest.raises(ConfigError, match="neither a network nor a host name"):
        OutgoingRule((text,))


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/x", "http://[::1]:9/", "http://tracker.internal/"])
def test_the_host_of_a_configured_address_is_allowed_as_well(url: str) -> None:
    rule = OutgoingRule().also(url)
    check_hosts(check_address(url, rule), [ip_address("127.0.0.1" if "[" not in url else "::1")], rule)


def test_a_message_shows_no_secret_of_the_address() -> None:
    for url in (
        "https://user:s3cret@10.0.0.1/s3cret?s3cret",
        "ftp://s3cret@x/s3cret",
        "https://x y/s3cret?s3cret#s3cret",
    ):
        with pytest.raises(AddressError) as refused:
            check_address(url, _NOTHING)
        assert "s3cret" not in str(refused.value)


@given(st.ip_addresses())
def test_what_is_allowed_is_public_by_the_registry_of_the_standard_library(address: IPAddress) -> None:
    try:
        check_address(f"http://{_bracketed(str(address))}/", _NOTHING)
    except AddressError:
        return
    reached = unwrap(address)
    assert reached.is_global
    assert not reached.is_multicast
    assert not reached.is_reserved
