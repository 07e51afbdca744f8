"""Options that several commands share, and the parsing of their text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from knickpoint.model.errors import InputError

if TYPE_CHECKING:
    from knickpoint.answers.visible_repositories import VisibleRepositories
    from knickpoint.instance import Instance

_BRING_IN: Final = "Import results: knick import PATH. knick demo shows everything on an example."

_NO_VERDICT: Final = "none"

NO_RESULTS: Final = f"The instance has no results yet. {_BRING_IN}"


def instance_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--instance DIR`` to a command, as the argument ``instance``."""
    return click.option(
        "--instance",
        type=click.Path(file_okay=False),
        default=None,
        metavar="DIR",
        help="The directory of the instance. Default: KNICKPOINT_INSTANCE, else the nearest knickpoint.toml upwards.",
    )(command)


def fail_on_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--fail-on VERDICT`` to a command, as the argument ``fail_on``: the verdicts that fail the check."""
    from knickpoint.model.step import Verdict

    def failing(_context: click.Context, _parameter: click.Parameter, names: Sequence[str]) -> frozenset[Verdict]:
        usual = frozenset[Verdict]() if _NO_VERDICT in names else frozenset({Verdict.REGRESSED})
        return usual | {Verdict(name) for name in names if name != _NO_VERDICT}

    return click.option(
        "--fail-on",
        multiple=True,
        type=click.Choice([*(each.value for each in Verdict if each is not Verdict.NO_DATA), _NO_VERDICT]),
        callback=failing,
        help="A verdict that ends with exit code 1, in addition to regressed; none removes regressed; repeatable.",
    )(command)


def job_name_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--name NAME`` to a command, as the argument ``name``: the name of a job in its reports."""
    return click.option(
        "--name",
        default="",
        metavar="NAME",
        help="The name of this job, if several check one commit: each name has its own comment. Default: none.",
    )(command)


def open_chosen_instance(directory: str | None) -> Instance:
    """Open the instance in ``directory``, or the one that the environment or the working directory names."""
    from knickpoint.instance import open_instance

    return open_instance(directory)


def local_view(opened: Instance) -> VisibleRepositories:
    """Return the view of the store for the user of this process, who may read everything."""
    from knickpoint.access.local_user import local_caller
    from knickpoint.answers.visible_repositories import VisibleRepositories

    return VisibleRepositories(opened.store, local_caller())


def refuse_empty(context: click.Context, parameter: click.Parameter, value: str) -> str:
    """Refuse an option that is given without a text, as `--commit "$SHA"` where the variable is not set.

    Raises:
        InputError: the text is empty.
    """
    given = context.get_parameter_source(parameter.name or "") is click.core.ParameterSource.COMMANDLINE
    if given and not value.strip():
        raise InputError(
            "the text is empty, perhaps from an unset variable",
            where=parameter.opts[0],
            remedy="Give it, or leave the option out.",
        )
    return value


def share_of_change(_: click.Context, parameter: click.Parameter, value: float | None) -> float | None:
    """Refuse the smallest change that counts where a percentage was meant: with 5 for 5 %, nothing would ever count.

    Raises:
        InputError: it is 1 or more.
    """
    if value is not None and value >= 1:
        raise InputError(
            f"{value:g} lets all changes below {value * 100:g} % pass",
            where=parameter.opts[0],
            remedy=f"Give a share below 1: {value / 100:g} is {value:g} %.",
        )
    return value


minimum_effect_option = click.option(
    "--minimum-effect",
    type=click.FloatRange(0),
    callback=share_of_change,
    default=0.0,
    help="The smallest change that counts: 0.02 is 2 %.",
)


def require_results(opened: Instance) -> None:
    """Refuse to work on an instance without any results.

    Raises:
        InputError: nothing has been imported yet.
    """
    if not opened.store.commits.repositories():
        raise InputError("the instance has no results yet", where=str(opened.directory), remedy=_BRING_IN)


def read_pairs(pairs: Sequence[str], option: str) -> dict[str, str]:
    """Parse ``name=value`` texts into a dict.

    Raises:
        InputError: a text has no ``=`` or no name, or a name is given twice.
    """
    found: dict[str, str] = {}
    for pair in pairs:
        name, sign, value = pair.partition("=")
        if not sign or not name:
            raise InputError(f"{pair!r} is not name=value", where=option, remedy=f"Write {option} name=value.")
        if name in found:
            raise InputError(f"{name!r} is given twice", where=option, remedy="Give each name once.")
        found[name] = value
    return found
