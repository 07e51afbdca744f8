"""The files of ``deploy/``: what they start exists, and they agree with each other, with the settings and with the server."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from click import Context
from tests.server.client import Client
from tests.server.story import make_instance

from knickpoint.cli.commands.serve import serve
from knickpoint.cli.program import COMMANDS
from knickpoint.instance import Config, Instance, open_instance, read_config
from knickpoint.model.service_part import ALL_PARTS, ServicePart, parse_parts
from knickpoint.server import create_app

_TOP = Path(__file__).parents[2]
_DEPLOY = _TOP / "deploy"
_UNITS = sorted((_DEPLOY / "systemd").iterdir())
_PROGRAM = "/opt/knickpoint/bin/knick"


def instructions() -> list[tuple[str, str]]:
    """Return the instructions of the image file, each with its text in one line."""
    text = "\n".join(line for line in (_DEPLOY / "Containerfile").read_text().splitlines() if not line.startswith("#"))
    lines = [line for line in text.replace("\\\n", "").splitlines() if line.strip()]
    return [(line.split(maxsplit=1)[0], line.split(maxsplit=1)[1].strip()) for line in lines]


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((_DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
    return loaded


def ours(compose: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the services that run our image, by name."""
    yield from ((name, each) for name, each in compose["services"].items() if each["image"] == "knickpoint")


@pytest.fixture
def config(monkeypatch: pytest.MonkeyPatch) -> Config:
    """Read the configuration with what the environment of a container has."""
    monkeypatch.setenv("KNICKPOINT_ADDRESS", "https://perf.example.org")
    monkeypatch.setenv("KNICKPOINT_SESSION_SECRET", "x" * 48)
    return read_config(_DEPLOY / "knickpoint.toml")


# The image.


@pytest.mark.parametrize("step", [text for kind, text in instructions() if kind == "RUN"])
def test_each_step_of_the_image_is_a_script_that_a_shell_can_read(step: str) -> None:
    subprocess.run(["sh", "-n", "-c", step], check=True)


def test_the_image_needs_packages_that_debian_has() -> None:
    step = next(text for kind, text in instructions() if "apt-get install" in text)
    packages = [word for word in shlex.split(step.split("install", 1)[1].split("&&")[0]) if not word.startswith("-")]
    assert packages
    if shutil.which("apt-cache") is None:
        pytest.skip("apt-cache is not installed: the packages of the image are not looked up")
    shown = subprocess.run(["apt-cache", "show", *packages], capture_output=True, text=True, check=False)
    assert set(re.findall(r"^Package: (\S+)$", shown.stdout, re.MULTILINE)) >= set(packages), shown.stderr


