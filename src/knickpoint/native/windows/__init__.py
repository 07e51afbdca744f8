"""Split sliding windows by E-Divisive with a t-test, then merge the weakest: the procedure of Hunter and Apache Otava."""

from __future__ import annotations

from knickpoint.native.choice import choose
from knickpoint.native.windows import reference
from knickpoint.native.windows.reference import Note, NoteKind

__all__ = ["Note", "NoteKind", "split_windows"]

split_windows = choose(reference.split_windows)
