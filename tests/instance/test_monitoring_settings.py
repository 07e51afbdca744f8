"""The section ``[monitoring]``."""

from __future__ import annotations

from pathlib import Path

import pytest

from knickpoint.instance import read_config
from knickpoint.instance.config.settings import LogChoice, graphite_address, graphite_prefix
from knickpoint.model.errors import ConfigError


def test_log_and_graphite_are_read(tmp_path: Path) -> None:
    path = tmp_path / "knickpoint.toml"
    path.write_text('[monitoring]\nlog = "json"\ngraphite = "[2001:db8::1]:2003"\n')
    settings = read_config(path).monitoring
    assert (settings.log, graphite_address(settings)) == (LogChoice.JSON, ("2001:db8::1", 2003))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('graphite = "graphite.example.org"', "host:port"),
        ('graphite = "host:99999"', "host:port"),
        ('graphite_prefix = "a b"', "letters, digits"),
        ('graphite_prefix = "perf.{port}"', "letters, digits"),
        ("graphite_seconds = 0", "1 or more seconds"),
        ('log = "xml"', "json"),
    ],
)
def test_what_cannot_be_used_is_refused(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "knickpoint.toml"
    path.write_text(f"[monitoring]\n{text}\n")
    with pytest.raises(ConfigError, match=reason):
        read_config(path)


def test_processes_with_one_configuration_have_different_prefixes(tmp_path: Path) -> None:
    path = tmp_path / "knickpoint.toml"
    path.write_text('[monitoring]\ngraphite = "graphite.example.org:2003"\n')
    settings = read_config(path).monitoring
    assert graphite_prefix(settings, "db.example.org", "worker-9101") == "knickpoint.db-example-org.worker-9101"
    assert graphite_prefix(settings, "db.example.org", "api-8765") == "knickpoint.db-example-org.api-8765"
