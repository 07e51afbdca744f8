"""Write the reference pages, which git does not have.

Two files that the code determines are in git, because a change of them is to be seen: the names of the API, and the map
of the rooms. ``--kept`` writes these too, ``--check`` compares them with the code.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import Final

import click
from objects import objects_page
from structure import draw_structure

from knickpoint.cli.exit_codes import ANSWERS, COMMON
from knickpoint.cli.program import COMMANDS, knick
from knickpoint.instance.config.reference import attribute_meanings, configuration_page
from knickpoint.notify.messages import facts
from knickpoint.server import describe_api
from knickpoint.server.api_reference import render_openapi, render_reference

_PAGES: Final = Path(__file__).parent / "reference"


def _options(command: click.Command, context: click.Context) -> list[str]:
    lines = []
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None:
            names, text = record
            lines.append(f"| `{names.replace('|', '∣')}` | {' '.join(text.split()).replace('|', '∣')} |")
    return lines


def _command(name: str, command: click.Command, parent: click.Context) -> list[str]:
    context = click.Context(command, info_name=name, parent=parent)
    usage = command.get_usage(context).removeprefix("Usage: ")
    body = "\n\n".join(" ".join(part.split()) for part in (command.help or "").split("\n\n"))
    lines = [f"## {context.command_path}", "", f"`{' '.join(usage.split())}`", "", body, ""]
    if isinstance(command, click.Group):
        for own in command.list_commands(context):
            inner = command.get_command(context, own)
            assert inner is not None
            lines += ["", *_command(own, inner, context)]
        return lines
    lines += ["| option | meaning |", "|---|---|", *_options(command, context), ""]
    for flag, mode in getattr(command, "modes", {}).items():
        lines += ["", *_command(f"{name} {flag}", mode, parent)]
    return lines


def commands() -> str:
    """Return the page of the commands."""
    root = click.Context(knick, info_name="knick")
    lines = [
        "# Commands",
        "",
        "Written from the program by `make docs-write`.",
        "",
        (
            "Every command has `-q`, `--quiet` (print data and errors only), `-v`, `--verbose` (print every column and "
            "every"
        ),
        (
            "number, and where in the program an error arose) and `-h`, `--help`. On a terminal, tables fit its width, and "
            "verdicts"
        ),
        "have colours; `NO_COLOR` turns them off, `FORCE_COLOR` turns them on in pipes.",
        "",
        "## Exit codes",
        "",
        "| command | exit code | meaning |",
        "|---|---|---|",
        *(f"| every command | {code} | {meaning} |" for code, meaning in COMMON.items()),
        *(f"| `knick {name}` | {code} | {text} |" for name, codes in ANSWERS.items() for code, text in codes.items()),
        "",
    ]
    for name in COMMANDS:
        command = knick.get_command(root, name)
        assert command is not None
        lines += _command(name, command, root)
    return "\n".join(lines).rstrip() + "\n"


def methods() -> str:
    """Return the page of the detection methods, with their parameters and presets."""
    detect = import_module("knickpoint.detect")
    lines = ["# Detection methods", "", "Written from the code by `make docs-write`; the guide says what they do.", ""]
    for name, method in detect.METHODS.items():
        lines += [f"## {name}", "", "| parameter | by default |", "|---|---|"]
        lines += [f"| `{key}` | `{value}` |" for key, value in method.parameters.items()]
        lines.append("")
        presets: Mapping[str, Mapping[str, object]] = method.presets
        for preset, values in presets.items():
            settings = ", ".join(f"`{key}={value}`" for key, value in values.items())
            lines += [f"Preset `{preset}`: {settings}.", ""]
    return "\n".join(lines).rstrip() + "\n"


def api() -> str:
    """Return the page of the HTTP API."""
    return render_reference(describe_api())


def objects() -> str:
    """Return the page of the objects that scripts get."""
    return objects_page(describe_api())


def openapi() -> str:
    """Return the description of the HTTP API, which the types of the dashboard are made from."""
    return render_openapi(describe_api())


def api_names() -> str:
    """Return the names of the API that scripts rely on: operations with their parameters, objects with their fields."""
    described = describe_api()
    operations = [
        " ".join([method.upper(), path, *(each["name"] for each in operation.get("parameters", ()))])
        for path, methods in described["paths"].items()
        for method, operation in methods.items()
    ]
    shapes = [
        " ".join([f"{name}:", *shape.get("properties", shape.get("enum", ()))])
        for name, shape in described["components"]["schemas"].items()
    ]
    return "\n".join([*sorted(operations), "", *sorted(shapes)]) + "\n"


def templates() -> str:
    """Return the variables and the filters of the templates of messages."""
    lines = [
        "# Variables of message templates",
        "",
        (
            "Written from the code by `make docs-write`. [What messages say](../guide/messages.md#your-own-templates) "
            "explains"
        ),
        (
            "how templates use them. A template sees the variables of the first table, and `change`, the first of "
            "`changes`."
        ),
        "",
    ]
    for title, kind in (
        ("At the top", facts.NotificationFacts),
        ("A change", facts.ChangeFacts),
        ("A trace", facts.TraceFacts),
        ("A suspect range", facts.RangeFacts),
        ("A suspect", facts.SuspectCommit),
        ("An outcome", facts.BisectionFacts),
        ("A commit", facts.CommitFacts),
        ("Links", facts.LinkFacts),
    ):
        lines += [f"## {title}", "", "| variable | is |", "|---|---|"]
        described = attribute_meanings(kind)
        lines += [f"| `{each.name}` | {described[each.name]} |" for each in fields(kind) if each.repr]
        lines.append("")
    return "\n".join(lines)


KEPT: Final[Mapping[str, Callable[[], str]]] = {
    "../architecture.svg": draw_structure,
    "../../tests/server/api_names.txt": api_names,
}

PAGES: Final[Mapping[str, Callable[[], str]]] = {
    "api.md": api,
    "commands.md": commands,
    "configuration.md": configuration_page,
    "methods.md": methods,
    "objects.md": objects,
    "openapi.json": openapi,
    "templates.md": templates,
}


def main() -> int:
    """Write the pages, or check the kept files; 1 when one does not agree with the code."""
    if "--check" in sys.argv[1:]:
        stale = [name for name, page in KEPT.items() if (_PAGES / name).read_text() != page()]
        for name in stale:
            print(f"{(_PAGES / name).resolve()} does not agree with the code: run `make docs-write`", file=sys.stderr)  # noqa: T201
        return 1 if stale else 0
    _PAGES.mkdir(exist_ok=True)
    for name, page in {**PAGES, **(KEPT if "--kept" in sys.argv[1:] else {})}.items():
        (_PAGES / name).write_text(page())
    return 0


if __name__ == "__main__":
    sys.exit(main())
