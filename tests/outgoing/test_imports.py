"""No module reaches the network or starts a program but those that are listed here, each with its reason."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import knickpoint

_SOURCE = Path(knickpoint.__file__).parent
_WATCHED = (
    "aiohttp",
    "asyncio.subprocess",
    "authlib.integrations",
    "distributed",
    "ftplib",
    "http.client",
    "httpcore",
    "httpx",
    "multiprocessing.connection",
    "os.popen",
    "os.system",
    "pty",
    "requests",
    "smtplib",
    "socket",
    "socketserver",
    "subprocess",
    "telnetlib",
    "urllib.request",
    "urllib3",
    "xmlrpc",
)
_WORDS = {name.rpartition(".")[2] for name in _WATCHED}
_ALLOWED = {
    "outgoing/fetch.py": {
        "http.client",
        "socket",
        "urllib.request",
    },  # what this room is for; proxies of the environment
    "notify/channels/mail.py": {"smtplib"},  # to the mail server of the configuration
    "history/git_process.py": {"subprocess"},  # the only way to git
    "server/listener.py": {"socket"},  # listens
    "instance/worker/worker.py": {"socket"},  # the name of this machine
    "cli/commands/notify.py": {"socket"},  # the name of this machine
    "instance/quarantine.py": {"subprocess"},  # the commands of the configuration
    "demo/measurement.py": {"subprocess"},  # git in a new directory, and the program of the demonstration
    "bisect/runner/command.py": {"subprocess"},  # the commands of a recipe
    "bisect/pool/probe_run.py": {"subprocess"},  # each probe is a process of its own
    "bisect/runner/planting.py": {"subprocess"},  # the command of a recipe, with pauses in it
    "instance/attempts.py": {"subprocess"},  # the process that makes the attempts of a session
    "bisect/pool/access.py": {"distributed"},  # to the scheduler of the configuration, with its certificates only
    "bisect/pool/scheduler.py": {"distributed"},  # listens, with certificates on both sides
    "bisect/pool/agent.py": {"distributed"},  # to the scheduler that its operator names
    "work.py": {
        "distributed",
        "multiprocessing.connection",
    },  # to the scheduler of the configuration; pipes to processes
    "access/exposure.py": {"socket"},  # finds which addresses the server listens at
}


def _uses(path: Path) -> Iterator[str]:
    """Yield the dotted names that a module imports, and those of ``os`` that it uses, where it has such a word at all."""
    source = path.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(source if any(word in source for word in _WORDS) else "")):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif (
            isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in {"os", "asyncio"}
        ):
            yield f"{node.value.id}.{node.attr}"


def _watched(path: Path) -> set[str]:
    return {name for used in _uses(path) for name in _WATCHED if used == name or used.startswith(f"{name}.")}


def test_a_module_reaches_the_network_or_starts_programs_only_if_it_is_listed() -> None:
    watched = {str(path.relative_to(_SOURCE)): _watched(path) for path in sorted(_SOURCE.rglob("*.py"))}
    unlisted = {path: names - _ALLOWED.get(path, set()) for path, names in watched.items()}
    assert {path: names for path, names in unlisted.items() if names} == {}


def test_the_rule_sees_what_it_watches(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text("import os, socket\nfrom urllib import request\ndef run():\n  import httpx\n  os.system('x')\n")
    assert _watched(module) == {"httpx", "os.system", "socket", "urllib.request"}
