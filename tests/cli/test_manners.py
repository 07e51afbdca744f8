"""What all commands share: errors with suggestions, quiet and verbose, tables on a terminal, colours, exit codes."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from knickpoint.cli.colours import colours_allowed, painted, tone_of
from knickpoint.cli.exit_codes import ANSWERS
from knickpoint.cli.program import COMMANDS
from knickpoint.cli.suggestions import closest
from knickpoint.cli.tables import Table, layout

from .conftest import Knick


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["regresions"], "knick: there is no command 'regresions'. Did you mean regressions?"),
        (["histroy", "list"], "knick: there is no command 'histroy'. Did you mean history?"),
        (["history", "lst"], "knick history: there is no command 'lst'. Did you mean list?"),
        (["detect", "--metod", "x"], "knick detect: there is no option --metod. Did you mean --method or --methods?"),
        (["check"], "knick check: missing argument 'RESULTS...'."),
        (["zzz"], "knick: there is no command 'zzz'."),
    ],
)
def test_a_mistyped_word_is_answered_with_what_it_may_mean(knick: Knick, arguments: list[str], error: str) -> None:
    ran = knick(*arguments)
    assert ran.code == 2
    assert ran.errors.splitlines()[0] == error
    assert ran.errors.splitlines()[1].startswith("usage: knick")
    assert ran.output == ""


def test_suggestions_are_similar_names_and_names_with_this_beginning() -> None:
    names = ["regressions", "restore", "triage", "tokens"]
    assert closest("Regression", names) == ["regressions"]
    assert closest("to", names) == ["tokens"]
    assert closest("q", names) == []


@pytest.mark.parametrize("place", [["-q", "run"], ["run", "-q"], ["--quiet", "run"]])
@pytest.mark.usefixtures("judged")
def test_quiet_leaves_out_what_is_no_data_before_and_behind_the_command(knick: Knick, place: list[str]) -> None:
    assert knick("run").output != ""
    assert knick(*place).output == ""
    assert "regression" in knick("-q", "regressions").output


@pytest.mark.usefixtures("instance")
def test_quiet_keeps_errors(knick: Knick) -> None:
    (refused := Path("refused.csv")).write_text("neither,nor\n")
    ran = knick("-q", "import", refused)
    assert ran.code == 2
    assert "refused.csv: refused" in ran.output


@pytest.mark.usefixtures("instance")
def test_verbose_shows_where_in_the_program_an_error_arose(knick: Knick) -> None:
    assert "Traceback" not in knick("export", "--repository", "none").errors
    assert "Traceback" in knick("export", "--repository", "none", "-v").errors


@pytest.mark.usefixtures("judged")
def test_verbose_shows_columns_that_text_leaves_out(knick: Knick) -> None:
    assert "hazard" not in knick("regressions").output.splitlines()[0]
    assert "hazard" in knick("regressions", "--verbose").output.splitlines()[0]


def test_the_version_has_a_short_option(knick: Knick) -> None:
    assert knick("-V").output == knick("--version").output
    assert knick("-V").output.startswith("knick 0.")


@pytest.mark.parametrize(
    ("variables", "terminal", "allowed"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"NO_COLOR": "1"}, True, False),
        ({"NO_COLOR": ""}, True, True),
        ({"TERM": "dumb"}, True, False),
        ({"FORCE_COLOR": "1"}, False, True),
        ({"FORCE_COLOR": "0"}, True, False),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False, False),
        ({"FORCE_COLOR": "1", "TERM": "dumb"}, False, True),
    ],
)
def test_colours_are_for_terminals_and_obey_the_environment(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], *, terminal: bool, allowed: bool
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert colours_allowed(_Terminal() if terminal else io.StringIO()) is allowed


@pytest.mark.usefixtures("judged")
def test_a_table_on_a_terminal_fits_it_and_has_colours(knick: Knick, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, value in {"TERM": "xterm", "COLUMNS": "100"}.items():
        monkeypatch.setenv(name, value)
    piped = knick("regressions").output
    monkeypatch.setattr(sys, "stdout", screen := _Terminal())
    knick("regressions")
    shown = screen.getvalue()
    plain = shown.replace("\x1b[31m", "").replace("\x1b[32m", "").replace("\x1b[0m", "")
    assert painted("regression", tone_of("regression")) in shown
    assert max(map(len, plain.splitlines())) <= 100
    assert "\x1b" not in plain
    assert "\x1b" not in piped


def _table(*rows: tuple[str, ...]) -> Table:
    return Table(("name", "value", "reason"), rows, (False, True, False), (False, False, False))


def test_wide_cells_are_wrapped_without_losing_text() -> None:
    reason = "a long reason that does not fit"
    text = layout(_table(("parse", "12.5", reason), ("print", "3", "short")), width=34)
    assert text.splitlines() == [
        "name   value  reason",
        "parse   12.5  a long reason that",
        "              does not fit",
        "print      3  short",
    ]


def test_a_key_is_wrapped_behind_commas() -> None:
    text = layout(_table(("benchmark=parse,os=linux,machine=m1", "1", "")), width=32)
    assert [line.split()[0] for line in text.splitlines()[1:]] == ["benchmark=parse,", "os=linux,", "machine=m1"]


def test_a_table_that_cannot_be_narrow_enough_becomes_blocks() -> None:
    text = layout(_table(("parse", "12.5", "long words here"), ("print", "3", "")), width=20)
    assert text == "name    parse\nvalue   12.5\nreason  long words\n        here\n\nname    print\nvalue   3\nreason\n"


@pytest.mark.usefixtures("instance")
def test_an_import_of_nothing_fails(knick: Knick) -> None:
    Path("nothing").mkdir()
    ran = knick("import", "nothing")
    assert (ran.code, ran.output) == (2, "no results files found\n")


def test_commands_whose_exit_codes_are_described_exist() -> None:
    assert set(ANSWERS) <= set(COMMANDS)


@pytest.mark.parametrize(
    ("text", "options", "lines"),
    [
        ("1\n2\n", [], ["the series has too few values: 2; the method default needs at least 6 to find a step"]),
        (
            "a,b\n1,2\n",
            ["--method", "t_test", "--set", "fore=3", "--set", "back=2"],
            [
                f"series {name!r} has too few values: 1; the method t_test needs at least 5 to find a step"
                for name in "ab"
            ],
        ),
        ("\n".join(map(str, [1] * 6)), [], []),
    ],
)
def test_detect_says_which_series_have_too_few_values(
    knick: Knick, tmp_path: Path, text: str, options: list[str], lines: list[str]
) -> None:
    (file := tmp_path / "values.csv").write_text(text)
    ran = knick("detect", file, *options)
    assert ran.output == "No steps.\n"
    assert ran.errors.splitlines() == lines
