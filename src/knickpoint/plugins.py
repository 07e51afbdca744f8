"""Find what other installed packages add to Knickpoint, by entry points, and load each part when it is first used.

A package registers a part under a group of entry points, such as ``knickpoint.methods``, in its ``pyproject.toml``::

    [project.entry-points."knickpoint.methods"]
    my_method = "my_package.my_module:METHOD"

Finding the names reads the metadata of all installed packages, but imports none of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from knickpoint.model.errors import PluginError

if TYPE_CHECKING:
    from collections.abc import Collection
    from importlib.metadata import EntryPoint


@dataclass(frozen=True, slots=True)
class Plugin:
    """A part that another package registered: ``name`` is canonical, ``package`` has the version of the package."""

    name: str
    package: str
    entry_point: EntryPoint

    @property
    def where(self) -> str:
        """The package and the entry point, for messages."""
        return f"package {self.package}, entry point {self.entry_point.name!r} of {self.entry_point.group}"

    def load(self) -> object:
        """Import the part.

        Raises:
            PluginError: the import fails, or its module does not have the part.
        """
        try:
            part: object = self.entry_point.load()
        except Exception as error:
            raise self.error(f"{self.entry_point.value} cannot be imported: {error or type(error).__name__}") from error
        return part

    def error(self, message: str) -> PluginError:
        """Return an error that names the package."""
        return PluginError(message, where=self.where, remedy=f"Update or uninstall {self.package.split()[0]}.")


def find_plugins(group: str, built_in: Collection[str]) -> dict[str, Plugin]:
    """Find the plugins that installed packages register under ``group``, by name.

    Hyphens in names count as underscores.

    Raises:
        PluginError: a name is one of ``built_in``, or two packages register it.
    """
    from importlib.metadata import entry_points  # 20 ms that most commands do not need

    found: dict[str, Plugin] = {}
    for entry_point in entry_points(group=group):
        distribution = entry_point.dist
        package = f"{distribution.name} {distribution.version}" if distribution else "unknown"
        plugin = Plugin(entry_point.name.replace("-", "_"), package, entry_point)
        if plugin.name in built_in:
            raise plugin.error(f"the name {plugin.name!r} is taken by a part of Knickpoint itself")
        other = found.setdefault(plugin.name, plugin)
        if other.entry_point != entry_point:
            raise plugin.error(f"the name {plugin.name!r} is taken by the package {other.package}")
    return found
