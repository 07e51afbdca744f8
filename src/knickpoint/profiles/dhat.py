"""Read what DHAT of Valgrind writes (``dhat.out.*``): the bytes and blocks that each stack allocated, exactly."""

from __future__ import annotations

import re
from typing import Final

from knickpoint.profiles.json_formats import Place
from knickpoint.profiles.profile import Profile, ProfileBuilder, ValueKind, chosen

_FIELDS: Final = {
    "total_bytes": ("tb", ValueKind.BYTES, "B"),
    "total_blocks": ("tbk", ValueKind.ALLOCATIONS, "allocations"),
    "gmax_bytes": ("gb", ValueKind.BYTES, "B"),
    "gmax_blocks": ("gbk", ValueKind.ALLOCATIONS, "allocations"),
    "end_bytes": ("eb", ValueKind.BYTES, "B"),
    "end_blocks": ("ebk", ValueKind.ALLOCATIONS, "allocations"),
    "read_bytes": ("rb", ValueKind.BYTES, "B"),
    "written_bytes": ("wb", ValueKind.BYTES, "B"),
}
"""Value → its key in the file, kind and unit: in all, when most was allocated, at the end, and accesses."""
_FRAME: Final = re.compile(r"(?:0x[0-9A-Fa-f]+: )?(?P<name>.*?)(?: \((?:in )?(?P<file>[^()]*?)(?::\d+)?\))?")
"""A frame: the address, the function, and the line of the call or the object."""


def is_dhat(document: object) -> bool:
    """Whether the document is a file of DHAT."""
    return isinstance(document, dict) and "dhatFileVersion" in document


def read_dhat(document: object, where: str, value: str) -> Profile:
    """Read a file of DHAT: the total of bytes, unless another value is asked for.

    Raises:
        FormatError: something in it is damaged, or it has no such value.
    """
    top = Place(document, where)
    if (version := top["dhatFileVersion"]).value != 2 or (mode := top["mode"]).value != "heap":
        raise (version if version.value != 2 else mode).wrong("version 2 of DHAT, of the heap")
    builder = ProfileBuilder(where)
    table = [_FRAME.fullmatch(text.text().replace("\n", " ")) for text in top["ftbl"].items()]
    frames = [builder.frame(found["name"], found["file"] or "") if found else builder.frame("") for found in table]
    points = top["pps"].items()
    known = [name for name, (key, _, _) in _FIELDS.items() if points and key in points[0].object()]
    name = chosen(known or ["total_bytes"], value, where)
    key, kind, unit = _FIELDS[name]
    for point in points:
        stack = point["fs"].items()
        builder.count(len(stack))
        path = [frames[frame.index(len(frames))] for frame in reversed(stack)]
        builder.add_path(path, point[key].number(), point.path)
    if len(known) > 1:
        builder.note(f"only the value {name} was read, of {', '.join(known)}")
    return builder.build("DHAT", kind, unit)
