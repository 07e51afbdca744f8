"""Write the log of a running instance: lines for people, or a line of JSON for each message."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Final, Protocol

import click

from knickpoint.instance.config.settings import LogChoice, MonitoringSettings

_WORK: Final = logging.getLogger("knickpoint.work")


class JsonLines(logging.Formatter):
    """Write a record as one line of JSON: time, level, logger, message, request id, and its extra fields."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        from knickpoint.server.request_origin import request_id

        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if current := request_id():
            line["request"] = current
        line |= getattr(record, "about", {})
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


class AboutWork(Protocol):
    """Write a line about the work of the process; ``about`` is what a line of JSON has beside it, by name."""

    def __call__(self, line: str, /, **about: object) -> None:
        """Write ``line``."""


def _text_line(line: str, /, **_about: object) -> None:
    click.echo(line)


def _json_line(line: str, /, **about: object) -> None:
    _WORK.info(line, extra={"about": about})


def begin_log(settings: MonitoringSettings) -> AboutWork:
    """Have all loggers write as ``settings`` say, and return what writes a line about the work of the process.

    As text, lines about work go to the standard output, and warnings of loggers to the standard error. As JSON,
    everything goes to the standard output.
    """
    if settings.log is LogChoice.TEXT:
        return _text_line
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(JsonLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("knickpoint").setLevel(logging.INFO)
    return _json_line
