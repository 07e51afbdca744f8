"""What a package offers is what its ``__all__`` says: sorted, complete, and there."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path
from types import ModuleType

import knickpoint

_SOURCE = Path(knickpoint.__file__).parent
_PACKAGES = sorted(".".join(path.parent.relative_to(_SOURCE.parent).parts) for path in _SOURCE.rglob("__init__.py"))
_FACADES = [name for name in _PACKAGES if hasattr(import_module(name), "__all__")]


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


def test_a_package_says_in_a_sentence_what_lives_there() -> None:
    sentences = {name: (import_module(name).__doc__ or "").split("\n", maxsplit=1)[0] for name in _PACKAGES}
    wrong = {name for name, first in sentences.items() if not first.endswith((".", ":")) or len(first.split()) < 5}
    assert wrong == set()


def _kind_and_name(name: str) -> tuple[int, str]:
    """Constants come first, then classes, then functions."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2), name


def test_what_a_package_offers_is_there_and_sorted() -> None:
    packages = [import_module(name) for name in _FACADES]
    absent = {f"{each.__name__}.{name}" for each in packages for name in each.__all__ if not hasattr(each, name)}
    assert absent == set()
    assert [each.__name__ for each in packages if each.__all__ != sorted(each.__all__, key=_kind_and_name)] == []


def test_what_a_package_takes_from_its_modules_it_offers() -> None:
    unlisted = {
        f"{each.__name__}.{name}"
        for each in map(import_module, _FACADES)
        for name in _taken_from_below(each) - set(each.__all__) - {"kernel"} - set(_submodules(each))
    }
    assert unlisted == set()


def _submodules(package: ModuleType) -> list[str]:
    place = Path(str(package.__file__)).parent
    return [path.stem for path in place.glob("*.py")]


def test_lists_of_public_names_stand_in_packages_alone() -> None:
    modules = [path for path in _SOURCE.rglob("*.py") if path.name != "__init__.py"]
    assert [path.name for path in modules if "\n__all__" in path.read_text(encoding="utf-8")] == []
