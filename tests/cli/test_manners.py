"""What all commands share: errors with suggestions, quiet and verbose, tables on a terminal, colours, exit codes."""

from __future__ import annotations

import io
import json
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from knickpoint.cli.exit_codes import ANSWERS
from knickpoint.cli.options import closest
from knickpoint.cli.output import Table, layout
from knickpoint.cli.program import COMMANDS
from knickpoint.cli.program import knick as cli
from knickpoint.cli.terminal import Verbosity, announcer, colours_allowed, painted, set_verbosity, tone_of

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
        (
            ["changes", "--kind", "stp"],
            (
                "knick changes: invalid value for '--kind': "
                "'stp' is not one of 'step', 'drift', 'mode', 'noise'. Did you mean step?"
            ),
        ),
        (["restore"], "knick restore: missing argument 'FILE'."),
        (["zzz"], "knick: there is no command 'zzz'."),
        (["gate"], "knick: there is no command 'gate'. It was renamed to schedule."),
        (["bisect", "--profile", "x"], "knick bisect: there is no option --profile. It was renamed to --recipe."),
        (["compare", "--profile", "x"], "knick compare: there is no option --profile. It was renamed to --recipe."),
        (
            ["bisect", "--simulate", "--gate-commits", "4"],
            "knick bisect --simulate: there is no option --gate-commits. It was renamed to --schedule-commits.",
        ),
    ],
)
def test_a_mistyped_word_is_answered_with_what_it_may_mean(knick: Knick, arguments: list[str], error: str) -> None:
    ran = knick(*arguments)
    assert ran.code == 2
    assert ran.errors.splitlines()[0] == error
    assert ran.errors.splitlines()[1].startswith("usage: knick")
    assert ran.output == ""


_IN_GROUPS = [
    ["tokens", "list"],
    ["quality", "alerts"],
    ["ingest", "status"],
    ["history", "list"],
    ["missed", "list"],
    ["deliveries", "list"],
    ["tickets", "list"],
    ["alerts", "list"],
    ["missing", "renames"],
    ["bisections", "show", "1"],
    ["schedule", "status"],
    ["canaries", "health"],
]


@pytest.mark.parametrize("words", _IN_GROUPS, ids=" ".join)
def test_a_group_hands_its_instance_to_the_command_within_it(knick: Knick, words: list[str], tmp_path: Path) -> None:
    group, *rest = words
    after = knick(group, *rest, "--instance", tmp_path / "none")
    assert str(tmp_path / "none") in after.errors
    assert knick(group, "--instance", tmp_path / "none", *rest) == after
    assert knick(group, "--instance", tmp_path / "other", *rest, "--instance", tmp_path / "none") == after


def test_a_group_without_a_command_takes_an_instance(knick: Knick, judged: Path) -> None:
    assert knick("quality", "--instance", judged).output == knick("quality", "alerts", "--instance", judged).output


def test_suggestions_are_similar_names_and_names_with_this_beginning() -> None:
    names = ["changes", "restore", "triage", "tokens"]
    assert closest("Change", names) == ["changes"]
    assert closest("to", names) == ["tokens"]
    assert closest("q", names) == []


@pytest.mark.parametrize("place", [["-q", "run"], ["run", "-q"], ["--quiet", "run"]])
@pytest.mark.usefixtures("judged")
def test_quiet_leaves_out_what_is_no_data_before_and_behind_the_command(knick: Knick, place: list[str]) -> None:
    assert knick("run").output != ""
    assert knick(*place).output == ""
    assert "change" in knick("-q", "changes").output


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
    assert "hazard" not in knick("changes").output.splitlines()[0]
    assert "hazard" in knick("changes", "--verbose").output.splitlines()[0]


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
    piped = knick("changes").output
    monkeypatch.setattr(sys, "stdout", screen := _Terminal())
    knick("changes")
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


def _options(command: click.Command) -> Iterator[click.Parameter]:
    yield from command.params
    if isinstance(command, click.Group):
        for name in command.list_commands(click.Context(command)):
            yield from _options(command.get_command(click.Context(command), name) or command)


def test_no_repeatable_option_has_a_default_that_it_would_replace() -> None:
    repeatable = [each for each in _options(cli) if isinstance(each, click.Option) and each.multiple]
    assert len(repeatable) > 10
    defaults = {each.opts[0]: each.get_default(click.Context(cli)) for each in repeatable}
    assert {name: value for name, value in defaults.items() if isinstance(value, tuple | list) and value} == {}


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
    ],
)
def test_detect_has_no_answer_where_all_series_have_too_few_values(
    knick: Knick, tmp_path: Path, text: str, options: list[str], lines: list[str]
) -> None:
    (file := tmp_path / "values.csv").write_text(text)
    ran = knick("--quiet", "detect", file, *options)
    assert (ran.code, ran.output) == (3, "")
    assert ran.errors.splitlines() == [f"knick: {line}" for line in lines]


