"""Find the name of the repository that results belong to, by its name or by its address."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from knickpoint.ingest.settings import RepositorySettings
from knickpoint.model.errors import InputError

__all__ = ["find_repository_name", "repository_name"]

_UNNAMED: Final = "main"
"""The name of a repository that nothing names."""

_ADDRESS: Final = re.compile(r"(?:\w+://)?(?:[^@/]+@)?(?P<rest>[^?#]+)")

_OWNED: Final = re.compile(r"[^/:.~][^/:]*/[^/:]+")
"""A name such as owner/project, which is neither a path nor an address."""


def find_repository_name(
    requested: str, stated: str, *, configured: Mapping[str, RepositorySettings], stored: Sequence[str]
) -> str:
    """Return the name of the ``requested`` repository, else of the one that results state.

    Either is a name, or an address of a configured repository. Results that state none, or one that is not configured,
    belong to the only one that is. Where none is configured, commits come from the results, into a repository of the
    stated name; results that state none belong to the only repository that is ``stored``, `main` before the first.

    Raises:
        InputError: there are several repositories, and nothing says which.
    """
    # A configured repository, by name or address.
    for text in (requested, stated):
        if text in configured:
            return text
        matching = _matching(text, configured)
        if matching:
            return matching
    # A repository that is not configured, or the only one that is.
    if requested:
        return repository_name(requested)
    if len(configured) == 1:
        return next(iter(configured))
    if not configured:
        return repository_name(stated) if stated else _only_stored(stored)
    raise InputError(
        f"the results belong to {stated!r}, which is none of the repositories here"
        if stated
        else "the results do not say which repository they belong to",
        remedy="Name it with --repository, or add the address to addresses in knickpoint.toml: "
        + ", ".join(sorted(configured)),
    )


def repository_name(address: str) -> str:
    """Return ``owner/project`` for a URL, and a name as it is."""
    if "/" not in address or _OWNED.fullmatch(address):
        return address
    parts = _canonical(address).split("/")
    original = address.rstrip("/").removesuffix(".git").replace(":", "/").split("/")
    return "/".join(original[-2:]) if len(parts) > 2 else original[-1]


def _only_stored(stored: Sequence[str]) -> str:
    """Return the name of the only repository that earlier results made, `main` before the first."""
    if len(stored) > 1 and _UNNAMED not in stored:
        raise InputError(
            "the results do not say which repository they belong to",
            remedy=f"Name it with --repository: {', '.join(stored)}.",
        )
    return stored[0] if len(stored) == 1 else _UNNAMED


def _matching(text: str, configured: Mapping[str, RepositorySettings]) -> str:
    """Return the name of the configured repository with the address ``text``, "" for none."""
    if not text:
        return ""
    wanted = _canonical(text)
    for name, settings in configured.items():
        addresses = (settings.location, settings.web, *settings.addresses)
        if wanted in {_canonical(address) for address in addresses if address}:
            return name
    return ""


def _canonical(text: str) -> str:
    """Return what all spellings of the address of one repository have in common."""
    found = _ADDRESS.fullmatch(text.strip())
    plain = (found["rest"] if found else text).lower().replace(":", "/")
    return plain.rstrip("/").removesuffix(".git").removeprefix("www.")
