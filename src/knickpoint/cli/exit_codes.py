"""The exit codes of ``knick``: those of every command, and those with which some commands answer a question."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

FAILED: Final = 2
"""The command could not do its work; 1 is an answer, such as the verdict of ``knick check``."""

INTERRUPTED: Final = 130
"""The user interrupted the command."""

NO_DATA: Final = 3
"""There are no data to judge by, or nothing to say it of: the answer is open."""

UNREAD: Final = 141
"""The reader of the output went away, as in ``knick export | head -1``."""

COMMON: Final[Mapping[int, str]] = {
    0: "success; an empty list counts as success",
    FAILED: "it did not do its work, or only a part of it: wrong arguments, no instance, nothing to work on, a service that fails",
    INTERRUPTED: "the user interrupted it",
    UNREAD: "the reader of its output closed the pipe",
}
"""Exit code → its meaning for every command."""

ANSWERS: Final[Mapping[str, Mapping[int, str]]] = {
    "detect": {0: "the series were judged, with or without steps", 3: "each series has too few values for the method"},
    "check": {
        0: "nothing got worse",
        1: "something regressed, failed or vanished, or has a verdict of --fail-on",
        3: "no data to judge by",
    },
    "compare": {
        0: "nothing got worse",
        1: "something regressed, or has a verdict of --fail-on",
        3: "no data to judge by",
    },
    "try": {0: "attempt: it is confirmed to be faster", 1: "attempt: it is not"},
    "comment": {0: "the comment is there", 3: "not posted: the pull request is closed or has a newer commit"},
    "bisect": {0: "the commit was found", 1: "it was not found, or the change is not reproducible"},
    "doctor": {0: "everything is good", 1: "there is a warning or a defect"},
    "demo": {0: "it found what it promises", 1: "it found less, or a false change"},
    "notify": {0: "everything that is due was sent", 1: "a delivery failed"},
}
"""Command → exit code → its meaning, for the commands that answer a question with it."""
