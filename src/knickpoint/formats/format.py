"""What is known of one format before its module is loaded, and of files that tools leave beside results."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import import_module
from typing import Final, Protocol, cast

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


_MACHINE: Final = {"arch", "cpu", "machine", "num_cpu", "os", "ram", "version"}
LOCUST_HISTORY: Final = "Timestamp,User Count,Type,Name,"
_LOCUST: Final = (LOCUST_HISTORY, "Method,Name,Error,Occurrences", "Count,Message,Traceback")
"""How Locust's tables begin that are not results of a run: by second, of failures, and of exceptions."""
_FORMER: Final = re.compile(r"(?:^|/)(?:base|change)/(?:sample|estimates)\.json$")


def companion_of(data: bytes | FileContent, *, name: str = "") -> str:
    """Return the name of the format whose results ``data`` stand beside, "" where they may be results themselves.

    Whoever reads whole folders leaves such files alone. They are: asv's ``benchmarks.json`` and ``machine.json``;
    of Criterion, what describes a benchmark, its fences (``tukey.json``), and by their path (``base/``,
    ``change/``) the results of a former run, which belong to another commit; of Locust, the tables by second, of
    failures and of exceptions.
    """
    file = data if isinstance(data, FileContent) else FileContent(data, name)
    if file.readable[:200].replace('"', "").startswith(_LOCUST):
        return "locust"
    document = file.document
    if isinstance(document, list):
        return "criterion" if len(document) == 4 and all(isinstance(fence, float) for fence in document) else ""
    if not isinstance(document, dict):
        return ""
    if _is_of_criterion(document, file.name.replace("\\", "/")):
        return "criterion"
    return "asv" if _is_of_asv(document) else ""


def _is_of_criterion(document: dict[str, object], name: str) -> bool:
    former = _FORMER.search(name) is not None and bool({"iters", "mean"} & document.keys())
    return former or {"group_id", "full_id"} <= document.keys()


def _is_of_asv(document: dict[str, object]) -> bool:
    described = [value for key, value in document.items() if key != "version"]
    names = {"name", "param_names"}
    if described and all(isinstance(value, dict) and names <= value.keys() for value in described):
        return True
    return {"machine", "arch"} <= document.keys() <= _MACHINE
