"""What a package or module offers is what its ``__all__`` says: sorted, complete, and there."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import knickpoint

_SOURCE = Path(knickpoint.__file__).parent
_PACKAGES = sorted(".".join(path.parent.relative_to(_SOURCE.parent).parts) for path in _SOURCE.rglob("__init__.py"))
_FACADES = [name for name in _PACKAGES if hasattr(import_module(name), "__all__")]
_MODULES = sorted(
    path
    for path in _SOURCE.rglob("*.py")
    if not {"migrations", "commands"} & set(path.parts) and path.name != "__main__.py"
)


def _statements(tree: ast.Module) -> list[ast.stmt]:
    """Return the statements of a module, those under ``if TYPE_CHECKING`` included: there stand the lazy names."""
    guarded = [node.body for node in tree.body if isinstance(node, ast.If)]
    return [*tree.body, *(statement for body in guarded for statement in body)]


def _taken_from_below(package: ModuleType) -> set[str]:
    """Return the public names that the package's own file imports from its modules or defines."""
    tree = ast.parse(Path(str(package.__file__)).read_text(encoding="utf-8"))
    imported = {
        alias.asname or alias.name
        for node in _statements(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(package.__name__)
        for alias in node.names
    }
    defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    return {name for name in imported | defined if not name.startswith("_")}


def _literals(path: Path) -> tuple[set[str], set[str]]:
    """Return what a module's ``__all__`` lists, and the public classes and undecorated functions that it defines."""
    listed: set[str] = set()
    defined: set[str] = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        target = (
            node.target
            if isinstance(node, ast.AnnAssign)
            else node.targets[0]
            if isinstance(node, ast.Assign)
            else None
        )
        if isinstance(target, ast.Name) and target.id == "__all__" and isinstance(node, ast.Assign | ast.AnnAssign):
            listed = set(ast.literal_eval(node.value)) if node.value else set()
        if isinstance(node, ast.ClassDef) or (isinstance(node, ast.FunctionDef) and not node.decorator_list):
            defined.add(node.name)
    return listed, {name for name in defined if not name.startswith("_")}


@pytest.mark.parametrize("name", _PACKAGES)
def test_a_package_says_in_a_sentence_what_lives_there(name: str) -> None:
    first = (import_module(name).__doc__ or "").split("\n", maxsplit=1)[0]
    assert first.endswith((".", ":"))
    assert len(first.split()) > 4


def _kind_and_name(name: str) -> tuple[int, str]:
    """Constants come first, then classes, then functions."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2), name


@pytest.mark.parametrize("name", _FACADES)
def test_what_a_package_offers_is_there_and_sorted(name: str) -> None:
    package = import_module(name)
    assert [public for public in package.__all__ if not hasattr(package, public)] == []
    assert package.__all__ == sorted(package.__all__, key=_kind_and_name)


@pytest.mark.parametrize("name", _FACADES)
def test_what_a_package_takes_from_its_modules_it_offers(name: str) -> None:
    package = import_module(name)
    assert _taken_from_below(package) - set(package.__all__) - {"kernel"} - set(_submodules(package)) == set()


def _submodules(package: ModuleType) -> list[str]:
    place = Path(str(package.__file__)).parent
    return [path.stem for path in place.glob("*.py")]


@pytest.mark.parametrize("path", _MODULES, ids=lambda path: str(path.relative_to(_SOURCE)))
def test_a_public_name_of_a_module_is_in_its_list(path: Path) -> None:
    listed, defined = _literals(path)
    assert defined - listed == set()
