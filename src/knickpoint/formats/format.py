"""What is known of one format before its module is loaded."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Protocol, cast

from knickpoint.formats.toolbox.file_content import FileContent
from knickpoint.model.report import Problem, Report

Parsed = tuple[Report, tuple[Problem, ...]]
"""What reading returns: the report and its warnings. Errors are raised."""


class _Module(Protocol):
    """What the module of a format offers."""

    def fits(self, file: FileContent) -> bool: ...

    def read(self, file: FileContent) -> Parsed: ...


@dataclass(frozen=True, slots=True)
class Format:
    """A format that results files come in.

    Attributes:
        name: what ``--as`` takes.
        title: what people call it.
        suffixes: usual ends of file names, for showing; the content decides.
        verified: the tool and its version that wrote the files that the tests read, "" where there was none to run.
        note: what to know before using it: what is main, what stays out.
        module: the full name of the module that reads it, imported when first needed. It has two functions,
            ``fits(file: FileContent) -> bool``, which never raises, and ``read(file: FileContent) -> Parsed``.
        companions: files beside it that say more about it, as paths relative to it; the caller passes them by their
            last name.
    """

    name: str
    title: str
    suffixes: tuple[str, ...]
    verified: str
    note: str
    module: str
    companions: tuple[str, ...] = ()

    def fits(self, file: FileContent) -> bool:
        """Return True if ``file`` looks like this format. Never raises."""
        return self._loaded().fits(file)

    def matches(self, data: bytes) -> bool:
        """Return True if ``data`` look like this format. Never raises."""
        return self.fits(FileContent(data))

    def read(self, data: bytes | FileContent, *, name: str = "") -> Parsed:
        """Return the report in ``data`` and its warnings.

        Raises:
            FormatError: something breaks the format; the message names the place.
        """
        return self._loaded().read(data if isinstance(data, FileContent) else FileContent(data, name))

    def _loaded(self) -> _Module:
        return cast("_Module", import_module(self.module))
