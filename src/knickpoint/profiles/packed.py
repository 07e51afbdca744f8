"""Write a profile as columns, which compress well, and read them again: what a store keeps, and what an export has.

The magic, the length of the head, the head (JSON: texts, numbers, and the type of each column), then the columns.
Depths take the place of parents, because stacks stand in preorder. Costs that are not integers keep 7 digits.
"""

from __future__ import annotations

import json
import struct
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.errors import FormatError
from knickpoint.profiles.profile import LONGEST_NAME, MOST_DEPTH, MOST_STACKS, Cost, Floats, Profile, ValueKind
from knickpoint.profiles.stack_tree import depths_of, parents_of

_MAGIC: Final = b"\x89knick-profile 1\n"
_LENGTH: Final = struct.Struct("<I")
_TYPES: Final = ("<u1", "<u2", "<u4", "<f4", "<f8")


def is_packed(content: bytes) -> bool:
    """Return True if ``content`` is what :func:`pack_profile` writes."""
    return content.startswith(_MAGIC)


def pack_profile(profile: Profile) -> bytes:
    """Return the columns of a profile as bytes, not compressed; equal profiles have equal ones."""
    files = sorted(set(profile.files))
    places = {file: place for place, file in enumerate(files)}
    columns = {
        "file_of": np.array([places[file] for file in profile.files], dtype=np.int64),
        "lines": profile.lines,
        "frames": profile.frames,
        "depths": depths_of(profile.parents),
        "values": profile.values,
    }
    if profile.stated is not None:
        columns |= {"own": profile.stated.own, "total": profile.stated.total}
    small = {name: _smallest(column) for name, column in columns.items()}
    head = {
        "format": profile.format,
        "kind": profile.kind.value,
        "unit": profile.unit,
        "samples": float(profile.samples),
        "notes": profile.notes,
        "names": profile.names,
        "files": files,
        "columns": {name: [column.dtype.str.replace("|", "<"), len(column)] for name, column in small.items()},
    }
    text = json.dumps(head, separators=(",", ":")).encode()
    return b"".join([_MAGIC, _LENGTH.pack(len(text)), text, *(column.tobytes() for column in small.values())])


def unpack_profile(content: bytes, where: str) -> Profile:
    """Read what :func:`pack_profile` wrote.

    Raises:
        FormatError: it is damaged, or made up.
    """
    try:
        return _unpacked(content)
    except (KeyError, TypeError, ValueError, IndexError, OverflowError, RecursionError, struct.error) as error:
        raise FormatError(
            f"the packed profile is damaged ({error})"[:200], where=where, remedy="Export or record it again."
        ) from error


def _unpacked(content: bytes) -> Profile:
    (length,) = _LENGTH.unpack_from(content, len(_MAGIC))
    place = len(_MAGIC) + _LENGTH.size
    head = json.loads(content[place : place + length])
    place += length
    columns: dict[str, NDArray[Any]] = {}
    for name, (kind, count) in head["columns"].items():
        if kind not in _TYPES or not 0 <= count <= MOST_STACKS:
            raise ValueError(f"column {name[:20]!r}")
        column = np.frombuffer(content, kind, count, place)
        place += column.nbytes
        columns[name] = column
    names, files = _texts(head["names"]), _texts(head["files"])
    depths = columns["depths"].astype(np.int64)
    if depths.max(initial=0) > MOST_DEPTH:
        raise ValueError(f"a stack has more than {MOST_DEPTH} frames")
    parents = parents_of(depths)
    file_of, frames = columns["file_of"].astype(np.int64), columns["frames"].astype(np.int64)
    lines, values = columns["lines"].astype(np.int64), _costs(columns["values"], len(frames))
    stated = None
    if "own" in columns:
        stated = Cost(_costs(columns["own"], len(names)), _costs(columns["total"], len(names)))
    known = len(file_of) == len(lines) == len(names) and len(parents) == len(frames)
    if not known or np.any(file_of >= len(files)) or np.any(frames >= len(names)):
        raise ValueError("its columns do not match each other")
    return Profile(
        format=str(head["format"])[:LONGEST_NAME],
        kind=ValueKind(head["kind"]),
        unit=str(head["unit"])[:LONGEST_NAME],
        names=names,
        files=tuple(files[number] for number in file_of.tolist()),
        lines=lines,
        frames=frames,
        parents=parents,
        values=values,
        samples=float(_costs(np.array([head["samples"]], dtype=np.float64), 1)[0]),
        stated=stated,
        notes=_texts(head["notes"]),
    )


def _smallest(column: NDArray[Any]) -> NDArray[Any]:
    """Return a column of numbers of 0 or more in the narrowest type that holds them."""
    highest = float(column.max(initial=0))
    if np.all(column == np.round(column)):
        for kind in ("<u1", "<u2", "<u4"):
            if highest <= np.iinfo(kind).max:
                return column.astype(kind)
        return column.astype("<f8")
    return column.astype("<f4" if highest < float(np.finfo(np.float32).max) else "<f8")


def _costs(column: NDArray[Any], count: int) -> Floats:
    costs = column.astype(np.float64)
    if len(costs) != count or not np.all(np.isfinite(costs)) or np.any(costs < 0):
        raise ValueError("a cost is negative, not finite, or missing")
    return costs


def _texts(found: Any) -> tuple[str, ...]:
    if not isinstance(found, list) or not all(isinstance(each, str) and len(each) <= LONGEST_NAME for each in found):
        raise ValueError("expected short strings as names")
    return tuple(found)
