"""Profiles for tests, made of stacks, and the pprof message that has them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from knickpoint.profiles import Profile, ProfileBuilder, ValueKind

Stacks = Mapping[str, float]
"""Names of functions, the outermost first, joined by semicolons → the cost of the innermost itself."""


def made(stacks: Stacks, *, kind: ValueKind = ValueKind.INSTRUCTIONS, unit: str = "instructions") -> Profile:
    """Return a profile; functions in capital letters are of a library, the others have a file of their name."""
    builder = ProfileBuilder()
    for stack, cost in stacks.items():
        builder.add_path(
            [builder.frame(name, "" if name.isupper() else f"{name}.c") for name in stack.split(";")], cost
        )
    return builder.build("made", kind, unit)


def own(profile: Profile) -> dict[str, float]:
    return dict(zip(profile.names, profile.cost.own.tolist(), strict=True))


def total(profile: Profile) -> dict[str, float]:
    return dict(zip(profile.names, profile.cost.total.tolist(), strict=True))


def folded(stacks: Iterable[tuple[list[str], int]]) -> bytes:
    return "".join(f"{';'.join(stack)} {cost}\n" for stack, cost in stacks).encode()


def varint(value: int) -> bytes:
    found = b""
    while value > 0x7F:
        found += bytes([value & 0x7F | 0x80])
        value >>= 7
    return found + bytes([value])


def field(number: int, value: int | bytes) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value & (1 << 64) - 1)
    return varint(number << 3 | 2) + varint(len(value)) + value


def pprof(
    stacks: Iterable[tuple[list[str], int]], *, types: tuple[tuple[str, str], ...] = (("cpu", "nanoseconds"),)
) -> bytes:
    """Return the message of a CPU profile, with a function and a location for each name."""
    texts = [""]

    def text(value: str) -> int:
        if value not in texts:
            texts.append(value)
        return texts.index(value)

    found = b"".join(field(1, field(1, text(name)) + field(2, text(unit))) for name, unit in types)
    known: list[str] = []
    for stack, cost in stacks:
        known += [name for name in stack if name not in known]
        locations = b"".join(varint(known.index(name) + 1) for name in reversed(stack))
        found += field(2, field(1, locations) + b"".join(field(2, cost) for _ in types))
    for place, name in enumerate(known, start=1):
        found += field(4, field(1, place) + field(4, field(1, place) + field(2, 7)))
        found += field(5, field(1, place) + field(2, text(name)) + field(4, text(f"{name}.go")) + field(5, 5))
    return found + b"".join(field(6, each.encode()) for each in texts)
