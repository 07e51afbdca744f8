"""The formats: the built-in ones, and those that other packages register as ``knickpoint.formats``.

A format is known by its record; the module that reads it is imported when it is first used. The entry points of other
packages are read when a file's format has to be found, when all formats are listed, or when ``--as`` names one that is
not built in.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from knickpoint.formats.built_in import FORMATS
from knickpoint.formats.format import Format
from knickpoint.plugins import Plugin, find_plugins

ENTRY_POINTS: Final = "knickpoint.formats"
"""The group of entry points under which other packages register formats."""


def _load(plugin: Plugin) -> Format:
    known = plugin.load()
    if not isinstance(known, Format):
        raise plugin.error(f"{plugin.entry_point.value} is {type(known).__name__}, not knickpoint.formats.Format")
    if known.name.replace("-", "_") != plugin.name:
        raise plugin.error(f"{plugin.entry_point.value} is the format {known.name!r}, not {plugin.name!r}")
    return known


@cache
def all_formats() -> tuple[Format, ...]:
    """Return the built-in formats, then those of other packages, by name.

    Raises:
        PluginError: a package registers something else than a format, or a name that is taken.
    """
    plugins = find_plugins(ENTRY_POINTS, {known.name.replace("-", "_") for known in FORMATS})
    return *FORMATS, *(_load(plugins[name]) for name in sorted(plugins))
