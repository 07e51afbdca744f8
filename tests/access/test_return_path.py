"""Where a browser may return to after a sign-in."""

from __future__ import annotations

from urllib.parse import urljoin, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knickpoint.access.sessions import return_path


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/triage",
        "/trace/12?from=3&to=9",
        "/explore?q=benchmark%3Dparse%20os!%3Dlinux",
        "/explore?q=a~b/../c&next=https://example.org//x",
        "/trace/3#change-7",
        "/sign-ins",
    ],
)
def test_a_path_of_this_server_is_kept(path: str) -> None:
    assert return_path(path) == path


@pytest.mark.parametrize(
    "path",
    [
        "",
        "triage",
        "//evil.example",
        "///evil.example",
        "/\\evil.example",
        "\\\\evil.example",
        "\\/evil.example",
        "/%2Fevil.example",
        "/%2fevil.example",
        "/%5Cevil.example",
        "/%5cevil.example",
        "/%252Fevil.example",
        "/%09/evil.example",
        "/\t/evil.example",
        "/\n/evil.example",
        "/\r\nSet-Cookie: a=b",
        "/%0d%0aSet-Cookie:%20a=b",
        "/ /evil.example",
        " //evil.example",
        "/.//evil.example",
        "/..//evil.example",
        "/a/..//evil.example",
        "/%2e%2e//evil.example",
        "/./x",
        "/a/../x",
        "https://evil.example",
        "https:evil.example",
        "HTTPS:/evil.example",
        "javascript:alert(1)",
        "data:text/html,x",
        "@evil.example",
        "/é",
        "/\u2215evil.example",
        "/\uff0fevil.example",
        "/\x00",
        "/sign-in",
        "/sign-in?next=/",
        "/sign-in/keycloak",
        "/sign-out",
        "/signed-out",
        "/%73ign-in",
        "/" + "a" * 1_500,
    ],
)
def test_everything_else_is_the_first_page(path: str) -> None:
    assert return_path(path) == "/"


@given(st.text(st.sampled_from("/\\.%2F5Cc09a \t\n\r:@?#evil\u2215"), max_size=14))
def test_no_path_leads_to_another_host(text: str) -> None:
    path = return_path(text)
    # A browser reads a backslash as a slash, and leaves tabs and line ends out.
    seen = path.replace("\\", "/").translate({ord(letter): None for letter in "\t\r\n"})
    assert urlsplit(urljoin("https://perf.example.org/sign-in/k/callback", seen)).netloc == "perf.example.org"
