"""Arrivals: results files as they came, with what was said beside them, and how they are read."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from knickpoint.formats import find_format, read_found, read_mapped, read_report
from knickpoint.formats.format import Parsed
from knickpoint.ingest.context.file_context import FileContext
from knickpoint.ingest.identity import digest_file
from knickpoint.model.errors import FormatError

__all__ = ["ResultsFile"]


@dataclass(frozen=True, slots=True)
class ResultsFile:
    """A results file as it came.

    Attributes:
        source: where from; what names the file among all others.
        data: its bytes.
        context: what was said beside it.
        companions: the files beside it that formats ask for, by their last name.
        found: nobody named it, it was met in a folder or a bucket; so it may be no results at all.
        written: when the file was written, where HEAD of a work tree may stand in for a commit that it does not name;
            None for what came from elsewhere or at another time.
        references: whether the commit that was given beside it may be a branch or a tag: it was given just now.
    """

    source: str
    data: bytes
    context: FileContext = field(default_factory=FileContext)
    companions: Mapping[str, bytes] = field(default_factory=dict)
    found: bool = False
    written: datetime | None = None
    references: bool = False

    def read(self, megabytes: int) -> Parsed | None:
        """Return what the file says; None where it was found and is nobody's results.

        Raises:
            FormatError: it has more than ``megabytes``, or cannot be read.
        """
        if len(self.data) > megabytes * 1_000_000:
            raise FormatError(
                f"the file has more than {megabytes} MB",
                where=self.source,
                remedy="Split it, or raise largest_megabytes in knickpoint.toml.",
            )
        if self.context.mapping:
            return read_mapped(self.data, self.context.mapping.encode(), name=self.source)
        wanted = self.context.told.format
        if self.found and not wanted:
            return read_found(self.data, name=self.source, companions=self.companions)
        return read_report(self.data, name=self.source, format=wanted, companions=self.companions)

    def digest(self, *told: Mapping[str, object]) -> str:
        """Return what the content is known by: of the bytes, and of all that was ``told`` beside them."""
        beside: dict[str, object] = {}
        for each in told:
            beside |= each
        if self.context.mapping:
            beside["mapping"] = self.context.mapping
        if self.companions:
            beside["companions"] = {name: digest_file(data, {}) for name, data in self.companions.items()}
        return digest_file(self.data, beside)

    def as_options(self, format: str = "") -> dict[str, object]:  # noqa: A002 - as everywhere in this room
        """Return what has to be kept with the bytes to read them again, as plain values.

        ``format`` is the one that the file was read as, "" where it could not be read.
        """
        asked = find_format(format).companions if format and not self.context.mapping else None
        kept = {
            name: base64.b64encode(zlib.compress(data)).decode()
            for name, data in self.companions.items()
            if asked is None or any(one.endswith(name) for one in asked)
        }
        options = self.context.as_options()
        return {**options, "companions": kept} if kept else options

    @classmethod
    def kept(cls, source: str, payload: bytes, options: Mapping[str, object]) -> ResultsFile:
        """Return a file as it was kept: its bytes packed by zlib, beside what :meth:`as_options` gave."""
        told = options.get("companions")
        companions = (
            {str(name): zlib.decompress(base64.b64decode(str(data))) for name, data in told.items()}
            if isinstance(told, Mapping)
            else {}
        )
        return cls(source, zlib.decompress(payload), FileContext.from_options(options), companions)
