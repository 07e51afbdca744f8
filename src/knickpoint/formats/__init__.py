"""Read what benchmark tools write: bytes in, a report out, and no I/O. One module a format."""

from __future__ import annotations

from knickpoint.formats.companion import companion_of
from knickpoint.formats.format import Format
from knickpoint.formats.mapping import read_mapped
from knickpoint.formats.reading import find_format, read_found, read_report, sniff
from knickpoint.formats.registry import FORMATS

__all__ = ["FORMATS", "Format", "companion_of", "find_format", "read_found", "read_mapped", "read_report", "sniff"]