def test_detect_notes_the_series_that_are_too_short_beside_others(knick: Knick, tmp_path: Path) -> None:
    (file := tmp_path / "values.csv").write_text("id,pos,value\nb,1,1\n" + "".join(f"a,{day},1\n" for day in range(6)))
    ran = knick("detect", file)
    assert (ran.code, ran.output) == (0, "No steps.\n")
    assert ran.errors == "series 'b' has too few values: 1; the method default needs at least 6 to find a step\n"


def test_the_newest_rows_have_no_verdict_without_enough_values(knick: Knick, tmp_path: Path) -> None:
    (file := tmp_path / "values.csv").write_text("1\n2\n3\n")
    ran = knick("detect", file, "--newest", 1)
    assert ran.code == 3
    assert "no data" in ran.output


@pytest.mark.parametrize("command", [["run"], ["backtest"], ["history", "take"]])
@pytest.mark.usefixtures("instance")
def test_an_instance_without_results_has_nothing_to_judge(knick: Knick, command: list[str]) -> None:
    ran = knick(*command)
    assert (ran.code, ran.output) == (2, "")
    assert ran.errors.endswith(
        "the instance has no results yet. Import results: knick import PATH. knick demo shows everything on an "
        "example.\n"
    )


@pytest.mark.usefixtures("instance")
def test_a_round_of_a_worker_without_results_is_done_and_says_what_is_missing(knick: Knick) -> None:
    ran = knick("worker", "--once")
    assert ran.code == 0
    assert ran.output.startswith("The round is done. The instance has no results yet. ")
    assert knick("worker", "--once", "--quiet").output == ""


@pytest.mark.usefixtures("instance")
def test_running_schedules_without_a_schedule_is_refused(knick: Knick) -> None:
    ran = knick("schedule", "run", "--once")
    assert ran.code == 2
    assert "no schedule is configured. Add a section [schedule.NAME]" in ran.errors


@pytest.mark.usefixtures("instance")
def test_the_secret_of_a_token_is_all_that_quiet_prints(knick: Knick) -> None:
    ran = knick("--quiet", "tokens", "create", "ci", "--scope", "upload")
    assert ran.errors == ""
    assert len(ran.output.split()) == 1


@pytest.mark.usefixtures("instance")
def test_a_new_alert_is_shown_as_new_and_a_changed_one_by_what_changes(knick: Knick) -> None:
    alert = '[alerts.render]\nquery = "benchmark=render*"\n'
    (config := Path("knickpoint.toml")).write_text(config.read_text() + alert)
    added = {row["name"]: row for row in json.loads(knick("alerts", "apply", "--format", "json").output)}["render"]
    assert (added["change"], added["settings"]) == ("added", ['query: "benchmark=render*"'])
    config.write_text(config.read_text() + "minimum_effect = 0.02\n")
    changed = {row["name"]: row for row in json.loads(knick("alerts", "apply", "--format", "json").output)}["render"]
    assert (changed["change"], changed["settings"]) == ("changed", ["minimum_effect: 0.0 → 0.02"])


def test_what_is_announced_from_a_thread_obeys_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    set_verbosity(Verbosity.QUIET)
    announce = announcer()
    set_verbosity(Verbosity.NORMAL)
    thread = threading.Thread(target=announce, args=("made a repository",))
    thread.start()
    thread.join()
    assert capsys.readouterr().out == ""


def test_a_demonstration_that_cannot_be_written_names_the_directory(knick: Knick, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    ran = knick("demo", "--no-serve", tmp_path / "file" / "below")
    assert ran.code == 2
    assert f"{tmp_path / 'file' / 'below'}: the directory cannot be made: Not a directory." in ran.errors


@pytest.mark.parametrize("text", ["", "  "])
@pytest.mark.parametrize(
    ("command", "option"), [("import", "--commit"), ("import", "--branch"), ("import", "--time"), ("check", "--base")]
)
def test_an_option_without_a_text_is_refused_by_its_name(knick: Knick, command: str, option: str, text: str) -> None:
    ran = knick(command, "results.json", option, text)
    assert ran.code == 2
    assert f"{option}: the text is empty, perhaps from an unset variable" in ran.errors
