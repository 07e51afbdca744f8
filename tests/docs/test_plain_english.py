"""The prose of the code names things: no docstring is a riddle, and no line of prose is too long to read."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import knickpoint

_SOURCE = Path(knickpoint.__file__).parent
_MODULES = {path: path.read_text(encoding="utf-8") for path in sorted(_SOURCE.rglob("*.py"))}
_RIDDLE = re.compile(r"(Return|Say|State|Tell|Give) (what|how|which|why|whether|where)\b")
_DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def test_a_docstring_names_what_it_describes() -> None:
    documented = [
        (path.name, ast.get_docstring(node) or "")
        for path, text in _MODULES.items()
        for node in ast.walk(ast.parse(text))
        if isinstance(node, _DOCUMENTED)
    ]
    assert [(name, text.splitlines()[0]) for name, text in documented if _RIDDLE.match(text)] == []
