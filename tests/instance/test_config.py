from __future__ import annotations

from pathlib import Path

import pytest

from knickpoint.instance import CONFIG_FILE, Config, read_config
from knickpoint.model.alert import AlertDirection
from knickpoint.model.direction import DirectionRule
from knickpoint.model.errors import ConfigError
from knickpoint.model.query import parse_query
from knickpoint.model.unit_names import Better


def config(tmp_path: Path, text: str) -> Config:
    path = tmp_path / CONFIG_FILE
    path.write_text(text, encoding="utf-8")
    return read_config(path)


def refusal(tmp_path: Path, text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        config(tmp_path, text)
    return str(caught.value)


def test_an_empty_file_is_a_whole_configuration(tmp_path: Path) -> None:
    assert config(tmp_path, "") == Config()


def test_everything_that_can_be_said_is_read(tmp_path: Path) -> None:
    read = config(
        tmp_path,
        """
        name = "Lab"
        [store]
        location = "lab.db"
        [repositories."owner/lib"]
        location = "../lib"
        branches = ["release-*"]
        [ingest]
        drop_params = ["pid"]
        waiting_days = 7
        [[ingest.renames]]
        old = { benchmark = "sort" }
        new = { benchmark = "quicksort" }
        [ingest.sources.nightly]
        location = "s3://bench/nightly"
        params = { machine = "m1" }
        [alerts.slow]
        query = "arch=x86"
        direction = "worse"
        group_by = ["config"]
        parameters = { penalty = 3, relative = true }
        """,
    )
    assert (read.name, read.store.location) == ("Lab", "lab.db")
    assert read.repositories["owner/lib"].branches == ("release-*",)
    assert (read.ingest.drop_params, read.ingest.waiting_days) == (("pid",), 7.0)
    assert read.ingest.renames[0].new == {"benchmark": "quicksort"}
    assert read.ingest.sources["nightly"].params == {"machine": "m1"}
    alert = read.alerts["slow"]
    assert (alert.name, alert.direction, alert.group_by) == ("slow", AlertDirection.WORSE, ("config",))
    assert alert.parameters == {"penalty": 3, "relative": True}


def test_an_unknown_key_is_named_with_its_neighbour_and_its_section(tmp_path: Path) -> None:
    message = refusal(tmp_path, '[repositories.lib]\nlocatoin = "../lib"\n')
    assert "knickpoint.toml, [repositories.lib]: unknown key 'locatoin'. Did you mean 'location'?" in message


def test_an_unknown_key_without_neighbour_lists_the_known_ones(tmp_path: Path) -> None:
    assert "Known keys are location" in refusal(tmp_path, "[store]\nxyzzy = 1\n")


def test_an_unknown_section_is_refused(tmp_path: Path) -> None:
    assert "Did you mean 'alerts'?" in refusal(tmp_path, "[alert.slow]\n")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[server]\nport = '80'\n", "server.port: expected a whole number, got '80'"),
        ("[server]\nport = true\n", "server.port: expected a whole number, got True"),
        ("[check]\nminimum_effect = '2 %'\n", "expected a number, got '2 %'. Write 0.02, without quotes."),
        (
            "[check]\nminimum_effect = 5\n",
            "5, which lets all changes below 500 % pass. Give a share below 1: 0.05 is 5 %.",
        ),
        ("store = 'x'\n", "store: expected a section [store], got 'x'"),
        ("alerts = 1\n", "alerts: expected a section [alerts], got 1"),
        ("[ingest]\ndrop_params = 'pid'\n", "ingest.drop_params: expected a list"),
        ("[ingest]\ndrop_params = [1]\n", "ingest.drop_params[0]: expected a string, got 1"),
        ("[alerts.a]\ndirection = 'sideways'\n", "'both', 'worse', 'better'"),
        ("[alerts]\na = 1\n", "alerts.a: expected a section [alerts.a], got 1"),
        ("[alerts.a]\nname = 'b'\n", "'name' is given twice"),
        (
            "[alerts.a]\nparameters = { x = [1] }\n",
            "alerts.a.parameters.x: expected a number or a whole number or a string or true or false, got a list",
        ),
        ("[ingest.sources.a]\npattern = '*'\n", "'location' is missing"),
        ("[repositories.' ']\n", "cannot be a name"),
        ("[directions.a]\nbetter = 'lower'\n", "'query' is missing"),
        ("[directions.a]\nquery = 'x=1'\nbetter = 'up'\n", "one of 'lower', 'higher', 'none'"),
        ("[directions.a]\nquery = 'x='\nbetter = 'none'\n", "[directions.a]: the query cannot be read"),
        ("name = \n", "is not TOML"),
    ],
)
def test_a_wrong_value_is_named_with_its_place(tmp_path: Path, text: str, expected: str) -> None:
    assert expected in refusal(tmp_path, text)


def test_a_text_may_come_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KP_PASSWORD", "secret")
    read = config(tmp_path, '[store]\nlocation = "postgresql://u:${KP_PASSWORD}@h/db"\n')
    assert read.store.location == "postgresql://u:secret@h/db"


def test_a_missing_variable_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KP_PASSWORD", raising=False)
    assert "KP_PASSWORD, which is not set" in refusal(tmp_path, 'name = "${KP_PASSWORD}"\n')


def test_a_file_in_another_encoding_is_refused(tmp_path: Path) -> None:
    path = tmp_path / CONFIG_FILE
    path.write_bytes(b'name = "caf\xe9"\n')
    with pytest.raises(ConfigError, match="not UTF-8"):
        read_config(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        read_config(tmp_path / CONFIG_FILE)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[worker]\npoll_seconds = 0\n", r"\[worker\]: poll_seconds is 0. Give a number greater than 0"),
        ("[worker]\nlease_seconds = -1.5\n", "lease_seconds is -1.5"),
        ("[worker]\nevery_seconds = nan\n", "every_seconds is nan"),
        ("[worker]\nmost_events = 0\n", "most_events is 0"),
        ("[tickets]\nevery_seconds = 0\n", r"\[tickets\]: every_seconds is 0"),
        ("[check]\nfalse_positives = 5\n", r"\[check\]: false_positives is 5. Give a share between 0 and 0.5"),
        ("[check]\nminimum_effect = -0.1\n", r"\[check\]: minimum_effect is -0.1"),
        ("[server]\ndrain_seconds = -1\n", r"\[server\]: drain_seconds is -1"),
        ("[retention]\nvalues_commits = -1\n", r"\[retention\]: values_commits is -1"),
        ('[ingest.sources.a]\nlocation = "x"\nevery_seconds = 0\n', r"\[ingest.sources.a\]: every_seconds is 0"),
    ],
)
def test_numbers_with_which_nothing_would_go_on_are_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / CONFIG_FILE
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=message):
        read_config(path)


def test_directions_are_rules_in_the_order_of_the_file(tmp_path: Path) -> None:
    read = config(
        tmp_path,
        """
        [directions.z]
        query = "metric=errors"
        better = "lower"
        [directions.a]
        query = "metric=ratio"
        better = "none"
        repository = "lib"
        """,
    )
    assert [settings.rule for settings in read.directions.values()] == [
        DirectionRule(parse_query("metric=errors"), Better.LOWER),
        DirectionRule(parse_query("metric=ratio"), Better.UNKNOWN, "lib"),
    ]
