"""Two versions of Knickpoint side by side over one store, while the newer one replaces the older one."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest
from sqlalchemy import text
from tests.instance.disturbance import Visitors, assert_logged, live, results, undisturbed_instance, values
from tests.instance.programs import Programs
from tests.store.conftest import Cluster, free_port
from tests.store.conftest import cluster as cluster  # noqa: PLC0414  # a fixture
from tests.waiting import wait_until

import knickpoint
from knickpoint.instance import CONFIG_FILE, Instance, create_instance, open_instance
from knickpoint.store import EventKind
from knickpoint.store.schema import HEAD

_FILES = 60
_NEXT = f"{int(HEAD) + 1:04d}"

_MIGRATION = """
import sqlalchemy as sa
from alembic import op

revision = "{revision}"
down_revision = "{before}"
branch_labels = None
depends_on = None
OLDER_PROGRAMS_GO_ON = {gentle}


def upgrade() -> None:
    op.create_table("region", sa.Column("id", sa.Integer, primary_key=True))
    for table in ("run", "change_point", "decision", "worker", "outbox_event"):
        op.add_column(table, sa.Column("region", sa.Text, nullable=False, server_default="north"))
    op.create_index("ix_worker_region", "worker", ["region"])
"""


def next_version(folder: Path, *, gentle: bool) -> Path:
    """Copy the package, and give the copy one more migration, of whose column its table of workers knows."""
    package = Path(knickpoint.__path__[0])
    copy = folder / ("gentle" if gentle else "strict") / "knickpoint"
    shutil.copytree(package, copy, ignore=shutil.ignore_patterns("__pycache__", "static"))
    migration = copy / "store" / "migrations" / "versions" / f"{_NEXT}_region.py"
    migration.write_text(_MIGRATION.format(revision=_NEXT, before=HEAD, gentle=gentle))
    table = copy / "store" / "tables" / "access.py"
    before = 'Column("machine", exact_text, nullable=False, server_default=""),\n'
    known = table.read_text()
    assert before in known
    table.write_text(known.replace(before, before + '    Column("region", exact_text, server_default="north"),\n'))
    return copy.parent


@dataclass
class Deployment:
    """Processes of one or of two versions over one store."""

    directory: Path
    programs: Programs
    ports: dict[str, int] = field(default_factory=dict)

    def start(self, name: str, version: Path | None = None) -> None:
        """Start API, worker and imports of a version, by default of the one under test."""
        self.ports[name] = free_port()
        self.programs.serve(name, "--port", str(self.ports[name]), variables={"PYTHONPATH": str(version or "")})

    def api(self, name: str) -> str:
        return f"http://127.0.0.1:{self.ports[name]}/api/v1"

    def ready(self, name: str) -> httpx.Response | None:
        with suppress(httpx.HTTPError):
            return httpx.get(f"{self.api(name)}/ready", timeout=10)
        return None

    def is_ready(self, name: str) -> bool:
        answer = self.ready(name)
        return answer is not None and answer.status_code == 200


@pytest.fixture
def deployment(tmp_path: Path, cluster: Cluster) -> Iterator[Deployment]:
    cluster.execute("CREATE DATABASE versions")
    directory = tmp_path / "instance"
    create_instance(directory, store=cluster.url("versions"), repositories={"main": ""}, as_work=True).close()
    with (directory / CONFIG_FILE).open("a", encoding="utf-8") as config:
        config.write("[worker]\nlease_seconds = 5\npoll_seconds = 0.1\n")
    made = Deployment(directory, Programs(directory))
    yield made
    made.programs.kill()
    cluster.execute("DROP DATABASE versions WITH (FORCE)")


@pytest.fixture
def undisturbed(tmp_path: Path) -> Iterator[Instance]:
    """Import the same files with one version, and judge them."""
    with undisturbed_instance(tmp_path / "calm", _FILES) as instance:
        yield instance


@pytest.mark.long
@pytest.mark.postgres
@pytest.mark.timeout(600)
def test_two_versions_take_results_and_decisions_side_by_side(
    deployment: Deployment, undisturbed: Instance, tmp_path: Path
) -> None:
    deployment.start("old")
    wait_until("the old version is ready", lambda: deployment.is_ready("old"))
    old = Visitors(deployment.api("old"), _FILES, 0.2, name="old")
    old.start()
    wait_until("the old version stored results", lambda: len(old.stored) >= 5)
    deployment.start("new", next_version(tmp_path, gentle=True))
    wait_until("the new version is ready", lambda: deployment.is_ready("new"))
    with open_instance(deployment.directory) as instance, instance.store.database.reading() as connection:
        assert connection.execute(text("SELECT version_num FROM alembic_version")).scalar_one() == _NEXT
    new = Visitors(deployment.api("new"), _FILES, 0.2, name="new")
    new.start()
    wait_until("both stored everything", lambda: old.wait(0) and new.wait(0), seconds=180)
    with open_instance(deployment.directory) as instance:
        outbox = instance.store.outbox
        wait_until(
            "all results are judged",
            lambda: all(each.kind is not EventKind.TRACES_CHANGED for each in outbox.pending()),
            seconds=180,
        )
        wait_until("people decided", lambda: min(len(old.decided), len(new.decided)) >= 3)
        old.stop()
        new.stop()
        assert [deployment.is_ready(name) for name in ("old", "new")] == [True, True]
        assert [deployment.programs.end(name) for name in ("old", "new")] == [0, 0]
        assert (values(instance), live(instance)) == (values(undisturbed), live(undisturbed))
        for visitors in (old, new):
            assert_logged(instance, visitors)
        assert outbox.dead() == []


@pytest.mark.long
@pytest.mark.postgres
@pytest.mark.timeout(300)
def test_a_migration_that_older_programs_do_not_survive_stops_them_and_says_so(
    deployment: Deployment, tmp_path: Path
) -> None:
    deployment.start("old")
    wait_until("the old version is ready", lambda: deployment.is_ready("old"))
    deployment.start("new", next_version(tmp_path, gentle=False))
    wait_until("the new version is ready", lambda: deployment.is_ready("new"))
    answer = deployment.ready("old")
    assert answer is not None
    assert answer.status_code == 503
    assert f"has schema {_NEXT}, this version of Knickpoint knows up to {HEAD}" in answer.json()["error"]
    query = {"name": "late", "repository": "main"}
    late = httpx.post(f"{deployment.api('old')}/results", params=query, content=results(0), timeout=30)
    assert (late.status_code, f"has schema {_NEXT}" in late.json()["error"]) == (503, True)
    deployment.start("again")
    assert deployment.programs.wait("again") == 2
    assert f"this version of Knickpoint knows up to {HEAD}" in deployment.programs.log("again").read_text()
