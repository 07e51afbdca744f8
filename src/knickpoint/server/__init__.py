"""The HTTP API and the dashboard of an instance: :func:`create_app` builds them, :func:`serve` serves them.

A request passes three floors, each with one module a resource: ``routes`` map addresses and parameters, ``answers``
read the store and build the answer, ``schemas`` define the bodies. A floor imports only those below it.

Commands print the same answers, without the web server: it is imported when one of these names is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from knickpoint.model.lazy_names import lazy_names

if TYPE_CHECKING:
    from knickpoint.server.app import create_app, describe_api
    from knickpoint.server.listener import Ending, serve, serving

__all__ = ["Ending", "create_app", "describe_api", "serve", "serving"]

__getattr__ = lazy_names(
    __name__,
    {
        "Ending": "knickpoint.server.listener",
        "create_app": "knickpoint.server.app",
        "describe_api": "knickpoint.server.app",
        "serve": "knickpoint.server.listener",
        "serving": "knickpoint.server.listener",
    },
)
