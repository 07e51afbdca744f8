"""Ask the REST API of a tracker: JSON in both directions, pages by Link header, errors in the tracker's words."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import urlencode

from knickpoint.notify.channel import DeliveryError, Exchange, origin_of, refusal
from knickpoint.outgoing import Fetched

MOST_PAGES: Final = 100
"""Pages that one list may have; the rest of it comes with the next sync."""

_NEXT: Final = re.compile(r"<([^<>]*)>\s*;[^,]*\brel=\"?next\"?")
_NOT_MODIFIED: Final = 304


@dataclass(frozen=True, slots=True)
class Rest:
    """The API at ``base``. ``token`` is kept out of every message."""

    base: str
    exchange: Exchange
    token: str = field(repr=False)

    def ask(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, object] | None = None,
        etag: str = "",
    ) -> tuple[Fetched, Any]:
        """Send a request, and return the answer with its JSON; None for 204, 205 and 304.

        Raises:
            DeliveryError: it is neither 2xx nor, where an ``etag`` was given, 304; or it is not JSON.
        """
        address = path if path.startswith(("http://", "https://")) else self.base + path
        headers = {"Content-Type": "application/json"} if body is not None else {}
        if etag:
            headers["If-None-Match"] = etag
        answer = self.exchange.ask(
            f"{address}?{urlencode(query)}" if query else address,
            method=method,
            headers=headers,
            body=None if body is None else json.dumps(body).encode(),
        )
        if etag and answer.status == _NOT_MODIFIED:
            return answer, None
        if not 200 <= answer.status < 300:
            raise refusal(answer, origin_of(self.base), now=self.exchange.clock(), detail=self._detail(answer))
        if not answer.body.strip():
            return answer, None
        try:
            return answer, json.loads(answer.body)
        except (ValueError, RecursionError) as error:
            raise DeliveryError(
                "its answer is not JSON",
                where=origin_of(self.base),
                remedy="Check the address of the API in server.",
                unclear=method != "GET",
            ) from error

    def pages(self, path: str, query: Mapping[str, str], *, etag: str = "") -> Iterator[tuple[Fetched, list[Any]]]:
        """Yield each page of a list with its answer; nothing where ``etag`` still names the first one."""
        address, given = path, dict(query)
        for _ in range(MOST_PAGES):
            answer, values = self.ask("GET", address, query=given, etag=etag)
            if answer.status == _NOT_MODIFIED:
                return
            if not isinstance(values, list):
                raise DeliveryError(
                    "its answer is not a list", where=origin_of(self.base), remedy="Check the address of the API."
                )
            yield answer, values
            following = _NEXT.search(answer.headers.get("link", ""))
            if following is None:
                return
            address, given, etag = following[1], {}, ""
            if origin_of(address) != origin_of(self.base):  # the token stays with the tracker
                raise DeliveryError(
                    f"its next page is at {origin_of(address)}",
                    where=origin_of(self.base),
                    remedy="Give the public address of the API in server.",
                    lasting=True,
                )

    def _detail(self, answer: Fetched) -> str:
        """Return the error of the tracker on one line, without the token."""
        try:
            found = json.loads(answer.body[:100_000])
        except (ValueError, RecursionError):
            return ""
        words: list[str] = []
        if isinstance(found, dict):
            for name in ("message", "error", "error_description", "errorMessages", "errors"):
                words += _texts(found.get(name))
        text = "; ".join(dict.fromkeys(words))
        return text.replace(self.token, "…") if self.token else text


def _texts(value: object) -> list[str]:
    match value:
        case str():
            return [value] if value else []
        case list():
            return [text for each in value[:10] for text in _texts(each)]
        case dict():
            return [f"{name}: {text}" for name, each in list(value.items())[:10] for text in _texts(each)]
    return []


def text_of(value: object, *names: str) -> str:
    """Return the text at ``names`` within a JSON object, "" where there is none."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, str) else str(value) if isinstance(value, int) and value is not True else ""


def texts_of(value: object, names: str, name: str) -> list[str]:
    """Return the texts at ``name`` of each object in the list at ``names`` within a JSON object."""
    found = value.get(names) if isinstance(value, dict) else None
    return [text_of(each, name) for each in found] if isinstance(found, list) else []


def time_of(text: str) -> datetime | None:
    """Read a time as trackers write it, with or without a colon in its offset; None where it is none."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found.astimezone(UTC) if found.tzinfo else None


def later(first: str, second: str) -> str:
    """Return the later of two times as text; what is not a time is earlier than each time."""
    times = [time_of(first), time_of(second)]
    return second if times[1] and (times[0] is None or times[1] > times[0]) else first
