"""List the detection methods, for ``knick detect --methods``."""

from __future__ import annotations

from typing import Final

from knickpoint.cli.output import Column, OutputFormat, show

__all__ = ["RESERVED", "show_methods"]

RESERVED: Final = frozenset({"frame", "keys", "method", "samples", "threads", "values"})
"""Arguments of methods that are no settings of the user."""


def show_methods(output: OutputFormat) -> None:
    """Print the methods with their parameters and presets."""
    from knickpoint.detect import METHODS

    rows = [
        {
            "method": name,
            "parameters": [f"{key}={value}" for key, value in method.parameters.items() if key not in RESERVED],
            "presets": list(method.presets),
        }
        for name, method in METHODS.items()
    ]
    columns = (Column("method"), Column("parameters", text=" ".join), Column("presets", text=" ".join))
    show(columns, rows, output)
