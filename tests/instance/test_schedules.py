"""The schedules of an instance: real commits, real builds and measurements, and what the store has of them."""

from __future__ import annotations

import json
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.instance.schedule_world import CONFIG, ScheduleWorld
from tests.repositories import GitRepository
from tests.server.client import Client

from knickpoint.cli.program import knick as program
from knickpoint.ingest import import_data
from knickpoint.ingest.sidecar import Sidecar
from knickpoint.instance import Worker, read_config
from knickpoint.instance.schedules import schedule_status
from knickpoint.model.errors import ConfigError
from knickpoint.server import create_app
from knickpoint.store.schedules import ChosenCommit, ScheduledProbeState, SchedulePurpose
from knickpoint.watch.alert_run.run import run_alerts


@pytest.fixture(scope="module")
def measured_once(tmp_path_factory: pytest.TempPathFactory) -> ScheduleWorld:
    """Return a world with one commit, which the schedule has measured."""
    made = ScheduleWorld.make(tmp_path_factory.mktemp("measured"))
    made.commit()
    made.now += timedelta(hours=2)
    made.run()
    with made.open() as instance:
        run_alerts(instance.store, instance.alerts)
    return made


@pytest.fixture(scope="module")
def with_finding(measured_once: ScheduleWorld, tmp_path_factory: pytest.TempPathFactory) -> ScheduleWorld:
    """Return a world with twelve commits that a CI measured, a batch of sixteen with a slow one inside, and six more."""
    made = measured_once.copy(tmp_path_factory.mktemp("finding") / "world")
    levels = [10.0] * 12 + [10.0] * 5 + [12.0] * 11 + [12.0] * 6
    made.commits = made.commit_levels(levels)
    with made.open() as instance:
        made.rounds(instance).follow()
        rows = [
            f"{made.commits[number]},parse,ms,{levels[number] + 0.01 * ((number * 7) % 5)}\n"
            for number in [*range(12), *range(27, 34)]
        ]
        content = "commit,benchmark,unit,value\n" + "".join(rows)
        import_data(instance, content.encode(), source="ci.csv", stated=Sidecar(repository="lib"))
    made.now = datetime.now(UTC)
    return made


@pytest.fixture
def world(measured_once: ScheduleWorld, tmp_path: Path) -> ScheduleWorld:
    """Return a world with one commit, which the schedule has measured."""
    return measured_once.copy(tmp_path / "world")


@pytest.fixture
def finding(with_finding: ScheduleWorld, tmp_path: Path) -> ScheduleWorld:
    """Return a world with a finding whose range has sixteen commits."""
    copied = with_finding.copy(tmp_path / "finding")
    found_range(copied)
    return copied


def test_the_newest_of_so_many_commits_is_measured_and_imported(world: ScheduleWorld) -> None:
    commits = [world.commit(10 + place) for place in range(4)]
    world.run()
    assert world.measured()[1:] == [commits[3]]
    with world.open() as instance:
        repository = instance.store.commits.repository("lib")
        found = instance.store.commits.find(repository, commits[3])
        assert found is not None
        (run,) = instance.store.runs.at(repository, [found.slot])
        assert {"schedule": "nightly", "device": "alpha"}.items() <= run.environment.items()


def test_the_list_of_schedules_says_what_is_measured_and_what_waits(world: ScheduleWorld) -> None:
    world.commit()
    with world.open() as instance:
        world.rounds(instance).follow()
        (schedule,) = Client(create_app(instance)).get("/api/v1/schedules").json()
        status, probes = (
            CliRunner().invoke(program, ["schedule", name, "--format", "json", "--instance", str(instance.directory)])
            for name in ("status", "probes")
        )
    assert (json.loads(status.output), json.loads(probes.output)) == ([schedule], schedule["newest"])
    assert (schedule["name"], schedule["repository"], schedule["policy"]) == (
        "nightly",
        "lib",
        "every 4 commits or 60 min",
    )
    assert (schedule["new"], schedule["states"], schedule["fill_spent_hours"]) == (1, {"measured": 1}, 0.0)
    assert [(each["purpose"], each["state"], each["device"]) for each in schedule["newest"]] == [
        ("new", "measured", "alpha")
    ]


def test_fewer_commits_wait_for_their_time(world: ScheduleWorld) -> None:
    commits = [world.commit() for _ in range(2)]
    world.now = world.time_of_newest + timedelta(minutes=58)
    world.run()
    assert world.measured()[1:] == []
    world.now += timedelta(minutes=1)
    world.run()
    assert world.measured()[1:] == [commits[1]]


def test_a_commit_is_measured_once_whoever_asks(world: ScheduleWorld) -> None:
    commits = [world.commit() for _ in range(4)]
    world.run()
    with world.open() as instance:
        repository = instance.store.commits.repository("lib")
        again = ChosenCommit(commits[3], purpose=SchedulePurpose.REQUESTED)
        instance.store.schedules.add(repository, "nightly", [again], world.now)
    world.run()
    assert world.measured().count(commits[3]) == 1


