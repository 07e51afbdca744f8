"""``knick bisect R1`` beside other processes: it shows what they do, and goes on with what a killed one left."""

from __future__ import annotations

import json
import platform
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from tests.cli.conftest import Knick, api
from tests.cli.conftest import knick as knick  # noqa: PLC0414 - the fixture
from tests.instance.bisections.bisectable import BAD, GOOD, PARSE, Bisectable, QuickPool, recipe

from knickpoint.cli.commands.bisect import bisections
from knickpoint.cli.commands.bisect.bisections import holder_name, is_gone
from knickpoint.history import Git
from knickpoint.instance import CONFIG_FILE, probes
from knickpoint.instance.bisections import request_bisection
from knickpoint.model.bisection import (
    BisectionState,
    Measured,
    ProbeOutcome,
    ProbePurpose,
    ProbeResult,
    Target,
)
from knickpoint.model.posterior import Posterior
from knickpoint.store.bisections import BisectionAnswer

OTHER = "worker 7"


@dataclass
class Waits:
    """Takes the place of the pauses of the command: each of them does the next of ``steps``."""

    steps: list[Callable[[], object]] = field(default_factory=list)

    def sleep(self, _seconds: float) -> None:
        self.steps.pop(0)()


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> Waits:
    made = Waits()
    monkeypatch.setattr(bisections, "time", made)
    return made


@pytest.fixture
def held(slowed: Bisectable) -> Bisectable:
    """The instance with a bisection that another worker has, and with the recipe in its file."""
    made = recipe()
    with (slowed.instance.directory / CONFIG_FILE).open("a") as file:
        file.write(f'\n[bisect.quick]\nmeasure = ["python3", "-c", {json.dumps(made.measure[2])}]\n')
        file.write('results = ["out.csv"]\nquery = "benchmark=parse"\n')
    instance = slowed.with_recipes(made)
    request_bisection(instance, slowed.change, who="ann")
    claim(slowed, OTHER)
    return slowed


def claim(slowed: Bisectable, holder: str) -> None:
    assert slowed.instance.store.bisections.claim(holder, datetime.now(UTC), 60.0) is not None


def measure(slowed: Bisectable) -> None:
    """Measure the good end, as the other worker."""
    commits = Git.at(Path(slowed.instance.repositories["project"].location)).first_parents("main")
    journal = slowed.instance.store.bisections.journal(1, OTHER)
    target = Target(commits[GOOD].hash)
    journal.begin("B1-1", place=0, device="lab-2", purpose=ProbePurpose.END, target=target)
    measured = {PARSE: Measured(100.0, (100.0,), "ms")}
    journal.record(ProbeResult("B1-1", target, "lab-2", ProbeOutcome.MEASURED, datetime.now(UTC), 1.0, measured))
    shares = np.full(BAD - GOOD, 0.18)
    journal.state(Posterior(shares, 0.1, 0.0, shares), ["lab-2"], None)


def finish(slowed: Bisectable) -> None:
    answer = BisectionAnswer(BisectionState.GAVE_UP, "the budget of 1 probe is spent")
    slowed.instance.store.bisections.finish(1, OTHER, answer, datetime.now(UTC))


def test_what_another_worker_measures_is_shown_until_it_ends(held: Bisectable, waits: Waits, knick: Knick) -> None:
    waits.steps = [lambda: measure(held), lambda: finish(held)]
    ran = knick("bisect", "R1", "--instance", held.instance.directory)
    assert ran.code == 1
    assert f"B1 is run by {OTHER}; it continues here if that process stops responding." in ran.errors
    assert ran.errors.count(" on lab-2; ") == 1
    assert "the budget of 1 probe is spent" in ran.output


def test_a_bisection_that_ended_before_it_measured_anything_is_shown(
    held: Bisectable, waits: Waits, knick: Knick
) -> None:
    waits.steps = [lambda: finish(held)]
    ran = knick("bisect", "R1", "--instance", held.instance.directory, "--format", "json")
    assert ran.code == 1, ran.errors
    assert '"none": null' in ran.output


def test_an_interrupt_says_who_goes_on_and_how_to_stop_it(held: Bisectable, waits: Waits, knick: Knick) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    waits.steps = [interrupt]
    ran = knick("bisect", "R1", "--instance", held.instance.directory)
    assert ran.code == 130
    assert f"Interrupted; B1 is kept, and {OTHER} goes on with it." in ran.errors
    assert "To stop it: knick bisections stop B1" in ran.errors


def test_what_a_killed_command_of_this_machine_left_goes_on_at_once(
    slowed: Bisectable, held: Bisectable, waits: Waits, knick: Knick, monkeypatch: pytest.MonkeyPatch
) -> None:
    with subprocess.Popen(["true"]) as gone:
        pass
    slowed.instance.store.bisections.release(1, OTHER)
    claim(slowed, f"knick bisect on {platform.node()}, process {gone.pid}")
    location = Path(held.instance.repositories["project"].location)
    pool = QuickPool([each.hash for each in Git.at(location).first_parents("main")])
    monkeypatch.setattr(probes, "open_probe_pool", lambda *_, **_options: pool)
    ran = knick("bisect", "R1", "--resume", "--instance", held.instance.directory)
    assert (ran.code, waits.steps) == (0, [])
    assert ran.output.startswith("Culprit: ")


@pytest.mark.parametrize(
    "holder",
    [holder_name(), "", "worker 7", f"knick bisect on another-machine, process {2**30}"],
    ids=["this process", "no one", "a worker", "another machine"],
)
def test_what_may_live_is_not_taken_over(holder: str) -> None:
    assert not is_gone(holder)


def test_a_recipe_that_changed_is_another_bisection(held: Bisectable) -> None:
    changed = held.with_recipes(replace(recipe(), measure=("python3", "other.py")))
    assert request_bisection(changed, held.change, who="bob").id == 2


def test_a_bisection_is_shown_while_it_waits_while_it_runs_and_when_it_has_ended(
    held: Bisectable, knick: Knick
) -> None:
    def shown() -> str:
        return knick("bisections", "show", "B1", "--instance", held.instance.directory).output

    before = shown()
    measure(held)
    held.instance.store.bisections.journal(1, OTHER).log("Measures a commit\x1b[2J.")
    during = shown()
    finish(held)
    after = shown()
    assert before.startswith("Running: nothing measured yet.\n\nNo probes were run.")
    assert during.startswith("Running: 5 of 5 commits left, ")
    assert f"; {OTHER} runs it.\n" in during
    assert " lab-2 " in during
    assert "\x1b" not in during
    assert during.endswith("[2J.\n")
    assert after.startswith("Gave up: the budget of 1 probe is spent.")


def test_json_has_the_bisections_of_the_api(held: Bisectable, knick: Knick) -> None:
    finish(held)
    directory = held.instance.directory
    found = json.loads(knick("bisections", "--all", "--format", "json", "--instance", directory).output)
    assert found == api(directory, "bisections")
    assert [(each["id"], each["change"], each["state"]) for each in found] == [("B1", f"R{held.change}", "gave up")]


def test_a_bisection_that_does_not_exist_is_one_line(held: Bisectable, knick: Knick) -> None:
    directory = held.instance.directory
    for number, says in {
        "B7": "there is no bisection B7",
        "9" * 30: "is not a bisection",
        "x": "is not a bisection",
    }.items():
        ran = knick("bisections", "show", number, "--instance", directory)
        assert ran.code == 2
        assert says in ran.errors
        assert ran.errors.count("\n") == 1
