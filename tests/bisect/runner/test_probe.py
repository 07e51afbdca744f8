"""A probe checks a commit out, builds and measures it, and reads what it wrote.

Whatever goes wrong is one clear line.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.bisect.runner.projects import KEY, job, project, recipe, script
from tests.repositories import GitRepository

from knickpoint.bisect.job import ProbeJob
from knickpoint.bisect.runner import Workspace, run_probe
from knickpoint.ingest.settings import IngestSettings, Rename
from knickpoint.model.bisection import ProbeOutcome, ProbeResult

Make = Callable[[str], GitRepository]


@pytest.fixture
def repository(new_repository: Make) -> GitRepository:
    return new_repository("project")


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path / "workspace")


def _probe(repository: GitRepository, workspace: Workspace, **changes: object) -> ProbeResult:
    commit = repository.git("rev-parse", "HEAD")
    return run_probe(job(repository, commit, recipe(**changes)), workspace, "here")


def test_a_probe_measures_the_commit_and_not_the_checkout(repository: GitRepository, workspace: Workspace) -> None:
    first, _ = project(repository, [10.0, 20.0])
    (repository.directory / "value.txt").write_text("99")
    result = run_probe(job(repository, first, recipe(repeats=3)), workspace, "here")
    assert result.outcome is ProbeOutcome.MEASURED
    assert result.measured[KEY].value == pytest.approx(10.0, abs=0.011)
    assert len(result.measured[KEY].samples) == 3
    assert result.measured[KEY].unit == "ms"
    assert [file.name for file in result.files] == ["out.json", "run-2/out.json", "run-3/out.json"]


def test_the_repository_of_the_user_is_not_touched(repository: GitRepository, workspace: Workspace) -> None:
    project(repository, [10.0])
    before = {path: path.stat().st_mtime_ns for path in repository.directory.rglob("*")}
    assert _probe(repository, workspace).outcome is ProbeOutcome.MEASURED
    assert {path: path.stat().st_mtime_ns for path in repository.directory.rglob("*")} == before


def test_traces_are_named_as_an_import_names_them(repository: GitRepository, workspace: Workspace) -> None:
    (commit,) = project(repository, [10.0])
    ingest = IngestSettings(renames=(Rename({"benchmark": "render"}, {"benchmark": "draw"}),))
    plain = job(repository, commit, recipe())
    named = ProbeJob("B1-1", plain.target, plain.recipe, plain.locations, "B1", ingest=ingest, added_params={"os": "x"})
    assert set(run_probe(named, workspace, "here").measured) == {",benchmark=draw,os=x,", ",benchmark=load,os=x,"}


def test_a_second_probe_of_a_commit_uses_the_build_of_the_first(
    repository: GitRepository, workspace: Workspace
) -> None:
    project(repository, [10.0])
    assert _probe(repository, workspace).built
    again = _probe(repository, workspace)
    assert not again.built
    assert again.outcome is ProbeOutcome.MEASURED


def test_what_a_build_made_is_kept_when_its_worktree_is_gone(repository: GitRepository, workspace: Workspace) -> None:
    project(repository, [10.0])
    assert _probe(repository, workspace, artefact=("built.txt",)).built
    workspace.make_room(0)
    once = (sys.executable, "-c", "raise SystemExit('built again')")
    again = _probe(repository, workspace, artefact=("built.txt",))
    assert not again.built
    assert again.outcome is ProbeOutcome.MEASURED
    assert _probe(repository, workspace, artefact=("built.txt",), build=once).outcome is ProbeOutcome.SKIPPED


def test_a_finished_build_is_taken_from_a_directory(
    repository: GitRepository, workspace: Workspace, tmp_path: Path
) -> None:
    (commit,) = project(repository, ["broken"])
    finished = tmp_path / "builds" / commit
    finished.mkdir(parents=True)
    (finished / "built.txt").write_text("30")
    result = _probe(repository, workspace, prebuilt=str(tmp_path / "builds" / "{commit}"))
    assert result.measured[KEY].value == pytest.approx(30, abs=0.02)
    assert not result.built


def test_worktrees_beyond_the_space_are_deleted(repository: GitRepository, tmp_path: Path) -> None:
    project(repository, [10.0])
    workspace = Workspace(tmp_path / "small", space_megabytes=0)
    assert _probe(repository, workspace).outcome is ProbeOutcome.MEASURED
    assert list((tmp_path / "small" / "trees").iterdir()) == []


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"build": script("raise SystemExit(125)")}, "build ended with exit code 125"),
        (
            {"build": script("print('no such header')", "raise SystemExit(2)")},
            "build ended with exit code 2: no such header",
        ),
        ({"build": script("import time", "time.sleep(60)"), "build_seconds": 0.3}, "build ran for more than 0.3 s"),
        ({"prepare": ("/no/such/program",)}, "the prepare command '/no/such/program' cannot be started: No such file"),
        ({"measure": script("raise SystemExit(3)")}, "measure ended with exit code 3"),
        ({"measure": script("import os", "os.kill(os.getpid(), 11)")}, "measure was ended by SIGSEGV"),
        ({"measure": script("pass")}, "out.json: the measure command wrote no results. Let it"),
        ({"measure": script("open('out.json', 'wb').write(bytes(range(256)) * 99)")}, "out.json: "),
        ({"measure": script("open('out.json', 'w').write('[]')")}, "out.json: "),
        (
            {"measure": script("import os", "os.symlink('/etc/passwd', 'out.json')")},
            "out.json: the measure command wrote no",
        ),
        ({"results": ("value.txt",)}, "value.txt: the results were not written by this run"),
    ],
)
def test_what_cannot_be_measured_is_skipped_with_a_reason(
    repository: GitRepository, workspace: Workspace, changes: dict[str, object], reason: str
) -> None:
    project(repository, [10.0])
    result = _probe(repository, workspace, **changes)
    assert result.outcome is ProbeOutcome.SKIPPED
    assert result.reason.startswith(reason)
    assert "\n" not in result.reason


@pytest.mark.parametrize(
    ("code", "outcome"),
    [(0, ProbeOutcome.PASSED), (1, ProbeOutcome.FAILED), (125, ProbeOutcome.SKIPPED), (-9, ProbeOutcome.FAILED)],
)
def test_without_results_the_exit_code_is_the_answer(
    repository: GitRepository, workspace: Workspace, code: int, outcome: ProbeOutcome
) -> None:
    project(repository, [10.0])
    ending = f"raise SystemExit({code})" if code >= 0 else "import os; os.kill(os.getpid(), 9)"
    assert _probe(repository, workspace, measure=script(ending), results=()).outcome is outcome


def test_a_command_that_deletes_its_worktree_spoils_no_later_probe(
    repository: GitRepository, workspace: Workspace
) -> None:
    (commit,) = project(repository, ["1"])
    settings = recipe(results=(), measure=("sh", "-c", 'rm -rf "$KNICKPOINT_WORKTREE"'))
    run_probe(job(repository, commit, settings), workspace, "here")
    result = run_probe(job(repository, commit, settings), workspace, "here")
    assert "cannot be started" not in result.reason
    assert result.built


def test_a_test_that_hangs_fails(repository: GitRepository, workspace: Workspace) -> None:
    project(repository, [10.0])
    hang = script("import signal, time", "signal.signal(15, signal.SIG_IGN) if 0 else None", "time.sleep(60)")
    result = _probe(repository, workspace, measure=hang, measure_seconds=0.3, results=())
    assert (result.outcome, result.reason) == (ProbeOutcome.FAILED, "test ran for more than 0.3 s")


def test_a_command_sees_few_variables(
    repository: GitRepository, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    project(repository, [10.0])
    monkeypatch.setenv("MALLOC_ARENA_MAX", "1")
    shown = script("import os", "print(sorted(set(os.environ) - {'LC_CTYPE', 'TZ'}))", "raise SystemExit(1)")
    result = _probe(repository, workspace, measure=shown, results=(), environment={"THREADS": "2"})
    names = ["COMMIT", "DEVICE", "PROBE", "RUN", "WORKTREE"]
    expected = sorted(["HOME", "LANG", "PATH", "THREADS", *(f"KNICKPOINT_{name}" for name in names)])
    assert result.reason.endswith(str(expected))


def test_no_process_of_a_command_outlives_it(repository: GitRepository, workspace: Workspace, tmp_path: Path) -> None:
    project(repository, [10.0])
    note = tmp_path / "process"
    escape = script(
        "import subprocess, sys",
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(99)'], start_new_session=True)",
        f"open({str(note)!r}, 'w').write(str(child.pid))",
    )
    assert _probe(repository, workspace, measure=escape, results=()).outcome is ProbeOutcome.PASSED
    assert _gone(int(note.read_text()))


def _gone(process: int) -> bool:
    """Return whether a process has ended; one that its parent has not asked for yet has ended as well."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            if Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except OSError:
            return True
    return False