def test_a_commit_that_cannot_be_built_is_noted_and_not_tried_again(world: ScheduleWorld) -> None:
    for _ in range(3):
        world.commit()
    (world.lib.directory / "level").unlink()
    world.lib.git("add", "--all")
    broken = world.lib.commit("Remove the level")
    for _ in range(3):
        world.run()
    (_, probe) = world.probes()
    assert (probe.choice.commit, probe.state, probe.attempts) == (broken, ScheduledProbeState.SKIPPED, 1)
    assert "build" in probe.reason
    assert world.measured().count(broken) == 1


def test_a_lost_device_costs_an_attempt(world: ScheduleWorld) -> None:
    commits = [world.commit() for _ in range(4)]
    world.pool.lost = 1
    (_, probe) = world.run()
    assert (probe.state, probe.reason) == (ScheduledProbeState.WAITING, "it went silent")
    world.now += timedelta(minutes=5)
    (_, probe) = world.run()
    assert (probe.state, probe.attempts) == (ScheduledProbeState.MEASURED, 2)
    assert world.measured().count(commits[3]) == 2


@pytest.mark.long
def test_devices_that_are_always_lost_end_a_probe(world: ScheduleWorld) -> None:
    for _ in range(4):
        world.commit()
    world.pool.lost = 100
    for _ in range(8):
        world.now += timedelta(hours=1)
        world.run()
    assert [probe.state for probe in world.probes()] == [ScheduledProbeState.MEASURED, ScheduledProbeState.FAILED]


def test_what_a_killed_worker_had_begun_is_made_again(world: ScheduleWorld) -> None:
    commits = [world.commit() for _ in range(4)]
    with world.open() as instance:
        rounds = world.rounds(instance, "killed")
        rounds.follow()
        rounds._choose("nightly")
        claimed = instance.store.schedules.claim("nightly", "killed", world.now, 60.0, limit=4)
    assert [probe.choice.commit for probe in claimed] == [commits[3]]
    world.run()
    assert commits[3] not in world.measured()
    world.now += timedelta(minutes=2)
    (_, probe) = world.run()
    assert (probe.state, probe.attempts) == (ScheduledProbeState.MEASURED, 2)


def test_a_worker_that_ends_hands_over_what_it_had_begun(world: ScheduleWorld) -> None:
    commits = [world.commit() for _ in range(4)]
    with world.open() as instance:
        rounds = world.rounds(instance, "first")
        rounds.follow()
        rounds._choose("nightly")
        rounds._submit("nightly")
        rounds.close()
    assert world.pool.closed
    world.pool.jobs.clear()
    world.run()
    assert world.measured()[-1] == commits[3]
    assert world.probes()[-1].attempts == 1


@pytest.mark.long
def test_results_that_cannot_be_read_are_named(world: ScheduleWorld) -> None:
    for _ in range(3):
        world.commit()
    (world.lib.directory / "bench.py").write_text("open('out.json', 'w').write('garbage')")
    world.commit()
    (_, probe) = world.run()
    assert probe.state in {ScheduledProbeState.FAILED, ScheduledProbeState.SKIPPED}
    assert "out.json" in probe.reason


def test_a_missing_device_is_named(world: ScheduleWorld) -> None:
    for _ in range(4):
        world.commit()
    world.pool.names = ()
    world.run()
    with world.open() as instance:
        status = schedule_status(instance, "nightly", world.now)
    assert status.problem == "no device of the pool takes its probes"
    assert "knick agent" in status.remedy


def test_a_schedule_that_no_worker_runs_falls_behind(world: ScheduleWorld) -> None:
    for _ in range(4):
        world.commit()
    with world.open() as instance:
        world.rounds(instance).follow()
        due = world.time_of_newest
        assert schedule_status(instance, "nightly", due).problem == ""
        status = schedule_status(instance, "nightly", due + timedelta(hours=4))
    assert status.problem.startswith("a measurement was due at")


def test_an_unknown_branch_is_named(tmp_path: Path) -> None:
    world = ScheduleWorld.make(tmp_path, CONFIG + 'branch = "release"\n')
    world.commit()
    with pytest.raises(ConfigError, match="there is no line of the branch 'release'"):
        world.run()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('recipe = "bench"', 'recipe = "other"', "there is no recipe 'other'"),
        ("commits = 4", "commits = 0", "commits is 0"),
        ("minutes = 60", "minutes = 0", "minutes is 0"),
        ("minutes = 60", "minutes = 60\nfill_hours = -1", "fill_hours is -1"),
        ('results = ["out.json"]', "", "a schedule needs results"),
        ('repository = "lib"', 'repository = "other"', "names the repository 'other'"),
        ('repository = "lib"', 'repository = "lib"\nalso = { other = "x" }', "names the repository 'other'"),
        ('repository = "lib"', 'repository = "lib"\nalso = { lib = "../x" }', "x"),
        ('mode = "every"', 'mode = "now"', "mode"),
        ('recipe = "bench"', 'profile = "bench"', r"\[schedule.nightly\]: 'profile' was renamed to 'recipe'"),
        (
            "[schedule.nightly]",
            "[gate.nightly]",
            r"\[gate.nightly\]: \[gate.nightly\] was renamed to \[schedule.nightly\]",
        ),
        (
            "[schedule.nightly]",
            '[devices.a]\nuse = "gate"\n[schedule.nightly]',
            "'gate', which was renamed to 'schedule'",
        ),
    ],
)
def test_settings_that_cannot_be_used_are_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = tmp_path / "knickpoint.toml"
    path.write_text(CONFIG.replace(old, new))
    with pytest.raises(ConfigError, match=message):
        read_config(path)


