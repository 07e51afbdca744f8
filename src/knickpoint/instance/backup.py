"""Copy a whole instance, configuration and store, into one file while it is in use, and restore it."""

from __future__ import annotations

import tarfile
import tempfile
from pathlib import Path
from typing import Final

from knickpoint.access.local_user import local_caller
from knickpoint.instance.config import CONFIG_FILE, read_config
from knickpoint.instance.instance import Instance, store_location
from knickpoint.model.errors import ConfigError, StoreError
from knickpoint.store import restore

__all__ = ["backup_instance", "restore_instance"]

_STORE: Final = "store.db"
_MEMBERS: Final = {CONFIG_FILE, _STORE}


def backup_instance(instance: Instance, path: Path) -> None:
    """Write the instance as it is now into the new tar file ``path``; writers and readers go on meanwhile.

    Clones of repositories are left out, because their URLs are in the configuration.

    Raises:
        StoreError: the file exists, or cannot be written; no partial file remains.
    """
    if path.exists():
        raise StoreError("the file exists already", where=str(path), remedy="Name another file, or remove this one.")
    partial = path.with_name(f"{path.name}.partial")
    try:
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".knick-backup-") as folder:
            copy = Path(folder) / _STORE
            instance.store.backup(copy)
            with tarfile.open(partial, "w") as archive:
                archive.add(instance.directory / CONFIG_FILE, CONFIG_FILE)
                archive.add(copy, _STORE)
        partial.rename(path)
    except OSError as error:
        raise StoreError(
            f"the backup failed: {error.strerror}", where=str(path), remedy="Check the disk and the path."
        ) from error
    finally:
        partial.unlink(missing_ok=True)


def _unpack(path: Path, folder: Path) -> None:
    try:
        with tarfile.open(path, "r:") as archive:
            names = set(archive.getnames())
            archive.extractall(folder, filter="data")
    except FileNotFoundError:
        raise StoreError("there is no such file", where=str(path), remedy="Correct the name.") from None
    except (OSError, tarfile.TarError):
        names = set()
    if names != _MEMBERS:
        raise StoreError(
            "this is not a complete backup of an instance",
            where=str(path),
            remedy="Use a file that knick backup wrote.",
        )


def restore_instance(path: Path, directory: Path, *, keep_tokens: bool = False) -> None:
    """Make an instance in ``directory``, where there is none yet, from the file of a backup.

    The store is created where the configuration says; there must be none yet. Its tokens are revoked unless
    ``keep_tokens`` is given, and all sessions have ended.

    Raises:
        ConfigError: there is an instance in ``directory`` already, or it cannot be written.
        StoreError: the file is not a complete backup, or there is a store already.
    """
    target = directory / CONFIG_FILE
    if target.exists():
        raise ConfigError(
            "there is an instance already", where=str(directory), remedy="Restore into another directory."
        )
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=directory, prefix=".knick-restore-") as name:
            folder = Path(name)
            _unpack(path, folder)
            config = read_config(folder / CONFIG_FILE)
            location = store_location(config, directory.absolute())
            restore(folder / _STORE, location, who=local_caller().name, keep_tokens=keep_tokens).close()
            (folder / CONFIG_FILE).rename(target)
    except OSError as error:
        raise ConfigError(
            f"an instance cannot be made there: {error.strerror}",
            where=str(directory),
            remedy="Choose a directory that you may write.",
        ) from error
