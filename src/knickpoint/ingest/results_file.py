"""Results files as they arrive: their bytes, and what is known beside them."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from knickpoint.formats import find_format
from knickpoint.ingest.context.file_context import FileContext
from knickpoint.store.array_codec import decompressed

__all__ = ["ResultsFile"]


@dataclass(frozen=True, slots=True)
class ResultsFile:
    """A results file as it arrives.

    Attributes:
        source: the path or URL that names the file among all others.
        data: its bytes.
        context: what is known beside it.
        companions: the files beside it that formats ask for, by their last name.
        found: whether it was found in a folder or a bucket, not named by a person; it may then hold no results.
        written: when the file was written, where HEAD of a work tree may be the commit that it does not name; None for
            a file that comes from elsewhere or from another time.
        references: whether the commit stated beside it may be a branch or a tag, because it was stated just now.
    """

    source: str
    data: bytes
    context: FileContext = field(default_factory=FileContext)
    companions: Mapping[str, bytes] = field(default_factory=dict)
    found: bool = False
    written: datetime | None = None
    references: bool = False

    def as_options(self, format: str = "") -> dict[str, object]:  # noqa: A002 - as everywhere in this room
        """Return, as plain values, what is kept with the bytes so that they can be read again.

        ``format`` is the one that the file was read as, "" where it could not be read. Only the companions that this
        format asks for are kept.
        """
        asked = find_format(format).companions if format and not self.context.mapping else None
        kept = {
            name: base64.b64encode(zlib.compress(data)).decode()
            for name, data in self.companions.items()
            if asked is None or any(path.endswith(name) for path in asked)
        }
        options = self.context.as_options()
        return {**options, "companions": kept} if kept else options

    @classmethod
    def kept(cls, source: str, payload: bytes, options: Mapping[str, object]) -> ResultsFile:
        """Return a file from what the store kept: its bytes compressed by zlib, and the values of :meth:`as_options`.

        Raises:
            StoreError: they are damaged.
        """
        stored = options.get("companions")
        companions = (
            {str(name): decompressed(str(data)) for name, data in stored.items()} if isinstance(stored, Mapping) else {}
        )
        return cls(source, decompressed(payload), FileContext.from_options(options), companions)
