"""Publish the dashboard of an instance as files: read-only pages with their data, for any web server."""

from knickpoint.publish.answers import Chosen
from knickpoint.publish.site import Published, publish

__all__ = ["Chosen", "Published", "publish"]
