"""The HTTP API and the dashboard of an instance: :func:`create_app` builds them, :func:`serve` serves them.

A request passes three floors, each with one module a resource: ``routes`` map addresses and parameters, ``answers`` read
the store and build the answer, ``schemas`` define the bodies. A floor imports only those below it.
"""

from __future__ import annotations

from knickpoint.server.app import create_app, describe_api
from knickpoint.server.listener import Ending, serve, serving

__all__ = ["Ending", "create_app", "describe_api", "serve", "serving"]
