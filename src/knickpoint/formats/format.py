"""What is known of one format before its module is loaded."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Protocol, cast

from knickpoint.formats.toolbox.file_content import FileContent
from knickpoint.model.report import Problem, Report

__all__ = ["Format", "Parsed"]

Parsed = tuple[Report, tuple[Problem, ...]]
"""What reading gives: the report, and the warnings that came with it. What is wrong is raised."""


class _Module(Protocol):
    """What a module of a format offers."""

    def fits(self, file: FileContent) -> bool: ...

    def read(self, file: FileContent) -> Parsed: ...


@dataclass(frozen=True, slots=True)
class Format:
    """A format that results files come in.

    Attributes:
        name: what ``--as`` takes.
        title: what people call it.
        suffixes: usual ends of file names, for showing; the content decides.
        verified: the tool and its version that wrote the files our tests read, "" where we could get none.
        note: what to know before using it: what is main, what stays out.
        module: the module of this package that reads it, loaded when first needed.
        companions: files beside it that tell more about it, as paths from where it stands; whoever reads files
            hands them over by their last name.
    """

    name: str
    title: str
    suffixes: tuple[str, ...]
    verified: str
    note: str
    module: str
    companions: tuple[str, ...] = ()

    def fits(self, file: FileContent) -> bool:
        """Tell whether ``file`` looks like this format. Never raises."""
        return self._loaded().fits(file)

    def matches(self, data: bytes) -> bool:
        """Tell whether ``data`` look like this format. Never raises."""
        return self.fits(FileContent(data))

    def read(self, data: bytes | FileContent, *, name: str = "") -> Parsed:
        """Return what ``data`` say, and warnings.

        Raises:
            FormatError: something is not as the format has it; the message names the place.
        """
        return self._loaded().read(data if isinstance(data, FileContent) else FileContent(data, name))

    def _loaded(self) -> _Module:
        return cast("_Module", import_module(f"knickpoint.formats.{self.module}"))
