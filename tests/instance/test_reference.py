from __future__ import annotations

import dataclasses
from pathlib import Path

from knickpoint.ingest.sidecar import SIDECAR, SIDECAR_SUFFIX, Sidecar
from knickpoint.instance.config.reference import configuration_page

_DOCS = Path(__file__).parents[2] / "docs"


def test_the_reference_page_agrees_with_the_code() -> None:
    assert (_DOCS / "reference" / "configuration.md").read_text(encoding="utf-8") == configuration_page()


def test_every_setting_has_its_meaning() -> None:
    rows = [line for line in configuration_page().splitlines() if line.startswith("| `")]
    assert [row for row in rows if row.endswith("|  |")] == []


def test_the_guide_names_every_key_of_sidecars() -> None:
    guide = (_DOCS / "guide" / "ingest.md").read_text(encoding="utf-8")
    missing = [each.name for each in dataclasses.fields(Sidecar) if each.name not in guide]
    assert missing == []
    assert SIDECAR in guide
    assert SIDECAR_SUFFIX in guide