def test_the_image_installs_extras_that_the_package_has() -> None:
    step = next(text for kind, text in instructions() if kind == "RUN" and "pip install" in text)
    extras = re.search(r"\[([\w,]+)\]", step)
    assert extras
    project = tomllib.loads((_TOP / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(extras[1].split(",")) <= set(project["optional-dependencies"])


def test_the_image_runs_as_a_user_that_it_makes_and_ends_by_sigterm() -> None:
    by_kind = dict(instructions())
    made = [text for kind, text in instructions() if kind == "RUN" and f" {by_kind['USER']}" in text]
    assert len(made) == 1
    assert by_kind["VOLUME"] in made[0]
    assert (by_kind["STOPSIGNAL"], by_kind["ENTRYPOINT"]) == ("SIGTERM", '["knick"]')


# The containers.


def test_containers_run_every_part_and_each_command_is_one_of_the_program(compose: dict[str, Any]) -> None:
    parts: set[ServicePart] = set()
    for _, service in ours(compose):
        name, *arguments = service["command"]
        assert name in COMMANDS
        if name == "serve":
            parsed = serve.make_context("serve", list(arguments))
            assert isinstance(parsed, Context)
            parts |= parse_parts(parsed.params["only"])
    assert parts == ALL_PARTS


def test_containers_have_each_variable_that_the_configuration_names(compose: dict[str, Any]) -> None:
    wanted = set(re.findall(r"\$\{(\w+)\}", (_DEPLOY / "knickpoint.toml").read_text(encoding="utf-8")))
    examples = set(re.findall(r"^(\w+)=", (_DEPLOY / "example.env").read_text(encoding="utf-8"), re.MULTILINE))
    for name, service in ours(compose):
        assert wanted <= set(service["environment"]), name
    given = set(re.findall(r"\$\{(\w+):\?", (_DEPLOY / "compose.yaml").read_text(encoding="utf-8")))
    assert given == examples


def test_containers_find_database_nats_and_port_where_the_configuration_says(
    compose: dict[str, Any], config: Config
) -> None:
    services = compose["services"]
    assert config.store.location == "postgresql://knickpoint@postgres/knickpoint"
    assert all("--init" in service["command"] for _, service in ours(compose))
    postgres = services["postgres"]["environment"]
    assert (postgres["POSTGRES_USER"], postgres["POSTGRES_DB"]) == ("knickpoint", "knickpoint")
    assert (config.nats.url, "nats" in services) == ("nats://nats:4222", True)
    assert services["api"]["ports"] == [f"127.0.0.1:{config.server.port}:{config.server.port}"]


def test_documented_commands_for_containers_name_services_and_commands_that_exist(compose: dict[str, Any]) -> None:
    text = (_TOP / "docs" / "deployment.md").read_text(encoding="utf-8")
    found = re.findall(r"^podman compose --file deploy/compose.yaml (?:run|exec) (.*)$", text, re.MULTILINE)
    assert len(found) >= 3
    for line in found:
        words = shlex.split(re.sub(r"--rm |--volume \S+ ", "", line))
        service, *command = [word for word in words if word != "knick"]
        assert service in compose["services"]
        assert not command or command[0] in COMMANDS


def test_containers_start_again_with_their_machine(compose: dict[str, Any]) -> None:
    lasting = {name: each for name, each in compose["services"].items() if not each.get("profiles")}
    # Engines leave alone what should start again on failures only, and the service of Podman all but these.
    assert {each["restart"] for each in lasting.values()} == {"always"}


def test_containers_have_longer_to_end_than_a_process_takes_to_drain(compose: dict[str, Any], config: Config) -> None:
    for name, service in ours(compose):
        assert int(service["stop_grace_period"].removesuffix("s")) > config.server.drain_seconds, name


def test_a_container_may_ask_itself_whether_it_is_ready(
    tmp_path: Path, config: Config, compose: dict[str, Any]
) -> None:
    make_instance(tmp_path / "instance")
    address = re.search(r"http://127\.0\.0\.1:8765(/[\w/]+)", compose["services"]["worker"]["healthcheck"]["test"][-1])
    assert address
    with open_instance(tmp_path / "instance") as opened:
        app = create_app(Instance(opened.directory, config, opened.store), open_port=True)
        assert Client(app).get(address[1]).status_code == 200
        assert Client(app).get("/api/v1/traces").status_code == 401


# The units.


def test_systemd_accepts_the_units(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed: the units are not verified")
    program = Path(sys.executable).with_name("knick")
    places = [tmp_path / each.name.replace("@", "@1") for each in _UNITS]
    for each, place in zip(_UNITS, places, strict=True):  # with a program that is there, as systemd looks for it
        place.write_text(each.read_text().replace(_PROGRAM, str(program)))
    command = ["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", *map(str, places)]
    verified = subprocess.run(command, capture_output=True, text=True, check=False)
    complaints = [line for line in verified.stderr.splitlines() if "knickpoint" in line]
    assert (verified.returncode, complaints) == (0, [])


@pytest.mark.parametrize(
    "unit", [each for each in _UNITS if each.suffix == ".service"], ids=lambda each: str(each.name)
)
def test_each_unit_starts_a_command_of_the_program(unit: Path) -> None:
    line = next(line for line in unit.read_text().splitlines() if line.startswith("ExecStart="))
    arguments = shlex.split(line.partition(f"{_PROGRAM} ")[2].rstrip("'").replace("%i", "1"))
    assert arguments[0] in COMMANDS
    if arguments[0] == "serve":
        serve.make_context("serve", arguments[1:])


def test_units_have_longer_to_end_than_a_process_takes_to_drain(config: Config) -> None:
    limits = [int(found[1]) for unit in _UNITS if (found := re.search(r"TimeoutStopSec=(\d+)", unit.read_text()))]
    assert len(limits) == 4
    assert min(limits) > config.server.drain_seconds
