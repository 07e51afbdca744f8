"""Read what benchmark tools write: bytes in, a report out, and no I/O. One module a format."""

from __future__ import annotations

from knickpoint.formats.built_in import FORMATS
from knickpoint.formats.declared_mapping import read_mapped
from knickpoint.formats.format import Format, Parsed, companion_of
from knickpoint.formats.sniffer import all_formats, find_format, read_found, read_report, sniff
from knickpoint.formats.toolbox.file_content import FileContent

__all__ = [
    "FORMATS",
    "FileContent",
    "Format",
    "Parsed",
    "all_formats",
    "companion_of",
    "find_format",
    "read_found",
    "read_mapped",
    "read_report",
    "sniff",
]
