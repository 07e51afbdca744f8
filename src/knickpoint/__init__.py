"""Knickpoint finds the commits that changed your benchmarks.

The rooms, in the way of the data: ``formats`` read what benchmark tools write, ``ingest`` brings it
into the ``store`` exactly once, ``detect`` finds the steps, ``watch`` keeps what people decided about
them, and ``server`` and ``cli`` show it. The numeric core is usable on its own::

    from knickpoint.detect import find_steps
"""

from typing import TYPE_CHECKING

from knickpoint.model.lazy_names import lazy_names

if TYPE_CHECKING:
    from knickpoint.version import __version__ as __version__

__getattr__ = lazy_names(__name__, {"__version__": "knickpoint.version"})
