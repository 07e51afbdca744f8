"""Lazy names of packages: the module of a name is imported when the name is first asked for."""

from __future__ import annotations

import subprocess
import sys

import pytest

import knickpoint.ingest
from knickpoint.model.lazy_names import lazy_names


def test_a_lazy_name_is_that_of_its_module() -> None:
    from knickpoint.ingest import retry_waiting
    from knickpoint.ingest.retries import retry_waiting as defined

    assert retry_waiting is defined


def test_an_unknown_name_is_an_attribute_error_with_both_names() -> None:
    with pytest.raises(AttributeError, match=r"'knickpoint\.ingest' has no attribute 'nothing'"):
        lazy_names("knickpoint.ingest", {"something": "knickpoint.ingest.retries"})("nothing")
    assert not hasattr(knickpoint.ingest, "nothing")


@pytest.mark.parametrize("module", ["knickpoint.bisect.pool.probe_process", "knickpoint.cli.commands.bisect"])
def test_the_start_of_a_probe_and_of_the_command_loads_no_database_and_no_arrays(module: str) -> None:
    loaded = f"import sys, {module}; print(*sorted({{'sqlalchemy', 'numpy', 'distributed'}} & set(sys.modules)))"
    ended = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == ""


def test_the_runner_reads_results_only_of_recipes_that_have_some() -> None:
    loaded = "import sys, knickpoint.bisect.runner; print('numpy' in sys.modules)"
    ended = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == "False"
