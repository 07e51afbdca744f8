"""The prose of the code names things: no docstring is a riddle, and no line of prose is too long to read."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import knickpoint

_SOURCE = Path(knickpoint.__file__).parent
_MODULES = {path: path.read_text(encoding="utf-8") for path in sorted(_SOURCE.rglob("*.py"))}
_RIDDLE = re.compile(r"(Return|Say|State|Tell|Give) (what|how|which|why|whether|where)\b")
_LONGEST = 120
_DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def test_a_docstring_names_what_it_describes() -> None:
    documented = [
        (path.name, ast.get_docstring(node) or "")
        for path, text in _MODULES.items()
        for node in ast.walk(ast.parse(text))
        if isinstance(node, _DOCUMENTED)
    ]
    assert [(name, text.splitlines()[0]) for name, text in documented if _RIDDLE.match(text)] == []


def test_no_line_of_a_docstring_is_too_long_to_read() -> None:
    documented = [
        (path.name, node.value.value)
        for path, text in _MODULES.items()
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    ]
    assert [(name, line) for name, text in documented for line in text.splitlines() if len(line) > _LONGEST] == []
