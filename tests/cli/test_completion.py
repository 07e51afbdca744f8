"""``knick completion``: scripts of shells, and the names that they get, through a real bash."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import Knick

_BASH = shutil.which("bash")


def completed(line: str, place: Path) -> list[str]:
    """Return what bash offers at the end of ``line``, with the script that the program prints."""
    assert _BASH is not None
    script = (
        'eval "$(knick completion bash)"\n'
        "COMP_LINE=$1 COMP_POINT=${#1}\n"
        "_knick_completion knick 2>/dev/null\n"
        'printf "%s\\n" "${COMPREPLY[@]}"\n'
    )
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "KNICKPOINT_INSTANCE": "",
    }
    done = subprocess.run(
        [_BASH, "--norc", "-c", script, "bash", line],
        cwd=place,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


def test_bash_completes_commands_and_options(tmp_path: Path) -> None:
    assert completed("knick regr", tmp_path) == ["regressions"]
    assert completed("knick detect --met", tmp_path) == ["--method", "--methods"]


@pytest.mark.long
def test_bash_completes_only_what_follows_an_equals_sign(judged: Path) -> None:
    assert completed("knick traces benchmark=parse_c", judged) == ["parse_csv"]
    assert completed("knick explain bench", judged) == ["benchmark="]


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("suspects R", "R1"),
        ("open R", "R1"),
        ("query --repository ", "main"),
        ("run --alert ", "default"),
        ("explain ,benchmark=parse_c", ",benchmark=parse_csv,"),
        ("detect --method e_", "e_divisive"),
    ],
)
@pytest.mark.usefixtures("judged")
def test_names_of_the_instance_are_offered(
    knick: Knick, monkeypatch: pytest.MonkeyPatch, words: str, offered: str
) -> None:
    line = f"knick {words}"
    for name, value in {"_KNICK_COMPLETE": "bash_complete", "COMP_LINE": line, "COMP_POINT": str(len(line))}.items():
        monkeypatch.setenv(name, value)
    lines = knick().output.splitlines()
    ends = [line.rpartition("plain,")[2] for line in lines]
    assert any(offered.endswith(end) and end for end in ends), lines


def test_without_an_instance_no_name_is_offered_and_no_error_shown(
    knick: Knick, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    line = "knick explain "
    for name, value in {"_KNICK_COMPLETE": "bash_complete", "COMP_LINE": line, "COMP_POINT": str(len(line))}.items():
        monkeypatch.setenv(name, value)
    ran = knick()
    assert (ran.code, ran.output.strip(), ran.errors) == (0, "", "")


@pytest.mark.parametrize(
    ("shell", "place"),
    [
        ("bash", "data/bash-completion/completions/knick"),
        ("zsh", "data/zsh/site-functions/_knick"),
        ("fish", "config/fish/completions/knick.fish"),
    ],
)
def test_install_writes_the_script_where_the_shell_looks(
    knick: Knick, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, shell: str, place: str
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("BASH_COMPLETION_USER_DIR", raising=False)
    ran = knick("completion", shell, "--install")
    assert str(tmp_path / place) in ran.output
    assert (tmp_path / place).read_text() == knick("completion", shell).output
