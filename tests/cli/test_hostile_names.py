"""Hostile names from results, commits and people: through imports, commands, a terminal, the API, metrics and exports."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from tests.cli.conftest import Knick
from tests.hostile_names import CONTROLS, HOSTILE, make_hostile
from tests.server.client import Client

from knickpoint.instance import Instance, open_instance
from knickpoint.model.params import decode_key
from knickpoint.model.plain_text import guarded, unguarded
from knickpoint.model.query import parse_query
from knickpoint.server import create_app

_DANGEROUS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
_COLOURS = re.compile(r"\x1b\[(?:2|31|32|33|0)m")
"""The colours of the program itself."""
COMMANDS = (
    "changes",
    "changes --format json",
    "changes --format csv",
    "triage 1 --acknowledge --note {note}",
    "history",
    "explain 1",
    "explain 1 --format json",
    "ingest status",
    "ingest quarantine",
    "ingest unmeasured",
    "doctor",
    "alerts list",
    "tickets list",
    "audit",
    "audit --format csv",
    "tokens create {note}",
    "tokens list",
    "check {note}",
    "import {note}",
    "export",
    "export --format json",
)
NOTE = "\x1b[31m\u202e=cmd<b>\x9b31m\nnext"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make, once, an instance with hostile names in everything."""
    directory = tmp_path_factory.mktemp("hostile")
    make_hostile(directory)
    return directory / "instance"


@pytest.fixture
def hostile(place: Path) -> Iterator[Instance]:
    """Open the instance with hostile names."""
    with open_instance(place) as instance:
        yield instance


def test_every_hostile_name_is_imported_as_it_is(hostile: Instance) -> None:
    ids = hostile.store.traces.select(hostile.store.commits.repository("main"), parse_query(""))
    names = {decode_key(trace.key)["benchmark"] for trace in hostile.store.traces.get(ids)}
    assert names == set(HOSTILE.values())


@pytest.mark.long
def test_no_command_controls_the_terminal(place: Path) -> None:
    """Each command writes to a real terminal, as one process that runs them all."""
    program = (
        "import json, sys\n"
        "from knickpoint.cli.program import main\n"
        "for arguments in json.loads(sys.argv[1]):\n"
        "    sys.argv[1:] = arguments\n"
        "    try:\n"
        "        main()\n"
        "    except SystemExit:\n"
        "        print('ended', arguments[0])\n"
    )
    lines = [[part.format(note=NOTE) for part in line.split()] for line in COMMANDS]
    leader, follower = pty.openpty()
    wide = os.environ | {"COLUMNS": "1000"}  # no name is wrapped
    process = subprocess.Popen(
        [sys.executable, "-c", program, json.dumps(lines)],
        cwd=place,
        env=wide,
        stdin=follower,
        stdout=follower,
        stderr=follower,
    )
    os.close(follower)
    shown = bytearray()
    with suppress(OSError):  # a terminal ends with an error
        while block := os.read(leader, 65536):
            shown += block
    os.close(leader)
    assert process.wait() == 0
    text = shown.decode()
    assert [name for name in {line[0] for line in lines} if f"ended {name}" not in text] == []
    assert "Traceback" not in text
    assert _DANGEROUS.findall(_COLOURS.sub("", text.replace("\r\n", "\n"))) == []
    assert json.dumps(HOSTILE["html"])[1:-1] in text  # it did show them


@pytest.mark.parametrize("command", ["changes --format csv", "export", "audit --format csv"])
def test_no_cell_of_csv_is_a_formula(place: Path, knick: Knick, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    monkeypatch.chdir(place)
    rows = list(csv.reader(io.StringIO(knick(*command.split()).output)))
    cells = [cell for row in rows for cell in row]
    assert len(rows) > 1
    assert [cell for cell in cells if re.match(r"[=+@\t\r]|-(?![0-9.])", cell)] == []


def test_an_export_with_hostile_names_comes_back(place: Path, knick: Knick, tmp_path: Path) -> None:
    with_units = knick("export", "--instance", place).output
    (tmp_path / "points.csv").write_text(with_units)
    knick("init", tmp_path / "other")
    assert knick("import", tmp_path / "points.csv", "--instance", tmp_path / "other").code == 0
    assert knick("export", "--instance", tmp_path / "other").output == with_units


@pytest.mark.parametrize("text", [*HOSTILE.values(), *CONTROLS.values(), "", "'", "''=x", "'=x", "-1.5", "-x", "'-1"])
def test_a_guarded_cell_is_read_back(text: str) -> None:
    assert unguarded(guarded(text)) == text


@pytest.mark.long
def test_every_answer_of_the_api_is_json_that_no_browser_shows_as_a_page(hostile: Instance) -> None:
    app = create_app(hostile)
    client = Client(app)
    addresses = [
        path.replace("{", "").replace("}", "") for path, kinds in app.openapi()["paths"].items() if "get" in kinds
    ]
    addresses += [f"/api/v1/traces?query={text}" for text in ("benchmark~pwned", "benchmark=*")]
    addresses += [
        "/api/v1/changes",
        "/api/v1/traces/1",
        "/api/v1/changes/1",
        "/api/v1/runs?trace=1",
        f"/api/v1/{NOTE!r}",
    ]
    for address in addresses:
        answer = client.get(address)
        assert answer.status_code != 500, address
        assert answer.headers["x-content-type-options"] == "nosniff", address
        assert "html" not in answer.headers.get("content-type", "") or "pwned" not in answer.text, address
    assert any("pwned" in client.get(address).text for address in addresses)


def test_metrics_have_a_line_for_each_sample(hostile: Instance) -> None:
    metrics = Client(create_app(hostile)).get("/api/v1/metrics").text
    assert _DANGEROUS.findall(metrics) == []
    assert [line for line in metrics.splitlines() if not re.match(r"# |[a-zA-Z_:][\w:]*(\{.*\})? \S+$", line)] == []
