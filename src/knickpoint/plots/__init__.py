"""Draw a trace with its findings as a picture, without a browser: for mails, comments and badges."""

from knickpoint.plots.png import png
from knickpoint.plots.shapes import Drawing, Theme, svg
from knickpoint.plots.trend import (
    ChangeMark,
    FocusedChange,
    Level,
    TicketMark,
    Trend,
    draw_badge,
    draw_trend,
)

__all__ = [
    "ChangeMark",
    "Drawing",
    "FocusedChange",
    "Level",
    "Theme",
    "TicketMark",
    "Trend",
    "draw_badge",
    "draw_trend",
    "png",
    "svg",
]
