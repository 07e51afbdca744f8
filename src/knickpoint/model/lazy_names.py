"""Names of a package whose modules are imported when a name is first asked for (PEP 562)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module


def lazy_names(package: str, modules: Mapping[str, str]) -> Callable[[str], object]:
    """Return the ``__getattr__`` of a package that imports each name from its module when it is first asked for.

    A package whose modules need heavy libraries stays cheap to enter for who needs one light module of it. Its file
    repeats the imports under ``TYPE_CHECKING``, for type checkers and editors.

    Args:
        package: the name of the package, as in ``__name__``.
        modules: the full name of the module by the name that it offers.
    """

    def get(name: str) -> object:
        module = modules.get(name)
        if module is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = getattr(import_module(module), name)
        setattr(sys.modules[package], name, found)
        return found

    return get
