"""Describe in OpenAPI how a caller shows who it is, and what each operation needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

_SCHEMES: Final[Mapping[str, Mapping[str, str]]] = {
    "token": {
        "type": "http",
        "scheme": "bearer",
        "description": "A token of `knick tokens create`, or the identity token of a CI job where `[ci_jobs]` allows it.",
    },
    "session": {
        "type": "apiKey",
        "in": "cookie",
        "name": "knick_session",
        "description": "The session of a person who signed in. Under https the name is `__Host-knick_session`, and a large"
        " session has several cookies.",
    },
}


def describe_security(description: dict[str, Any], permissions: Mapping[tuple[str, str], str]) -> dict[str, Any]:
    """Add the schemes to ``description``, and to each operation its permission, in place, and return it.

    ``permissions`` maps (method, path) to the permission that the operation needs; those without one are open to every
    caller. In an operation, the scheme names the permission as OpenAPI 3.1 names roles.
    """
    description.setdefault("components", {})["securitySchemes"] = {name: dict(each) for name, each in _SCHEMES.items()}
    for path, operations in description["paths"].items():
        for method, operation in operations.items():
            operation["security"] = _requirement(permissions.get((method.upper(), path), ""))
    return description


def _requirement(permission: str) -> Sequence[Mapping[str, Sequence[str]]]:
    if not permission:
        return [{}]
    return [{name: [permission]} for name in _SCHEMES]
