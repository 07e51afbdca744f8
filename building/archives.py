"""Write the archive of a source distribution anew so that the same files give the same bytes."""

from __future__ import annotations

import gzip
import io
import os
import tarfile
import time
from pathlib import Path
from typing import Final

__all__ = ["build_time", "write_reproducibly"]

_EXECUTABLE: Final = 0o100


def build_time() -> int:
    """Return the time that files of a distribution get: ``SOURCE_DATE_EPOCH`` in seconds, else now."""
    return int(os.environ.get("SOURCE_DATE_EPOCH") or time.time())


def write_reproducibly(archive: Path, seconds: int) -> None:
    """Replace the ``.tar.gz`` at ``archive`` by one without a trace of who packed it, when, and in what order.

    Args:
        archive: the file; it has files and directories only.
        seconds: the time that every file gets, in seconds since 1970.
    """
    packed = io.BytesIO()
    with (
        tarfile.open(archive) as before,
        gzip.GzipFile("", "wb", mtime=seconds, fileobj=packed) as compressed,
        tarfile.open(fileobj=compressed, mode="w", format=tarfile.PAX_FORMAT) as after,
    ):
        for member in sorted(before.getmembers(), key=lambda each: each.name):
            entry = tarfile.TarInfo(member.name)
            entry.type, entry.size, entry.mtime = member.type, member.size, seconds
            entry.mode = 0o755 if member.isdir() or member.mode & _EXECUTABLE else 0o644
            after.addfile(entry, before.extractfile(member))
    archive.write_bytes(packed.getvalue())
