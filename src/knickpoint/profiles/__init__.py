"""Read what profilers write, and find the functions that a change costs: bytes and arrays in, frozen results out.

::

    from knickpoint.profiles import difference, read_profile

    before = [read_profile(path.read_bytes(), path.name) for path in before_paths]
    after = [read_profile(path.read_bytes(), path.name) for path in after_paths]
    for cause in difference(before, after).causes:
        print(cause.name, cause.explained.difference)

Stacks are sampled (:mod:`knickpoint.profiles.json_formats`, ``pprof``, folded) or estimated from a call graph
(``callgrind``, ``python_stats``). The page of differential flame graphs is :func:`flame_page`.
"""

from __future__ import annotations

from knickpoint.profiles.attribution import CostState, FunctionChange
from knickpoint.profiles.difference import Difference, Measured, difference
from knickpoint.profiles.flame_page import flame_page
from knickpoint.profiles.packed import pack_profile, unpack_profile
from knickpoint.profiles.profile import Cost, Profile, ProfileBuilder, ValueKind, is_library_file
from knickpoint.profiles.reading import FORMATS, find_profile, read_profile
from knickpoint.profiles.scatter import CostChange

__all__ = [
    "FORMATS",
    "Cost",
    "CostChange",
    "CostState",
    "Difference",
    "FunctionChange",
    "Measured",
    "Profile",
    "ProfileBuilder",
    "ValueKind",
    "difference",
    "find_profile",
    "flame_page",
    "is_library_file",
    "pack_profile",
    "read_profile",
    "unpack_profile",
]
