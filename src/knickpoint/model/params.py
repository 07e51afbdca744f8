"""Params, the key=value pairs that name a series, and the trace key, their canonical text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from knickpoint.model.errors import ParamsError

__all__ = ["MAXIMUM_KEY_BYTES", "benchmark_text", "decode_key", "encode_key", "key_text", "values_in_key"]

MAXIMUM_KEY_BYTES: Final = 4096
"""The longest trace key in UTF-8; longer names are nearly always data, not names."""

_ENCODED: Final = {"%": "%25", ",": "%2C", "=": "%3D"}
_NEEDS_ENCODING: Final = re.compile("[%,=]")
_ESCAPE: Final = re.compile("%(25|2C|3D)")
_DECODED: Final = {code[1:]: plain for plain, code in _ENCODED.items()}
_REFUSED: Final = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")


def _encode(text: str) -> str:
    return _NEEDS_ENCODING.sub(lambda found: _ENCODED[found[0]], text)


def _decode(text: str, key: str) -> str:
    if "%" in _ESCAPE.sub("", text):
        raise ParamsError(
            f"{text!r} has a percent sign that starts none of %25, %2C and %3D",
            where=f"trace key {key!r}",
            remedy="Write a plain percent sign as %25.",
        )
    return _ESCAPE.sub(lambda found: _DECODED[found[1]], text)


def _check(name: str, value: str) -> None:
    for part, text in (("name", name), ("value", value)):
        if not text or text != text.strip():
            raise ParamsError(
                f"the {part} {text!r} of the param {name!r} is empty or has space around it",
                remedy="Give every param a name and a value without space around them, or leave the param out.",
            )
        refused = _REFUSED.search(text)
        if refused:
            kind = "control character" if refused[0] <= "\x7f" else "lone surrogate, half of a character"
            raise ParamsError(
                f"the {part} {text!r} of the param {name!r} has a {kind}",
                remedy="Remove it from the name of the benchmark or of its param.",
            )


def encode_key(params: Mapping[str, str]) -> str:
    """Return the canonical text ``,k=v,…,`` of ``params``, sorted by name in code point order.

    ``%``, ``,`` and ``=`` are percent-encoded in names and values, so every mapping has exactly one text.

    Raises:
        ParamsError: there are no params, a name or value is empty or has spaces around it, a control character or a
            lone surrogate, or the key is longer than :data:`MAXIMUM_KEY_BYTES`.
    """
    if not params:
        raise ParamsError("a trace needs at least one param", remedy="Name the benchmark, as in benchmark=parse.")
    for name, value in params.items():
        _check(name, value)
    key = "," + "".join(f"{_encode(name)}={_encode(params[name])}," for name in sorted(params))
    size = len(key.encode())
    if size > MAXIMUM_KEY_BYTES:
        raise ParamsError(
            f"the trace key has {size} bytes, more than {MAXIMUM_KEY_BYTES}",
            where=f"trace key {key[:120]!r}…",
            remedy="Shorten the names; put facts about a run, not a series, into its environment or links.",
        )
    return key


def decode_key(key: str) -> dict[str, str]:
    """Return the params of the trace key ``key``.

    Raises:
        ParamsError: ``key`` is not canonical, that is, ``encode_key(decode_key(key)) != key``.
    """
    plain = _plain_params(key)
    return _checked_params(key) if plain is None else plain


def _plain_params(key: str) -> dict[str, str] | None:
    """Return the params of a canonical key that has no escapes, as nearly all have none; None for any other text."""
    # A character has at most four bytes in UTF-8.
    if "%" in key or key[:1] != "," or key[-1:] != "," or 4 * len(key) > MAXIMUM_KEY_BYTES or _REFUSED.search(key):
        return None
    params: dict[str, str] = {}
    before = ""
    for pair in key[1:-1].split(","):
        name, _, value = pair.partition("=")
        if name <= before or not value or "=" in value or name != name.strip() or value != value.strip():
            return None
        params[name] = value
        before = name
    return params


def _checked_params(key: str) -> dict[str, str]:
    params: dict[str, str] = {}
    where = f"trace key {key!r}"
    if len(key) < 2 or key[0] != "," or key[-1] != ",":
        raise ParamsError("a trace key begins and ends with a comma", where=where, remedy="Write ,name=value,…,")
    for pair in key[1:-1].split(","):
        name, sign, value = pair.partition("=")
        if not sign or "=" in value:
            raise ParamsError(f"{pair!r} is not name=value", where=where, remedy="Encode = as %3D and , as %2C.")
        params[_decode(name, key)] = _decode(value, key)
    if encode_key(params) != key:
        raise ParamsError("names repeat or are not sorted", where=where, remedy=f"Write {encode_key(params)!r}.")
    return params


def key_text(key: str) -> str:
    """Return the trace key ``key`` as people write it: without the commas around it."""
    return key[1:-1] if len(key) > 1 and key[0] == key[-1] == "," else key


def benchmark_text(key: str) -> str:
    """Return the benchmark of the trace key ``key`` and its params other than metric and stat: ``sort size=64``."""
    params = decode_key(key)
    name = params.pop("benchmark", "")
    others = [f"{param}={value}" for param, value in params.items() if param not in {"metric", "stat"}]
    return " ".join([name, *others]).strip() or key_text(key)


def values_in_key(key: str, names: Iterable[str]) -> tuple[str, ...]:
    """Return the values of the params ``names`` in a canonical trace key, "" for those that it does not have.

    The key is not checked, so that this is some thirty times as fast as :func:`decode_key`.

    Raises:
        ParamsError: a value is not encoded canonically.
    """
    values = []
    for name in names:
        # A name or a value has neither a comma nor an equals sign as they are, so only the param itself matches.
        _, found, rest = key.partition(f",{_encode(name)}=")
        value = rest.partition(",")[0] if found else ""
        values.append(_decode(value, key) if "%" in value else value)
    return tuple(values)
