"""Alerts of the configuration, of people, and of files in watched repositories: which run, and what is refused."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.repositories import GitRepository

from knickpoint.instance import CONFIG_FILE, Instance, Worker, create_instance, open_instance, quarantine_rule
from knickpoint.instance.alert_definition import (
    changed_settings,
    prune_alerts,
    read_alert,
    read_alert_files,
    remove_alert,
    set_alert,
    with_default,
)
from knickpoint.instance.alert_sources import AlertSource, sourced_alerts
from knickpoint.model.access import AuditKind
from knickpoint.model.alert import Alert, AlertKind
from knickpoint.model.errors import ConfigError, InputError, KnickpointError

CONFIG = """
[people.ann]
mail = "ann@example.org"
[channels.perf]
kind = "webhook"
url = "https://hooks.example.org/perf"
[channels.private]
kind = "webhook"
url = "https://hooks.example.org/private"
[repositories.mylib]
location = "mylib"
alerts_file = "perf/alerts.toml"
alerts_channels = ["perf"]
alerts_most = 2
"""
GOOD = '[alerts.render]\nquery = "benchmark=render"\nowners = ["ann"]\nnotify = ["perf"]\n'

Opened = Callable[..., Instance]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opened]:
    """Return a function that opens the instance of the test with a configuration."""
    held: list[Instance] = []

    def reopen(config: str = CONFIG) -> Instance:
        if not held:
            create_instance(tmp_path).close()
        while held:
            held.pop().close()
        (tmp_path / CONFIG_FILE).write_text(config, encoding="utf-8")
        held.append(open_instance(tmp_path))
        return held[-1]

    yield reopen
    for instance in held:
        instance.close()


@pytest.fixture
def project(tmp_path: Path) -> GitRepository:
    repository = GitRepository.make(tmp_path / "mylib")
    repository.commit("Begin")
    return repository


def write(project: GitRepository, text: str) -> str:
    """Commit ``text`` as the file of alerts, and return the hash."""
    file = project.directory / "perf" / "alerts.toml"
    file.parent.mkdir(exist_ok=True)
    file.write_text(text, encoding="utf-8")
    project.git("add", "--all")
    return project.commit("Change the alerts")


def names(instance: Instance) -> list[str]:
    return [alert.name for alert in instance.alerts]


def test_an_alert_of_the_store_runs_beside_those_of_the_configuration(opened: Opened) -> None:
    instance = opened("[alerts.a]\n")
    set_alert(instance, Alert("b", minimum_effect=0.1), who="ann")
    assert names(instance) == ["a", "b"]
    assert set(instance.store.findings.alerts_in_force.all()) == {"a", "b"}


def test_the_default_alert_ends_with_the_first_alert_of_a_person(opened: Opened) -> None:
    instance = opened("")
    assert names(instance) == ["default"]
    set_alert(instance, Alert("b"), who="ann")
    assert names(instance) == ["b"]
    remove_alert(instance, "b", who="ann")
    assert names(instance) == ["default"]


def test_the_default_alert_can_be_kept_beside_the_first_alert_of_a_person(opened: Opened) -> None:
    instance = opened("")
    for alert in with_default(instance, Alert("b")):
        set_alert(instance, alert, who="ann")
    assert names(instance) == ["b", "default"]
    assert with_default(instance, Alert("c")) == [Alert("c")]


def test_the_configuration_comes_before_the_store(opened: Opened) -> None:
    set_alert(opened(""), Alert("a", minimum_effect=0.5), who="ann")
    instance = opened("[alerts.a]\n")
    assert instance.alerts == (Alert("a"),)
    shown = [(each.source, each.shadowed) for each in sourced_alerts(instance.config, instance.store)]
    assert shown == [(AlertSource.CONFIGURATION, False), (AlertSource.STORE, True)]


def test_a_canary_of_the_configuration_is_an_alert_beside_the_default_alert(opened: Opened) -> None:
    instance = opened('[canaries.machine]\nquery = "benchmark=loop"\nrepository = "main"\n')
    canary = Alert("canaries.machine", "benchmark=loop", "main", kind=AlertKind.CANARY)
    assert instance.alerts == (canary, Alert("default"))
    assert [each.name for each in quarantine_rule(instance).canaries] == ["machine"]
    with pytest.raises(ConfigError, match=r"defined in \[canaries.machine\] of knickpoint.toml"):
        set_alert(instance, canary, who="ann")


def test_an_alert_of_the_configuration_is_changed_there(opened: Opened) -> None:
    with pytest.raises(ConfigError, match=r"defined in \[alerts.a\] of knickpoint.toml"):
        set_alert(opened("[alerts.a]\n"), Alert("a", minimum_effect=0.5), who="ann")


def test_a_shadowed_alert_of_the_store_can_be_removed(opened: Opened) -> None:
    set_alert(opened(""), Alert("a"), who="ann")
    instance = opened("[alerts.a]\n")
    remove_alert(instance, "a", who="ann")
    assert names(instance) == ["a"]


def test_a_change_is_in_the_audit_log_once(opened: Opened) -> None:
    instance = opened("")
    for _ in range(2):
        set_alert(instance, Alert("b", minimum_effect=0.1), who="ann")
    remove_alert(instance, "b", who="bob")
    entries = [(each.kind, each.who, each.about) for each in instance.store.audit.entries()]
    assert entries[:2] == [
        (AuditKind.ALERT_REMOVED, "bob", "b"),
        (AuditKind.ALERT_SET, "ann", "b: minimum_effect = 0.1"),
    ]
    assert [kind for kind, _, _ in entries].count(AuditKind.ALERT_SET) == 1


def test_pruning_leaves_what_is_in_files(opened: Opened) -> None:
    instance = opened("[alerts.a]\n")
    set_alert(instance, Alert("b"), who="ann")
    prune_alerts(instance, who="ann")
    assert names(instance) == ["a"]


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        ({"query": "${HOME}"}, "HOME.*environment variable"),
        ({"parameters": {"preset": "${HOME}"}}, "environment variable"),
        ({"owners": ["carl"]}, "carl"),
        ({"notify": ["mail"]}, "mail"),
        ({"minimum_change": -1.0}, "minimum_change is -1"),
        ({"severity": "urgent"}, "severity"),
        ({"threshold": 1}, "unknown key 'threshold'"),
        ({"method": "magic"}, "magic"),
    ],
    ids=["variable", "inner variable", "owner", "channel", "number", "word", "key", "method"],
)
def test_what_the_configuration_would_refuse_is_refused(opened: Opened, table: dict[str, object], reason: str) -> None:
    with pytest.raises(KnickpointError, match=reason):
        read_alert(opened(), "b", table, where="alert 'b'")


@pytest.mark.parametrize("name", ["", " a", "a\nb", "x" * 201])
def test_names_that_cannot_be_read_are_refused(opened: Opened, name: str) -> None:
    with pytest.raises(ConfigError, match="cannot be the name"):
        read_alert(opened(), name, {}, where="the test")


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("query=os=linux benchmark=a*", {"query": "os=linux benchmark=a*"}),
        ("minimum_effect=0.02", {"minimum_effect": 0.02}),
        ("owners=ann, bob@example.org", {"owners": ["ann", "bob@example.org"]}),
        ('owners=["ann"]', {"owners": ["ann"]}),
        ("parameters.preset=exact", {"parameters": {"preset": "exact"}}),
        ("kind=canary", {"kind": "canary"}),
        ("line=7", {"line": "7"}),
    ],
)
def test_settings_are_written_as_in_toml_or_shorter(written: str, expected: dict[str, object]) -> None:
    assert changed_settings(None, [written]) == expected


def test_settings_that_are_not_named_stay_and_empty_ones_go() -> None:
    alert = Alert("a", query="os=linux", minimum_effect=0.1, kind=AlertKind.CANARY)
    assert changed_settings(alert, ["minimum_effect=", "window=9"]) == {
        "query": "os=linux",
        "kind": "canary",
        "window": 9,
    }


def test_a_setting_without_a_value_is_refused() -> None:
    with pytest.raises(InputError, match="'query' is not a setting"):
        changed_settings(None, ["query"])


# Files of repositories


def test_a_repository_defines_alerts_for_itself(opened: Opened, project: GitRepository) -> None:
    commit = write(project, GOOD)
    instance = opened()
    (reading,) = read_alert_files(instance)
    assert not reading.failed
    assert instance.alerts[1:] == (
        Alert("mylib/render", query="benchmark=render", repository="mylib", owners=("ann",), notify=("perf",)),
    )
    assert names(instance)[0] == "default"
    assert commit[:10] in sourced_alerts(instance.config, instance.store)[1].place


def test_a_file_is_read_again_only_when_something_changed(opened: Opened, project: GitRepository) -> None:
    write(project, GOOD)
    instance = opened()
    read_alert_files(instance)
    project.commit("Change something else")
    assert read_alert_files(instance) == []
    write(project, GOOD.replace("render", "layout"))
    read_alert_files(instance)
    assert names(instance) == ["default", "mylib/layout"]


def test_a_file_that_goes_takes_its_alerts_along(opened: Opened, project: GitRepository) -> None:
    write(project, GOOD)
    instance = opened()
    read_alert_files(instance)
    project.git("rm", "--quiet", "perf/alerts.toml")
    project.commit("Remove the alerts")
    read_alert_files(instance)
    assert names(instance) == ["default"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[alerts", "is not TOML"),
        ("name = 'x'\n", "unknown key 'name'"),
        ("alerts = 1\n", "alerts is not a section"),
        ('[alerts.a]\nrepository = "other"\n', "repository is 'other'"),
        ('[alerts.a]\nnotify = ["private"]\n', "which this repository may not use.*Its channels are: perf"),
        ('[alerts.a]\nowners = ["x@example.org"]\n', r"no section \[people"),
        ('[alerts.a]\nquery = "${HOME}"\n', "environment variable"),
        ("[alerts.a]\n[alerts.b]\n[alerts.c]\n", "it defines 3 alerts.*at most 2"),
        ('[alerts.a]\nmethod = "magic"\n', "magic"),
        ("# " + "x" * 70_000, "printed more than 65536 bytes"),
    ],
    ids=["toml", "key", "section", "repository", "channel", "owner", "variable", "number", "method", "size"],
)
def test_a_file_that_cannot_be_used_leaves_the_alerts_that_stood(
    opened: Opened, project: GitRepository, text: str, reason: str
) -> None:
    write(project, GOOD)
    instance = opened()
    read_alert_files(instance)
    broken = write(project, text)
    project.commit("Change something else")
    (reading,) = read_alert_files(instance)
    assert reading.failed
    assert names(instance) == ["default", "mylib/render"]
    known = instance.store.findings.alert_definitions.files()["mylib"]
    assert known.failed_at == broken
    assert re.search(reason, known.failure)
    write(project, GOOD)
    read_alert_files(instance)
    assert instance.store.findings.alert_definitions.files()["mylib"].failure == ""


def test_a_repository_defines_no_alerts_without_leave(opened: Opened, project: GitRepository) -> None:
    write(project, GOOD)
    read_alert_files(opened())
    instance = opened(CONFIG.replace("alerts_file", "# alerts_file"))
    read_alert_files(instance)
    assert names(instance) == ["default"]


def test_a_channel_that_is_taken_away_shows_as_a_failure(opened: Opened, project: GitRepository) -> None:
    write(project, GOOD)
    read_alert_files(opened())
    instance = opened(CONFIG.replace('alerts_channels = ["perf"]', "alerts_channels = []"))
    (reading,) = read_alert_files(instance)
    assert "may not use" in reading.text


@pytest.mark.parametrize("path", ["/etc/passwd", "../up.toml", "a//b.toml", "."])
def test_paths_that_leave_the_repository_are_refused(opened: Opened, path: str) -> None:
    with pytest.raises(ConfigError, match="alerts_file is"):
        opened(CONFIG.replace("perf/alerts.toml", path))


@pytest.mark.parametrize(
    "text",
    [
        '[alerts.a]\nowners = ["carl"]\n',
        '[alerts.a]\nnotify = ["mail"]\n',
        '[repositories.r]\nalerts_channels = ["x"]\n',
    ],
)
def test_names_without_a_section_are_refused_in_the_configuration(opened: Opened, text: str) -> None:
    with pytest.raises(ConfigError, match="there is no section"):
        opened(text)


def test_the_worker_reads_the_files(opened: Opened, project: GitRepository) -> None:
    write(project, GOOD)
    instance = opened()
    announced: list[str] = []
    Worker(instance, announced.append, clock=lambda: 0.0).step()
    assert names(instance) == ["default", "mylib/render"]
    assert any("1 in perf/alerts.toml" in line for line in announced)


# Schedules


class Clock:
    """A clock that a test advances."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def runs(instance: Instance, alert: str) -> int:
    return len(instance.store.findings.alert_runs.runs(alert))


