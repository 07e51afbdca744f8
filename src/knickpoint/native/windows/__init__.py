"""Split sliding windows by E-Divisive with a t-test, then merge the weakest: Hunter's and Apache Otava's way."""

from __future__ import annotations

from knickpoint.native.choice import choose
from knickpoint.native.windows import reference
from knickpoint.native.windows.reference import Note, NoteKind

__all__ = ["Note", "NoteKind", "split_windows"]

split_windows = choose(reference.split_windows)
