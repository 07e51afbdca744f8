"""Keep one comment in a pull request: find it by its first line, update it, and repair what two jobs at once did."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, Protocol

from knickpoint.model.errors import InputError
from knickpoint.notify.channel import DeliveryError, RefusedError
from knickpoint.notify.trackers.rest import Rest

_MARK: Final = "<!-- knickpoint "

_RESULT: Final = re.compile(r"<!-- knickpoint result: (?P<happened>\w+) -->\s*\Z")
"""The last line of a report, which says whether anything changed, or is worse."""


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment that the holder of the token wrote: its id, its text and its page."""

    id: str
    body: str
    url: str = ""


class When(Enum):
    """When a pull request gets a comment; one that it has is always updated."""

    ALWAYS = "always"
    CHANGED = "changed"
    WORSE = "worse"

    def covers(self, body: str) -> bool:
        """Whether a report is one of those that are posted; one that does not say what happened is."""
        found = _RESULT.search(body)
        happened = found["happened"] if found else "worse"
        return self is When.ALWAYS or happened == "worse" or (self is When.CHANGED and happened == "changed")


class Posted(Enum):
    """What became of a comment."""

    CREATED = "created"
    UPDATED = "updated"
    SAME = "unchanged"
    OUTDATED = "outdated"
    LEFT_OUT = "left out"


class CommentThread(Protocol):
    """The comments of one pull request."""

    def head(self) -> str:
        """Return the newest commit of the pull request, "" where it is closed."""

    def written(self) -> Sequence[Comment]:
        """Return the comments that the holder of the token wrote, the oldest first."""

    def create(self, body: str) -> None:
        """Add a comment."""

    def update(self, comment: Comment, body: str) -> None:
        """Replace the text of a comment."""

    def delete(self, comment: Comment) -> None:
        """Delete a comment."""


def post_comment(thread: CommentThread, body: str, *, commit: str = "", when: When = When.ALWAYS) -> Posted:
    """Write ``body`` into the comment that has the same first line; add the comment where there is none.

    A pull request that has a newer commit than ``commit``, or is closed, keeps its comment: the answer would be about
    what is gone. ``when`` says which reports begin a comment. Two jobs that add a comment at the same time end with
    one: each looks again, and the oldest stays.

    Raises:
        InputError: the first line is not a marker.
        DeliveryError: the forge refuses, or does not answer.
    """
    mark = body.partition("\n")[0]
    if not mark.startswith(_MARK) or not mark.endswith("-->"):
        raise InputError(
            "the report has no marker as its first line",
            where="FILE",
            remedy="Give the file that knick check --report markdown=FILE wrote.",
        )
    if commit and thread.head() != commit:
        return Posted.OUTDATED
    found = _marked(thread, mark)
    if found:
        return _keep_oldest(thread, body, found)
    if not when.covers(body):
        return Posted.LEFT_OUT
    _create(thread, body, mark)
    _keep_oldest(thread, body, _marked(thread, mark))
    return Posted.CREATED


def _marked(thread: CommentThread, mark: str) -> list[Comment]:
    """Return the comments that begin with ``mark``; forges may change the ends of lines."""
    return [comment for comment in thread.written() if comment.body.partition("\n")[0].strip() == mark]


def _create(thread: CommentThread, body: str, mark: str) -> None:
    """Add the comment; where the answer is lost, the list says whether it arrived."""
    try:
        thread.create(body)
    except DeliveryError as error:
        if not error.unclear or not _marked(thread, mark):
            raise


def _keep_oldest(thread: CommentThread, body: str, found: Sequence[Comment]) -> Posted:
    """Write ``body`` into the oldest comment, and delete what another job added beside it."""
    if not found:
        return Posted.CREATED  # the list of the forge is behind
    oldest, *others = found
    same = _lines(oldest.body) == _lines(body)
    if not same:
        thread.update(oldest, body)
    for other in others:
        thread.delete(other)
    return Posted.SAME if same else Posted.UPDATED


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip().splitlines()]


# Ask the API of a forge with patience: a rate limit is waited for, a request that only reads is repeated.


_MOST_ATTEMPTS: Final = 4
_PAUSE_SECONDS: Final = 2.0
"""The first pause where the forge does not say how long to wait; each further one is twice as long."""


@dataclass(frozen=True, slots=True)
class PatientRest:
    """Requests that wait at most ``patience`` seconds in all for one answer.

    Attributes:
        rest: the API.
        patience: the longest wait for one request, in seconds. A job costs money while it waits.
        pause: waits for so many seconds.
    """

    rest: Rest
    patience: float = 120.0
    pause: Callable[[float], None] = time.sleep

    def ask(self, method: str, path: str, *, body: Mapping[str, object] | None = None) -> Any:
        """Send a request, and return the JSON of its answer.

        Raises:
            DeliveryError: the forge refuses, or asks to wait for longer than there is patience.
        """
        return self._repeated(lambda: self.rest.ask(method, path, body=body)[1], reads=method == "GET")

    def list(self, path: str, query: Mapping[str, str]) -> list[Any]:
        """Return all values of a list, from all of its pages; a page that fails begins the list again.

        Raises:
            DeliveryError: as for :meth:`ask`.
        """
        found: list[Any] = self._repeated(lambda: list(self._values(path, query)), reads=True)
        return found

    def _values(self, path: str, query: Mapping[str, str]) -> Iterator[Any]:
        for _, page in self.rest.pages(path, query):
            yield from page

    def _repeated(self, request: Callable[[], Any], *, reads: bool) -> Any:
        left = self.patience
        for attempt in range(_MOST_ATTEMPTS):
            try:
                return request()
            except DeliveryError as error:
                wait = error.wait_seconds or _PAUSE_SECONDS * 2**attempt
                if attempt + 1 == _MOST_ATTEMPTS or wait > left or not _may_repeat(error, reads=reads):
                    raise
                left -= wait
                self.pause(wait)
        raise AssertionError  # the last attempt returns or raises


def _may_repeat(error: DeliveryError, *, reads: bool) -> bool:
    """Return True if the same request may succeed later, and does nothing twice.

    A rate limit refuses before anything is done. What broke in the middle may be repeated where it only reads.
    """
    if error.wait_seconds and not error.unclear:
        return True
    if not reads or error.lasting:
        return False
    return not isinstance(error, RefusedError) or error.status >= 500 or error.status in {408, 429}
