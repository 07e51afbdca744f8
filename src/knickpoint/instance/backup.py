"""Copy a whole instance, configuration and store, into one file while it is in use, and restore it.

A backup goes to other machines and other people, so it has no secret: the configuration refers to variables in their
place. A file that is restored may come from anybody: nothing of it decides what is written where, until it has been
checked.
"""

from __future__ import annotations

import shutil
import tarfile
import tempfile
from pathlib import Path
from typing import Final

from knickpoint.access.local_user import local_caller
from knickpoint.instance.config import CONFIG_FILE, read_config
from knickpoint.instance.config.reader import read_store_settings, read_table
from knickpoint.instance.config.toml_text import unset_variables, with_store, without_plain_secrets
from knickpoint.instance.instance import Instance, store_location
from knickpoint.model.errors import ConfigError, StoreError
from knickpoint.model.plain_text import without_secrets
from knickpoint.store import restore

STORE_COPY: Final = "store.db"
"""The name of a copied store, beside its configuration."""

_MEMBERS: Final = {CONFIG_FILE, STORE_COPY}
_LARGEST_CONFIG: Final = 1 << 20


def backup_instance(instance: Instance, path: Path) -> tuple[str, ...]:
    """Write the instance as it is now into the new tar file ``path``; writers and readers go on meanwhile.

    Clones of repositories are left out, because their URLs are in the configuration. The key of sessions is left out,
    and secrets that stand in the configuration.

    Returns:
        The environment variables that take the place of these secrets.

    Raises:
        StoreError: the file exists, or cannot be written; no partial file remains.
    """
    if path.exists():
        raise StoreError("the file already exists", where=str(path), remedy="Name another file, or remove this one.")
    partial = path.with_name(f"{path.name}.partial")
    try:
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".knick-backup-") as folder:
            copy, config = Path(folder) / STORE_COPY, Path(folder) / CONFIG_FILE
            text, variables = without_plain_secrets((instance.directory / CONFIG_FILE).read_text(encoding="utf-8"))
            config.write_text(text, encoding="utf-8")
            instance.store.backup(copy)
            partial.unlink(missing_ok=True)
            partial.touch(mode=0o600, exist_ok=False)  # what repositories of few readers have is in it
            with tarfile.open(partial, "w") as archive:
                archive.add(config, CONFIG_FILE)
                archive.add(copy, STORE_COPY)
        partial.rename(path)
    except OSError as error:
        raise StoreError(
            f"the backup failed: {error.strerror}", where=str(path), remedy="Check the disk and the path."
        ) from error
    finally:
        partial.unlink(missing_ok=True)
    return variables


def restore_instance(
    path: Path, directory: Path, *, store: str = "", keep_tokens: bool = False, outside: bool = False
) -> tuple[str, ...]:
    """Make an instance in ``directory``, where there is none yet, from the file of a backup.

    The store is created at ``store``, a path relative to ``directory`` or an address, which the restored configuration
    names then. By default it is created where the configuration says; with ``outside``, that may be anywhere else than
    in ``directory``. There must be none yet. Its tokens are revoked unless ``keep_tokens`` is given, and all sessions
    have ended.

    Returns:
        The environment variables that the configuration needs and that are not set.

    Raises:
        ConfigError: there is an instance in ``directory`` already, it cannot be written, or the configuration cannot be
            used.
        StoreError: the file is not a complete backup, there is a store already, or it is outside.
    """
    target = directory / CONFIG_FILE
    if target.exists():
        raise ConfigError("the instance already exists", where=str(directory), remedy="Restore into another directory.")
    is_new = not directory.exists()
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=directory, prefix=".knick-restore-") as name:
            folder = Path(name)
            _unpack(path, folder)
            if store:
                _set_store(folder / CONFIG_FILE, store)
            try:
                unset = restore_files(folder, directory, keep_tokens=keep_tokens, outside=outside or bool(store))
            except StoreError as error:
                error.where = error.where.replace(str(folder / STORE_COPY), str(path))
                raise
    except OSError as error:
        raise ConfigError(
            f"an instance cannot be made there: {error.strerror}",
            where=str(directory),
            remedy="Choose a directory that you may write.",
        ) from error
    finally:
        if is_new and directory.is_dir() and not any(directory.iterdir()):
            directory.rmdir()
    return unset


def restore_files(
    folder: Path, directory: Path, *, keep_tokens: bool = False, outside: bool = False
) -> tuple[str, ...]:
    """Make an instance in ``directory`` from ``folder``, which has its configuration and a copy of its store.

    Returns:
        The environment variables that the configuration needs and that are not set.

    Raises:
        ConfigError: the configuration cannot be used.
        StoreError: the copy is not complete, there is a store already, or it is outside.
    """
    unset = _check_config(folder / CONFIG_FILE)
    location = store_location(read_store_settings(folder / CONFIG_FILE), directory.absolute())
    if not outside:
        _check_inside(location, directory.absolute())
    restore(folder / STORE_COPY, location, who=local_caller().name, keep_tokens=keep_tokens).close()
    config = folder / CONFIG_FILE
    config.chmod(0o600)
    config.rename(directory / CONFIG_FILE)
    return unset


def _unpack(path: Path, folder: Path) -> None:
    """Write the two files of a backup into ``folder``; the archive chooses neither their names nor their kinds."""
    try:
        with tarfile.open(path, "r:") as archive:
            found: set[str] = set()
            while (member := archive.next()) is not None:
                if not _is_expected(member, found, path.stat().st_size):
                    raise _not_a_backup(path)
                found.add(member.name)
                with (folder / member.name).open("xb") as written:
                    content = archive.extractfile(member)
                    assert content is not None  # of a regular file
                    shutil.copyfileobj(content, written)
    except FileNotFoundError:
        raise StoreError("there is no such file", where=str(path), remedy="Correct the name.") from None
    except (OSError, EOFError, ValueError, tarfile.TarError) as error:
        raise _not_a_backup(path) from error
    if found != _MEMBERS:
        raise _not_a_backup(path)


def _is_expected(member: tarfile.TarInfo, found: set[str], size: int) -> bool:
    """Return True if a member is one of the two files, a whole regular file, and there for the first time.

    A sparse file can be larger than the archive.
    """
    plain = member.isreg() and not member.issparse() and 0 <= member.size <= size - member.offset_data
    largest = _LARGEST_CONFIG if member.name == CONFIG_FILE else size
    return member.name in _MEMBERS - found and plain and member.size <= largest


def _not_a_backup(path: Path) -> StoreError:
    return StoreError(
        "this is not a complete backup of an instance", where=str(path), remedy="Use a file that knick backup wrote."
    )


def _set_store(path: Path, location: str) -> None:
    read_table(path)  # whose errors name the file
    path.write_text(with_store(path.read_text(encoding="utf-8"), location), encoding="utf-8")


def _check_config(path: Path) -> tuple[str, ...]:
    """Return the variables that a configuration needs and that are not set; with all of them, it must be valid."""
    read_store_settings(path)
    unset = unset_variables(path.read_text(encoding="utf-8"))
    if not unset:
        read_config(path)
    return unset


def _check_inside(location: str, directory: Path) -> None:
    inside = "://" not in location and Path(location).resolve().is_relative_to(directory.resolve())
    if not inside:
        raise StoreError(
            "the configuration in this backup keeps its store outside of the instance",
            where=without_secrets(location),
            remedy="Say with --store where it should be. Or look at knickpoint.toml in the backup; if you trust it, "
            "restore with --outside.",
        )
