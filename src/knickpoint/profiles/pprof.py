"""Read pprof, the profiles of Go, gperftools, heaptrack-like heap profilers and many others.

The format is a Protocol Buffers message of 20 fields (profile.proto of github.com/google/pprof). Its wire format is
decoded here: that is less code than the generated module of the ``protobuf`` package, and no dependency.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from knickpoint.model.errors import FormatError
from knickpoint.profiles.profile import TIME_UNITS, Profile, ProfileBuilder, ValueKind, chosen

# The wire format: a sequence of keys (number of the field, how its value is written) and values.

_VARINT: Final = 0
_FIXED: Final = {1: 8, 5: 4}
_LENGTH: Final = 2
_LONGEST_VARINT: Final = 70
Field = tuple[int, int | bytes]
"""Number of a field, and its value: a whole number, or the bytes of a text, a message or a packed list."""


class _Broken(Exception):  # noqa: N818
    """The bytes end early, or are no message."""


def _varint(data: bytes, place: int) -> tuple[int, int]:
    """Return the number that begins at ``place``, and the place behind it."""
    value = shift = 0
    while True:
        if place >= len(data) or shift > _LONGEST_VARINT:
            raise _Broken(place)
        byte = data[place]
        value |= (byte & 0x7F) << shift
        place += 1
        if byte < 0x80:
            return value, place
        shift += 7


def _fields(data: bytes) -> Iterator[Field]:
    """Yield the fields of a message."""
    place = 0
    while place < len(data):
        key, place = _varint(data, place)
        number, kind = key >> 3, key & 7
        if kind == _VARINT:
            value, place = _varint(data, place)
            yield number, value
            continue
        if kind == _LENGTH:
            size, place = _varint(data, place)
        elif kind in _FIXED:
            size = _FIXED[kind]
        else:
            raise _Broken(place)
        if not number or place + size > len(data):
            raise _Broken(place)
        yield number, data[place : place + size]
        place += size


def _numbers(value: int | bytes) -> Sequence[int]:
    """Return the numbers of a repeated field: one, or a packed list."""
    if isinstance(value, int):
        return [value]
    found, place = [], 0
    while place < len(value):
        number, place = _varint(value, place)
        found.append(number)
    return found


def _message(value: int | bytes) -> dict[int, int | bytes]:
    """Return the fields of a message, each of which stands once."""
    if isinstance(value, int):
        raise _Broken(0)
    return dict(_fields(value))


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 & 1 else value


# The profile: numbers of the fields of its messages, as profile.proto has them.

_SAMPLE_TYPE, _SAMPLE, _MAPPING, _LOCATION, _FUNCTION, _STRING, _DEFAULT = 1, 2, 3, 4, 5, 6, 14
_BEFORE: Final = frozenset({9, 10, 11, 12})
"""Fields that may come before the first sample type: when, how long, and how often."""


def is_pprof(data: bytes) -> bool:
    """Whether the bytes begin as a profile does: with a sample type, whose two fields are numbers.

    Go has the time, or the period and its type, before it.
    """
    try:
        fields = _fields(data[:4096] if len(data) > 4096 else data)
        number, value = next(each for each in fields if each[0] not in _BEFORE)
        return number == _SAMPLE_TYPE and isinstance(value, bytes) and set(_message(value)) <= {1, 2}
    except (_Broken, StopIteration):
        return False


def read_pprof(data: bytes, where: str, value: str) -> Profile:
    """Read a pprof message, which is not compressed any more.

    Raises:
        FormatError: it is damaged, or has no such value.
    """
    try:
        return _Reader(data, where).read(value)
    except (_Broken, KeyError, IndexError, TypeError, UnicodeDecodeError) as error:
        raise FormatError(
            f"truncated or damaged pprof data, after {len(data):,} bytes ({type(error).__name__.strip('_')} {error})",
            where=where,
            remedy="Fetch or record the profile again.",
        ) from error


class _Reader:
    """The tables of a profile, by field."""

    def __init__(self, data: bytes, where: str) -> None:
        self._where = where
        self._messages: dict[int, list[bytes]] = {}
        self._default = 0
        for number, value in _fields(data):
            if isinstance(value, bytes):
                self._messages.setdefault(number, []).append(value)
            elif number == _DEFAULT:
                self._default = value
        self._builder = ProfileBuilder(where)
        self._of_locations: dict[int, list[int]] = {}

    def _text(self, index: int | bytes | None) -> str:
        if not index:
            return ""
        if not isinstance(index, int):
            raise _Broken(0)
        return self._messages[_STRING][index].decode("utf-8", "replace")

    def read(self, value: str) -> Profile:
        types = [_message(each) for each in self._messages.get(_SAMPLE_TYPE, [])]
        names = [self._text(each.get(1)) for each in types]
        # The first is the default where none is asked for; pprof takes the last one if the file names none.
        usual = self._text(self._default)
        name = value or (usual if usual in names else names[-1] if names else "")
        place = names.index(chosen(names, name, self._where))
        unit = self._text(types[place].get(2))
        self._read_locations()
        samples = self._add_samples(place, names.index("samples") if "samples" in names else -1)
        if len(names) > 1:
            self._builder.note(f"only the value {names[place]} was read, of {', '.join(names[:20])}")
        kind, unit, scale = _kind(names[place], unit)
        return self._builder.build("pprof", kind, unit, scale=scale, samples=0 if kind.is_exact else samples)

    def _read_locations(self) -> None:
        files = {each.get(1, 0): self._text(each.get(5)) for each in self._each(_MAPPING)}
        functions: dict[int | bytes, int] = {}
        for each in self._each(_FUNCTION):
            name, file, line = self._text(each.get(2) or each.get(3)), self._text(each.get(4)), each.get(5, 0)
            functions[each[1]] = self._builder.frame(name, file, line if isinstance(line, int) else 0)
        for location in self._messages.get(_LOCATION, []):
            lines: list[int] = []
            numbers: dict[int, int] = {}
            for number, value in _fields(location):
                if number == 4:
                    lines.append(functions[_message(value)[1]])
                elif isinstance(value, int):
                    numbers[number] = value
            # The first line is the innermost of inlined functions.
            unnamed = f"{numbers.get(3, 0):#x}", files.get(numbers.get(2, 0), "")
            self._of_locations[numbers[1]] = lines[::-1] or [self._builder.frame(*unnamed)]

    def _each(self, field: int) -> Iterator[dict[int, int | bytes]]:
        return map(_message, self._messages.get(field, []))

    def _add_samples(self, place: int, counted: int) -> float:
        """Add the samples, and return how many times the program was interrupted."""
        taken = 0.0
        for index, sample in enumerate(self._messages.get(_SAMPLE, [])):
            locations: list[int] = []
            values: list[int] = []
            for number, value in _fields(sample):
                if number in {1, 2}:
                    (locations if number == 1 else values).extend(_numbers(value))
            self._builder.count(sum(len(self._of_locations[location]) for location in locations))
            path = [frame for location in reversed(locations) for frame in self._of_locations[location]]
            cost = _signed(values[place])
            taken += _signed(values[counted]) if counted >= 0 else 1
            if cost:
                self._builder.add_path(path, cost, f"sample {index + 1}")
        return taken


def _kind(name: str, unit: str) -> tuple[ValueKind, str, float]:
    """Return the kind of a value, the unit in which it is kept, and the factor to that unit."""
    if unit in TIME_UNITS:
        return ValueKind.TIME, "s", TIME_UNITS[unit]
    if unit == "bytes":
        return ValueKind.BYTES, "B", 1.0
    if name in {"alloc_objects", "inuse_objects", "allocations", "objects"}:
        return ValueKind.ALLOCATIONS, "allocations", 1.0
    if name == "instructions":
        return ValueKind.INSTRUCTIONS, "instructions", 1.0
    return ValueKind.COUNT, name if name not in {"", "count"} else "samples", 1.0
