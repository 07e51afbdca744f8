"""An instance with two groups of traces that move at different commits, and one whose values are all the same."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np

from knickpoint.ingest import import_files
from knickpoint.instance import Instance, create_instance

__all__ = ["COMMITS", "FLAT", "LATE", "LATER", "SOON", "SOONER", "generated"]

COMMITS: Final = 80
SOON, LATE = 25, 55
"""Where the traces of arm get slower, and those of x86 with gcc faster."""

SOONER, LATER, FLAT = 12, 8, 10
"""How many traces move soon, move late, and do not move."""


def generated(directory: Path) -> Instance:
    """Make the instance in ``directory``, with the repository ``made``."""
    random = np.random.default_rng(7)
    groups = [("arm", "gcc", SOONER, SOON, 1.1), ("x86", "gcc", LATER, LATE, 0.9), ("x86", "clang", FLAT, 0, 1.0)]
    rows = ["commit,time,arch,compiler,benchmark,unit,value"]
    for commit in range(COMMITS):
        for arch, compiler, count, at, factor in groups:
            for number in range(count):
                noise = 0.02 * random.standard_normal() if at else 0.0
                value = 100 * (factor if commit >= at else 1) * (1 + noise)
                day = f"2026-01-{1 + commit // 24:02d}T{commit % 24:02d}:00:00Z"
                rows.append(f"{commit + 1:040x},{day},{arch},{compiler},bench-{number},ms,{value:.5f}")
    results = directory / "results.csv"
    results.write_text("\n".join([*rows, ""]), encoding="utf-8")
    opened = create_instance(directory / "instance")
    import_files(opened, [results], repository="made")
    return opened