def test_the_end_of_long_output_is_kept(repository: GitRepository, workspace: Workspace) -> None:
    project(repository, [10.0])
    noisy = script("print('x' * 5_000_000)", "print('the end')", "raise SystemExit(1)")
    result = _probe(repository, workspace, measure=noisy, results=())
    assert result.reason == "test ended with exit code 1: the end"
    assert len(result.output) < 20_000


def test_a_command_that_leaves_too_little_of_the_disk_is_ended(repository: GitRepository, tmp_path: Path) -> None:
    project(repository, [10.0])
    workspace = Workspace(tmp_path / "workspace")
    free = os.statvfs(tmp_path).f_bavail * os.statvfs(tmp_path).f_frsize // 1_000_000
    almost = Workspace(workspace.directory, least_free_megabytes=free - 300)  # other tests write there as well
    fill = script(
        "import os, time",
        "with open('large', 'wb') as file:",
        "    os.posix_fallocate(file.fileno(), 0, 700_000_000)",
        "time.sleep(60)",
    )
    result = _probe(repository, almost, measure=fill)
    assert result.outcome is ProbeOutcome.SKIPPED
    assert result.reason == "the measure command filled the disk, and was ended"


def test_a_full_disk_is_the_fault_of_the_device(repository: GitRepository, tmp_path: Path) -> None:
    project(repository, [10.0])
    result = _probe(repository, Workspace(tmp_path / "workspace", least_free_megabytes=10**9))
    assert result.outcome is ProbeOutcome.LOST
    assert "MB of the disk are free" in result.reason


