"""Write the bill of materials of a release as CycloneDX: what the wheel contains, and what it is installed with.

It contains the packages that the dashboard is bundled with, in the versions of ``package-lock.json``. It is installed
with the Python packages of ``requirements/runtime.txt``, in the versions that the tests run with; pip may choose newer
ones.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote
from uuid import NAMESPACE_URL, uuid5

__all__ = ["bill_of_materials"]

_PINNED: Final = re.compile(r"^([\w.-]+)==(\S+)([^#]*)((?:\n    #.*)+)", re.MULTILINE)
"""A requirement: name, version, marker and hashes, and the comment that names who needs it."""

_FOR_BUILDING: Final = frozenset({"setuptools", "setuptools-scm", "vcs-versioning"})


def bill_of_materials(top: Path, version: str, license_expression: str, seconds: int) -> str:
    """Return the document for the release ``version`` of the tree at ``top``.

    Args:
        top: the source tree.
        version: the version of the release.
        license_expression: the licence of the release, as SPDX writes it.
        seconds: the time of the release, in seconds since 1970; the same release gives the same document.
    """
    bundled, installed = list(_bundled(top)), dict(_installed(top))
    release = f"pkg:pypi/knickpoint@{quote(version)}"
    needed = sorted(each["bom-ref"] for each, users in installed.values() if "knickpoint" in users)
    document = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid5(NAMESPACE_URL, release)}",
        "version": 1,
        "metadata": {
            "timestamp": datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z"),
            "component": {
                "type": "application",
                "bom-ref": release,
                "name": "knickpoint",
                "version": version,
                "purl": release,
                "licenses": [{"expression": license_expression}],
                "components": bundled,
            },
        },
        "components": [component for component, _ in installed.values()],
        "dependencies": [
            {"ref": release, "dependsOn": needed},
            *({"ref": each["bom-ref"], "dependsOn": _needs(name, installed)} for name, (each, _) in installed.items()),
        ],
    }
    return json.dumps(document, indent=2) + "\n"


def _bundled(top: Path) -> Iterable[dict[str, Any]]:
    """Yield the packages that the dashboard is bundled with: those whose licences Vite wrote beside it."""
    page = top / "src" / "knickpoint" / "server" / "static" / "third-party-licenses.md"
    names = re.findall(r"^## (\S+) - (\S+) \(", page.read_text(encoding="utf-8"), re.MULTILINE)
    locked = json.loads((top / "frontend" / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    for name, version in names:
        entry = locked[f"node_modules/{name}"]
        algorithm, _, digest = entry["integrity"].partition("-")
        package = f"pkg:npm/{quote(name)}@{version}"
        yield {
            "type": "library",
            "bom-ref": package,
            "name": name,
            "version": version,
            "purl": package,
            "licenses": [{"expression": entry["license"]}],
            "hashes": [{"alg": algorithm.upper().replace("SHA", "SHA-"), "content": base64.b64decode(digest).hex()}],
        }


def _installed(top: Path) -> Iterable[tuple[str, tuple[dict[str, Any], frozenset[str]]]]:
    """Yield the pinned Python packages by name, each with the names of the packages that need it."""
    text = (top / "requirements" / "runtime.txt").read_text(encoding="utf-8")
    for name, version, _, comment in _PINNED.findall(text):
        users = frozenset(re.findall(r"#\s+(?:via )?([\w.-]+)", comment)) - {"via"}
        if name in _FOR_BUILDING or users <= _FOR_BUILDING:
            continue
        package = f"pkg:pypi/{name}@{version}"
        component = {
            "type": "library",
            "bom-ref": package,
            "name": name,
            "version": version,
            "scope": "required" if name == "numpy" else "optional",
            "purl": package,
        }
        yield name, (component, users)


def _needs(name: str, installed: Mapping[str, tuple[dict[str, Any], frozenset[str]]]) -> list[str]:
    return sorted(component["bom-ref"] for component, users in installed.values() if name in users)
