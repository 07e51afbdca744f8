"""No answer reaches a repository but through the visible ones: the source of the server is read."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import knickpoint.server

SERVER = Path(knickpoint.server.__file__).parent
VISIBLE = "visible_repositories.py"
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

WITHOUT_REPOSITORY = {"routes/access.py", "routes/dependencies.py", "routes/me.py"}
"""Routes that take the store: of tokens, the audit log and settings of people, which belong to no repository."""


def reaching(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Attribute(value=ast.Attribute(attr=area), attr=method) if (area, method) in REACHING:
                yield f"line {node.lineno}: {area}.{method}"


def test_no_other_module_finds_repositories() -> None:
    modules = [path for path in sorted(SERVER.rglob("*.py")) if path.name != VISIBLE]
    assert [f"{module}, {place}" for module in modules for place in reaching(module.read_text())] == []


def test_the_visible_repositories_do() -> None:
    assert len(list(reaching((SERVER / VISIBLE).read_text()))) > 5


def test_a_route_takes_no_store() -> None:
    taking = {
        str(module.relative_to(SERVER))
        for module in (SERVER / "routes").glob("*.py")
        if "RequestStore" in module.read_text()
    }
    assert taking <= WITHOUT_REPOSITORY


def test_each_method_exists() -> None:
    from knickpoint.store.commits.commits import Commits
    from knickpoint.store.findings.findings import Findings
    from knickpoint.store.traces.shortcuts import Shortcuts
    from knickpoint.store.traces.traces import Traces

    areas = {"commits": Commits, "findings": Findings, "shortcuts": Shortcuts, "traces": Traces}
    assert all(hasattr(areas[area], method) for area, method in REACHING)
