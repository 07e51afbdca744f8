"""The methods by name: the built-in ones, and those that other packages register as ``knickpoint.methods``.

A method is imported when it is first used. The entry points of other packages are read when a name is not built in, or
when all names are listed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Any, Final

from knickpoint.detect.method import Method, MethodKind, Value
from knickpoint.model.errors import InputError, PluginError
from knickpoint.plugins import Plugin, find_plugins

ENTRY_POINTS: Final = "knickpoint.methods"
"""The group of entry points under which other packages register methods."""

_BUILT_IN: Final[Mapping[str, str]] = {
    "catapult": "knickpoint.detect.methods.catapult.method:METHOD",
    "cluster": "knickpoint.detect.methods.cluster.method:METHOD",
    "default": "knickpoint.detect.methods.default.method:METHOD",
    "e_divisive": "knickpoint.detect.methods.e_divisive.method:METHOD",
    "e_divisive_joint": "knickpoint.detect.methods.e_divisive.joint:METHOD",
    "modes": "knickpoint.detect.methods.modes.method:METHOD",
    "siblings": "knickpoint.detect.methods.default.siblings.method:METHOD",
    "step_fit": "knickpoint.detect.methods.step_fit.method:METHOD",
    "t_test": "knickpoint.detect.methods.t_test.method:METHOD",
    "threshold": "knickpoint.detect.methods.threshold.method:METHOD",
}
"""Name to module and attribute, as in an entry point."""

_TAKES: Final = {
    MethodKind.SERIES: "one series",
    MethodKind.JOINT: "several series together",
    MethodKind.GROUP: "groups of traces",
}


def _canonical(name: object) -> str:
    return str(name).strip().replace("-", "_")


@cache
def _plugins() -> Mapping[str, Plugin]:
    return find_plugins(ENTRY_POINTS, _BUILT_IN)


def _load_plugin(plugin: Plugin) -> Method[Any]:
    method = plugin.load()
    if not isinstance(method, Method):
        raise plugin.error(f"{plugin.entry_point.value} is {type(method).__name__}, not knickpoint.detect.Method")
    if method.name != plugin.name:
        raise plugin.error(f"{plugin.entry_point.value} is the method {method.name!r}, not {plugin.name!r}")
    return method


@cache
def load_method(name: str, kind: MethodKind | None = None) -> Method[Any]:
    """Import the method ``name``, which has to be of ``kind`` where one is given; hyphens count as underscores.

    Raises:
        InputError: there is no such method, or it is of another kind.
        PluginError: the package that registers it is broken.
    """
    canonical = _canonical(name)
    if canonical in _BUILT_IN:
        module, _, attribute = _BUILT_IN[canonical].partition(":")
        method: Method[Any] = getattr(import_module(module), attribute)
    elif canonical in _plugins():
        method = _load_plugin(_plugins()[canonical])
    else:
        raise InputError(f"there is no method {name!r}", remedy=f"The methods are: {', '.join(METHODS)}.")
    if kind and method.kind is not kind:
        others = (other for other, known in METHODS.items() if known.kind is kind)
        raise InputError(
            f"the method {name} takes {_TAKES[method.kind]}, not {_TAKES[kind]}",
            remedy=f"The methods for {_TAKES[kind]} are: {', '.join(others)}.",
        )
    return method


class _Methods(Mapping[str, Method[Any]]):
    """Map the names of all methods, sorted, to the methods; an item is imported when it is asked for."""

    def __getitem__(self, name: str) -> Method[Any]:
        if name not in self:
            raise KeyError(name)
        return load_method(name)

    def __contains__(self, name: object) -> bool:
        return name in _BUILT_IN or name in _plugins()

    def __iter__(self) -> Iterator[str]:
        return iter(sorted({*_BUILT_IN, *_plugins()}))

    def __len__(self) -> int:
        return len(_BUILT_IN) + len(_plugins())


METHODS: Final[Mapping[str, Method[Any]]] = _Methods()
"""Every method by name, of all kinds."""


def judges_groups(name: str) -> bool:
    """Return True if the method ``name`` judges traces together; a method that is no longer installed does not."""
    try:
        return load_method(name).kind is not MethodKind.SERIES
    except (InputError, PluginError):
        return False


def makes_clusters(name: str) -> bool:
    """Return True if the method ``name`` says where traces step together, so that those that did are a cluster."""
    return judges_groups(name) and not load_method(name).own_steps


def package_of(name: str) -> str:
    """Return the package that registers the method ``name``, with its version; "" for a built-in or unknown one."""
    canonical = _canonical(name)
    if canonical in _BUILT_IN or canonical not in _plugins():
        return ""
    return _plugins()[canonical].package


def parameters_of(method: str) -> dict[str, Value]:
    """Return the parameters of ``method`` with their defaults. Raises ``InputError`` when there is no such method."""
    return load_method(method).parameters


def presets_of(method: str) -> Mapping[str, Mapping[str, Value]]:
    """Return the presets of ``method``: name to parameters. Raises ``InputError`` as :func:`parameters_of`."""
    return load_method(method).presets
