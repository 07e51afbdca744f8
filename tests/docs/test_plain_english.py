"""The prose of the code names things: no docstring is a riddle, and no line of prose is too long to read."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import knickpoint

_RIDDLE = re.compile(r"(Return|Say|State|Tell|Give) (what|how|which|why|whether|where)\b")
_LONGEST = 120


def _statements(block: ast.AST) -> Iterator[ast.stmt]:
    """Yield the statements of a module, and those of its classes and functions."""
    for node in getattr(block, "body", ()):
        yield node
        yield from _statements(node)


def _docstrings() -> list[tuple[str, str]]:
    """Return the name of the module and the text of each docstring, those of constants and fields included."""
    return [
        (path.name, node.value.value)
        for path in sorted(Path(knickpoint.__file__).parent.rglob("*.py"))
        for node in _statements(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    ]


def test_a_docstring_names_what_it_describes_in_lines_that_can_be_read() -> None:
    documented = _docstrings()
    riddles = [(name, text.splitlines()[0]) for name, text in documented if _RIDDLE.match(text)]
    too_long = [(name, line) for name, text in documented for line in text.splitlines() if len(line) > _LONGEST]
    assert (riddles, too_long) == ([], [])