def test_an_unknown_commit_is_named(repository: GitRepository, workspace: Workspace) -> None:
    project(repository, [10.0])
    result = run_probe(job(repository, "ab" * 20, recipe()), workspace, "here")
    assert result.outcome is ProbeOutcome.LOST
    assert "abababab" in result.reason


def test_a_probe_is_cancelled_in_the_middle_of_a_command(repository: GitRepository, workspace: Workspace) -> None:
    (commit,) = project(repository, [10.0])
    begun = threading.Event()
    slow = job(repository, commit, recipe(measure=script("import time", "time.sleep(60)")))
    result = run_probe(
        slow,
        workspace,
        "here",
        cancelled=begun.is_set,
        progress=lambda step: begun.set() if step == "measure" else None,
    )
    assert (result.outcome, result.reason) == (ProbeOutcome.LOST, "cancelled")


@pytest.mark.parametrize(
    "name", ["--upload-pack=touch hacked", "-x", "a\nb", "out\n.json", "ü \u202e", "$(touch hacked)"]
)
def test_hostile_names_in_a_repository_do_no_harm(repository: GitRepository, workspace: Workspace, name: str) -> None:
    project(repository, [10.0])
    (repository.directory / name).write_text("x")
    repository.git("add", ".")
    commit = repository.commit(f"{name}\n\n{name}")
    repository.git("update-ref", f"refs/heads/{'-x' if name == '-x' else 'plain'}", commit)
    write = script("import os", f"open({name + '.json'!r}, 'w').write(open('value.txt').read())", "print('seen')")
    result = _probe(repository, workspace, measure=write, results=("*.json",))
    assert result.outcome is ProbeOutcome.SKIPPED  # it is not a results file; the checkout has worked
    assert "seen" in result.output
    assert result.reason.isprintable()


def test_nothing_of_the_repository_runs_at_the_checkout(repository: GitRepository, workspace: Workspace) -> None:
    project(repository, [10.0])
    trap = repository.directory / ".git" / "hooks" / "post-checkout"
    trap.parent.mkdir(exist_ok=True)
    trap.write_text(f"#!/bin/sh\ntouch {repository.directory}/hacked\n")
    trap.chmod(0o755)
    repository.git("config", "filter.trap.smudge", f"touch {repository.directory}/hacked; cat")
    repository.git("config", "core.fsmonitor", f"touch {repository.directory}/hacked")
    (repository.directory / ".gitattributes").write_text("* filter=trap\n")
    repository.git("add", ".gitattributes")
    repository.commit("Filter all files")
    (repository.directory / "hacked").unlink(missing_ok=True)
    assert _probe(repository, workspace).outcome is ProbeOutcome.MEASURED
    assert not (repository.directory / "hacked").exists()


@pytest.mark.long
def test_what_a_killed_runner_left_behind_is_removed(
    repository: GitRepository, workspace: Workspace, tmp_path: Path
) -> None:
    (commit,) = project(repository, [10.0])
    note = tmp_path / "process"
    hang = f"import os, time; open({str(note)!r}, 'w').write(str(os.getpid())); time.sleep(99)"
    program = (
        "from tests.bisect.runner.projects import *\n"
        "from knickpoint.bisect.runner import Workspace, run_probe\n"
        "from pathlib import Path\n"
        f"settings = recipe(measure=(sys.executable, '-c', {hang!r}))\n"
        f"run_probe(job(GitRepository(Path({str(repository.directory)!r})), {commit!r}, settings),"
        f" Workspace(Path({str(workspace.directory)!r})), 'here')\n"
    )
    root = Path(__file__).parents[3]
    runner = subprocess.Popen([sys.executable, "-c", program], cwd=root, env={**os.environ, "PYTHONPATH": str(root)})
    deadline = time.monotonic() + 30
    while not (note.exists() and note.read_text()) and time.monotonic() < deadline:
        assert runner.poll() is None
    runner.send_signal(signal.SIGKILL)
    runner.wait()
    (next(workspace.directory.glob("repositories/*.git")) / "packed-refs.lock").touch()
    assert _probe(repository, workspace).outcome is ProbeOutcome.MEASURED
    assert _gone(int(note.read_text()))
