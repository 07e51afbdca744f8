"""Read series that name no commits, for detection in one file: a table with values, and perhaps their positions."""

from knickpoint.formats.series.reader import NamedSeries, position_keys, read_series
from knickpoint.formats.series.table import is_number

__all__ = ["NamedSeries", "is_number", "position_keys", "read_series"]
