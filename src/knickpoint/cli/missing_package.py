"""Name the extra that brings a package that is not installed; this module needs none."""

from __future__ import annotations

from typing import Final

_EXTRAS: Final = {
    "cli": ("alembic", "click", "pydantic", "re2", "sqlalchemy"),
    "server": (
        "PIL",
        "anyio",
        "apprise",
        "authlib",
        "fastapi",
        "h11",
        "jinja2",
        "joserfc",
        "prometheus_client",
        "starlette",
        "uvicorn",
    ),
    "postgres": ("psycopg",),
    "nats": ("nats",),
    "cluster": ("cryptography", "distributed"),
    "buckets": ("fsspec", "s3fs"),
    "gcs": ("gcsfs",),
    "parquet": ("pyarrow",),
    "mcp": ("mcp", "mcp_types"),
}
"""Extra → the packages that come with it, as they are imported."""


def explain_missing(error: ModuleNotFoundError) -> str:
    """Return the missing package and the command that installs it, "" if the module belongs to no known package."""
    package = (error.name or "").partition(".")[0]
    extra = next((name for name, packages in _EXTRAS.items() if package in packages), "")
    if not extra:
        return ""
    return f'this needs the package {package}, which is not installed. Run: pip install "knickpoint[{extra}]"'
