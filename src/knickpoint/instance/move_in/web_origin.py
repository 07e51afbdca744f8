"""Fetch what another tool published: ``data.js`` of github-action-benchmark, or a site of asv."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Final
from urllib.parse import quote, urlsplit, urlunsplit

from knickpoint.instance.move_in.origin import ACTION, Origin, OriginFile, site_origin
from knickpoint.model.errors import InputError, ServiceError
from knickpoint.outgoing import OutgoingRule, fetch

__all__ = ["find_published_origin"]

_OK: Final = 200
_ABSENT: Final = frozenset({404, 410})
_SECONDS: Final = 120.0
_AT_ONCE: Final = 8
_HISTORIES: Final = ("data.js", "dev/bench/data.js")
"""Where the action publishes: at the address, or in its default directory below it."""


def find_published_origin(
    address: str, rule: OutgoingRule, megabytes: int, progress: Callable[[int, int], None] | None = None
) -> Origin:
    """Return what stands at ``address``: a file ``data.js`` or ``index.json``, or the page that shows it.

    Args:
        address: the address, whose host may be contacted because a person named it.
        rule: which other hosts redirects may lead to.
        megabytes: the largest file that is fetched.
        progress: is called with the number of graphs that are fetched, and the number of all.

    Raises:
        InputError: there is nothing of the kind.
        ServiceError: the host does not answer as it should.
    """
    also = rule.also(address)

    def read(url: str) -> bytes | None:
        answer = fetch(url, also, largest=megabytes * 1_000_000, seconds=_SECONDS)
        if answer.status in _ABSENT:
            return None
        if answer.status != _OK:
            raise ServiceError(
                f"it answers {answer.status}", where=url, remedy="Check the address, and who may read it."
            )
        return answer.body

    parts = urlsplit(address)
    plain = urlunsplit((parts.scheme, parts.netloc, parts.path, "", ""))
    if plain.endswith(".js"):
        return _action_origin(plain, read)
    top = plain.removesuffix("index.json").removesuffix("index.html").rstrip("/") + "/"
    if not plain.endswith("index.json"):
        for name in _HISTORIES:
            if (data := read(top + name)) is not None:
                return _action_origin(top + name, lambda _, data=data: data)  # type: ignore[misc]
    index = read(f"{top}index.json")
    if index is None:
        raise InputError(
            "no history of asv or github-action-benchmark is published here",
            where=address,
            remedy="Name the page with the plots; it stands beside data.js, or index.json of asv.",
        )

    def read_all(paths: list[str]) -> Iterator[bytes | None]:
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            yield from pool.map(lambda path: read(top + quote(path)), paths)

    return site_origin(
        top,
        lambda name: index if name == "index.json" else read(top + quote(name)),
        read_all=read_all,
        progress=progress,
    )


def _action_origin(url: str, read: Callable[[str], bytes | None]) -> Origin:
    data = read(url)
    if data is None:
        raise InputError("there is no such file", where=url, remedy="Correct the address.")
    return Origin(ACTION, url, lambda: iter((OriginFile(url, data),)))
