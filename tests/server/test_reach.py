"""No answer reaches a repository but through the visible ones: the source of the server is read."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import knickpoint.answers
import knickpoint.server

SERVER = Path(knickpoint.server.__file__).parent
ANSWERS = Path(knickpoint.answers.__file__).parent
VISIBLE = ANSWERS / "visible_repositories.py"
REACHING = {
    ("commits", "repositories"),
    ("commits", "repository"),
    ("commits", "add_repository"),
    ("findings", "repository_of"),
    ("findings", "repositories_of"),
    ("findings", "change"),
    ("findings", "owners"),
    ("findings", "owners_of_changes"),
    ("shortcuts", "get"),
    ("traces", "owners"),
}
"""Methods of the areas of a store that find a repository, or what one has, by a name or an id of a request."""

WITHOUT_REPOSITORY = {"routes/access.py", "routes/dependencies.py"}
"""Routes that take the store: of tokens, the audit log and settings of people, which belong to no repository."""


def reaching(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Attribute(value=ast.Attribute(attr=area), attr=method) if (area, method) in REACHING:
                yield f"line {node.lineno}: {area}.{method}"


def test_no_other_module_finds_repositories() -> None:
    modules = [path for room in (SERVER, ANSWERS) for path in sorted(room.rglob("*.py")) if path != VISIBLE]
    assert [(path.name, found) for path in modules for found in reaching(path.read_text())] == []


def test_the_visible_repositories_do() -> None:
    assert len(list(reaching(VISIBLE.read_text()))) > 5


def test_a_route_takes_no_store() -> None:
    routes = {str(path.relative_to(SERVER)): path.read_text() for path in (SERVER / "routes").glob("*.py")}
    assert {name for name, text in routes.items() if "RequestStore" in text} <= WITHOUT_REPOSITORY


def test_each_method_exists() -> None:
    from knickpoint.store.commits import Commits
    from knickpoint.store.findings.findings import Findings
    from knickpoint.store.traces.traces import Shortcuts, Traces

    areas = {"commits": Commits, "findings": Findings, "shortcuts": Shortcuts, "traces": Traces}
    assert all(hasattr(areas[area], method) for area, method in REACHING)
