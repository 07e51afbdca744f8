"""``knick completion``: print or install the completion of commands, options and names for a shell."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import click

from knickpoint.cli.completions import VARIABLE, register_shells
from knickpoint.cli.terminal import note
from knickpoint.model.errors import ServiceError

_HINTS: Final = {
    "bash": "New shells load it if the package bash-completion is installed; otherwise add to ~/.bashrc: source {file}",
    "zsh": "Add to ~/.zshrc, before compinit: fpath=({directory} $fpath)",
    "fish": "New shells load it.",
}
"""Shell → what else its user does."""


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.option("--install", is_flag=True, help="Install the script in the shell's completion directory.")
def command(shell: str, *, install: bool) -> None:
    """Print the completion script for SHELL: commands, options, and the names of an instance.

    To try it in bash: eval "$(knick completion bash)". With --install it goes to your home directory.
    """
    script = _script(shell)
    if not install:
        click.echo(script, nl=False)
        return
    file = _place(shell)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(script)
    except OSError as error:
        raise ServiceError(
            f"cannot be written: {error.strerror}",
            where=str(file),
            remedy=f"Write it elsewhere: knick completion {shell} > FILE.",
        ) from error
    note(f"Wrote {file}. {_HINTS[shell].format(file=file, directory=file.parent)}")


def _script(shell: str) -> str:
    from click.shell_completion import get_completion_class

    register_shells()
    program = click.get_current_context().find_root().command
    kind = get_completion_class(shell)
    assert kind is not None
    return kind(program, {}, "knick", VARIABLE).source().strip() + "\n"


def _place(shell: str) -> Path:
    """Return the file that a shell reads when it completes knick for the first time."""
    home = Path.home()
    data = Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share")
    if shell == "bash":
        own = os.environ.get("BASH_COMPLETION_USER_DIR")
        return (Path(own) if own else data / "bash-completion") / "completions" / "knick"
    if shell == "zsh":
        return data / "zsh" / "site-functions" / "_knick"
    return Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config") / "fish" / "completions" / "knick.fish"
