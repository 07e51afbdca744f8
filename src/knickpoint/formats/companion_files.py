"""Files that tools leave beside results, and that hold none themselves."""

from __future__ import annotations

import re
from typing import Final

from knickpoint.formats.toolbox.file_content import FileContent

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