def found_range(world: ScheduleWorld) -> tuple[str, str]:
    """Return the suspect range of the only change, as the good commit and the bad one."""
    with world.open() as instance:
        run_alerts(instance.store, instance.alerts)
        repository = instance.store.commits.repository("lib")
        (finding,) = instance.store.findings.changes(repository)
        slots = [finding.suspect_range.previous, finding.suspect_range.slot]
        good, bad = instance.store.commits.get(repository, slots)
        return good.commit.hash, bad.commit.hash


def fills(world: ScheduleWorld) -> list[int]:
    """Return the numbers of the commits that were chosen to narrow the finding, in their order."""
    chosen = [probe.choice for probe in world.probes() if probe.choice.purpose is SchedulePurpose.FILL]
    return [world.commits.index(choice.commit) for choice in chosen]


@pytest.mark.long
def test_the_range_of_a_finding_is_filled_until_one_commit_is_left(finding: ScheduleWorld) -> None:
    assert found_range(finding) == (finding.commits[11], finding.commits[27])
    for _ in range(5):
        finding.run()
        found_range(finding)
    assert found_range(finding) == (finding.commits[16], finding.commits[17])
    assert fills(finding) == [19, 15, 17, 16]


def test_filling_ends_with_its_budget(finding: ScheduleWorld) -> None:
    config = finding.directory / "knickpoint.toml"
    config.write_text(config.read_text() + "fill_hours = 0\n")
    finding.run()
    assert fills(finding) == []


def test_a_range_is_not_filled_further_before_alerts_have_seen_the_results(finding: ScheduleWorld) -> None:
    finding.run()
    finding.run()
    assert fills(finding) == [19]


def test_three_devices_fill_three_commits_at_a_time(finding: ScheduleWorld) -> None:
    finding.pool.names = ("alpha", "beta", "gamma")
    with finding.open() as instance:
        rounds = finding.rounds(instance)
        rounds.start()
        rounds.step()
    assert fills(finding) == [19, 15, 23]


def test_findings_of_the_history_are_not_filled(finding: ScheduleWorld) -> None:
    with finding.open() as instance:
        repository = instance.store.commits.repository("lib")
        line = instance.store.commits.line(repository)
        instance.store.boundaries.put(repository, line.slots[-1:])
    finding.run()
    assert fills(finding) == []


@pytest.mark.long
def test_the_worker_runs_schedules_beside_its_rounds(world: ScheduleWorld) -> None:
    commits = [world.commit() for _ in range(4)]
    stop = threading.Event()

    def stop_when_measured(line: str) -> None:
        world.said.append(line)
        if line.startswith("schedule nightly: measured"):
            stop.set()

    with world.open() as instance:
        Worker(instance, stop_when_measured).run(stop)
    assert any(commits[3][:10] in line for line in world.said)


_TWO = """
[repositories.engine]
location = "engine"

[bisect.engine]
repository = "engine"
measure = ["python3", "-c", "open('out.json', 'w').write('[{\\"name\\": \\"engine\\", \\"unit\\": \\"ms\\", \\"value\\": 1}]')"]
results = ["out.json"]

[schedule.engine]
recipe = "engine"
commits = 2
minutes = 1000000000
"""


@pytest.mark.long
def test_the_schedule_of_the_second_repository_says_when_it_moves(tmp_path: Path) -> None:
    config = CONFIG.replace('repository = "lib"', 'repository = "lib"\nalso = { engine = "engine" }')
    config = config.replace('mode = "every"', 'mode = "each"') + _TWO
    engine = GitRepository.make(tmp_path / "engine")
    world = ScheduleWorld.make(tmp_path, config)
    engine_commits = engine.commits(1)
    world.commit()
    world.now = datetime.now(UTC)
    for _ in range(3):
        world.run()
        engine_commits += engine.commits(1)
        world.commit()
    pins = [probe.choice.pins for probe in world.probes()]
    chosen = [engine_commits.index(commit) for ((_, commit),) in pins]
    # The tip counts until the schedule of the engine has chosen: that is the second commit; then it waits for two more.
    assert chosen == [0, 1, 1]
    with world.open() as instance:
        repository = instance.store.commits.repository("lib")
        slots = instance.store.commits.line(repository).slots
        revisions = [dict(run.revisions) for run in instance.store.runs.at(repository, slots)]
    assert revisions == [dict(each) for each in pins]