def test_an_alert_with_a_schedule_runs_by_it_and_not_by_others(opened: Opened) -> None:
    instance = opened("[alerts.often]\n[alerts.rarely]\nevery_minutes = 1440\n")
    instance.store.commits.add_repository("r")
    clock = Clock()
    worker = Worker(instance, clock=clock)
    worker.step()
    assert (runs(instance, "often"), runs(instance, "rarely")) == (1, 1)
    clock.now = instance.config.worker.every_seconds + 1
    worker.step()
    assert (runs(instance, "often"), runs(instance, "rarely")) == (2, 1)
    another = Worker(instance, clock=Clock())
    another.step()
    assert (runs(instance, "often"), runs(instance, "rarely")) == (3, 1)


def test_an_alert_that_is_changed_runs_at_once(opened: Opened) -> None:
    instance = opened("")
    instance.store.commits.add_repository("r")
    set_alert(instance, Alert("b"), who="ann")
    worker = Worker(instance, clock=Clock())
    worker.step()
    worker.step()
    assert runs(instance, "b") == 1
    set_alert(instance, Alert("b", minimum_effect=0.1), who="ann")
    worker.step()
    assert runs(instance, "b") == 2
    set_alert(instance, replace(Alert("b", minimum_effect=0.1), owners=("a@example.org",)), who="ann")
    worker.step()
    assert runs(instance, "b") == 2
