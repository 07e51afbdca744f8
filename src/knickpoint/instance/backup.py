"""Copy a whole instance, configuration and store, into one file while it is in use, and restore it.

A backup goes to other machines and other people, so it has no secret: the configuration refers to variables in their
place. A file that is restored may come from anybody: nothing of it decides what is written where, until it has been
checked.
"""

from __future__ import annotations

import dataclasses
import json
import os
import re
import shutil
import tarfile
import tempfile
import tomllib
import typing
from collections.abc import Iterator, Mapping
from datetime import date, datetime, time
from pathlib import Path
from typing import Any, Final

from knickpoint.access.local_user import local_caller
from knickpoint.instance.config import CONFIG_FILE, read_config
from knickpoint.instance.config.reader import read_store_settings, read_table
from knickpoint.instance.config.settings import Config
from knickpoint.instance.config.toml_tables import key_of
from knickpoint.instance.instance import Instance, store_location
from knickpoint.model.errors import ConfigError, StoreError
from knickpoint.model.plain_text import SECRET, SecretKind, without_secrets
from knickpoint.store import restore

# Write settings as TOML, where the text that a person wrote cannot be kept.


_BARE_KEY: Final = re.compile(r"[A-Za-z0-9_-]+")

Table = Mapping[str, Any]
"""A table of TOML, as Python reads it."""


def copied(table: Table) -> dict[str, Any]:
    """Return a copy of a table whose sections can be changed."""
    return {name: copied(value) if isinstance(value, dict) else value for name, value in table.items()}


def literal(text: str) -> str:
    """Return a text as a basic string of TOML, which escapes as JSON does."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def written(table: Table) -> str:
    """Return a table as the text of a file, without comments."""
    return "\n".join(_lines(table, ())).lstrip("\n") + "\n"


def _lines(table: Table, place: tuple[str, ...]) -> Iterator[str]:
    if place:
        yield f"\n[{'.'.join(map(_key, place))}]"
    for name, value in table.items():
        if not isinstance(value, dict):
            yield f"{_key(name)} = {_value(value)}"
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _lines(value, (*place, name))


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return literal(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_key(name)} = {_value(item)}" for name, item in value.items()) + " }"
    return value.isoformat() if isinstance(value, datetime | date | time) else repr(value)


def _key(name: str) -> str:
    return name if _BARE_KEY.fullmatch(name) else literal(name)


# Find the secrets that stand in ``knickpoint.toml`` as plain text, and write it with variables in their place.


_VARIABLE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_USER: Final = re.compile(r"(?<=://)(?P<user>[^\s/?#:@]*)(?::(?P<password>[^\s,]*))?(?=@)")
_PARAMETER: Final = re.compile(r"(?<=[?&])(?P<name>[^=&\s]*)=(?P<value>[^&\s#]*)")
_NO_TOKENS: Final = re.compile(r"(?:ssh|postgresql(?:\+\w+)?)://\Z", re.IGNORECASE)
_SOUNDS_SECRET: Final = re.compile(r"pass|secret|token|key|credential|auth|sig", re.IGNORECASE)


def without_plain_secrets(text: str) -> tuple[str, tuple[str, ...]]:
    """Return the text of a configuration without its secrets, and the names of the variables that take their place.

    The text stays as it is otherwise. Where a secret cannot be replaced in it, the same settings are written anew,
    without comments.
    """
    table = tomllib.loads(text)
    found = dict(_plain(Config, table, ()))
    if not found:
        return text, ()
    names = _names(found)
    changed = {place: _replaced(value, kind, names[place]) for place, (value, kind) in found.items()}
    variables = tuple(names[place] for place in found)
    head = f"# Secrets are left out of this backup. Set the environment variables {', '.join(variables)}.\n"
    return head + _rewritten(text, table, {place: (found[place][0], new) for place, new in changed.items()}), variables


def unset_variables(text: str) -> tuple[str, ...]:
    """Return the environment variables that a configuration refers to and that are not set."""
    named = (name for value in _texts(tomllib.loads(text)) for name in _VARIABLE.findall(value))
    return tuple(name for name in dict.fromkeys(named) if name not in os.environ)


Place = tuple[str, ...]


def _plain(kind: Any, table: Table, place: Place) -> Iterator[tuple[Place, tuple[str, SecretKind]]]:
    """Yield where a section, or one within it, has a secret as plain text, with the text and what of it is secret."""
    hints = typing.get_type_hints(kind)
    for field in dataclasses.fields(kind):
        key = key_of(field)
        value, here = table.get(key), (*place, key)
        secret = field.metadata.get(SECRET)
        if secret is SecretKind.OPTIONS and isinstance(value, dict):
            for name, option in value.items():
                yield from _secret((*here, name), option, _kind_of(name))
        elif secret is not None:
            yield from _secret(here, value, secret)
        elif isinstance(value, dict):
            named = typing.get_args(hints[field.name])
            sections = value.items() if named else [("", value)]
            section_kind = named[-1] if named else hints[field.name]
            for name, section in sections:
                if dataclasses.is_dataclass(section_kind) and isinstance(section, dict):
                    yield from _plain(section_kind, section, (*here, name) if named else here)


def _kind_of(name: str) -> SecretKind:
    return SecretKind.WHOLE if _SOUNDS_SECRET.search(name) else SecretKind.ADDRESS


def _secret(place: Place, value: object, kind: SecretKind) -> Iterator[tuple[Place, tuple[str, SecretKind]]]:
    if isinstance(value, str) and _replaced(value, kind, "") != value:
        yield place, (value, kind)


def _replaced(value: str, kind: SecretKind, variable: str) -> str:
    """Return ``value`` with its secret as a variable; a reference to a variable is none."""
    reference = f"${{{variable}}}"
    if kind is SecretKind.WHOLE:
        return reference if value and not _VARIABLE.search(value) else value
    changed = _without_parts(value, reference)
    return reference if changed.count(reference) > 1 else changed  # one variable cannot stand for two passwords


def _without_parts(address: str, reference: str) -> str:
    """Return an address with ``reference`` for its password, or a user that is a token, and for secret parameters."""

    def user(found: re.Match[str]) -> str:
        password = found["password"]
        if password:
            return found[0] if _VARIABLE.search(password) else f"{found['user']}:{reference}"
        # A user alone is a token, but where there are no tokens: there it is part of the place.
        is_place = _NO_TOKENS.search(address[: found.start()]) or _VARIABLE.search(found["user"])
        return found[0] if is_place or not found["user"] else reference

    def parameter(found: re.Match[str]) -> str:
        plain = found["value"] and _SOUNDS_SECRET.search(found["name"]) and not _VARIABLE.search(found["value"])
        return f"{found['name']}={reference}" if plain else found[0]

    return _PARAMETER.sub(parameter, _USER.sub(user, address))


def _names(places: Mapping[Place, object]) -> dict[Place, str]:
    """Return a variable for each place, as in ``KNICKPOINT_SERVER_UPLOAD_TOKEN``."""
    names: dict[Place, str] = {}
    for place in places:
        name = "KNICKPOINT_" + re.sub(r"[^A-Z0-9]+", "_", "_".join(place).upper())
        while name in names.values():
            name += "_"
        names[place] = name
    return names


def _rewritten(text: str, table: Table, changes: Mapping[Place, tuple[str, str]]) -> str:
    """Return ``text`` with old values replaced by new ones; written anew where that changes anything else."""
    wanted = copied(table)
    for place, (_, new) in changes.items():
        section = wanted
        for name in place[:-1]:
            section = section[name]
        section[place[-1]] = new
    edited = text
    for old, new in changes.values():
        for spelled in (literal(old), f"'{old}'"):
            edited = edited.replace(spelled, literal(new))
    try:
        same = tomllib.loads(edited) == wanted
    except tomllib.TOMLDecodeError:
        same = False
    remaining = any(old in edited for old, _ in changes.values())
    return edited if same and not remaining else written(wanted)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


# Write another place of the store into the text of a configuration.


_REPLACED: Final = ("location", "replicas")
_SECTION: Final = re.compile(r"^[ \t]*\[[ \t]*store[ \t]*\][^\n]*\n?", re.MULTILINE)
_NEXT_SECTION: Final = re.compile(r"^[ \t]*\[", re.MULTILINE)
_PLACE: Final = re.compile(rf"^[ \t]*(?:{'|'.join(_REPLACED)})[ \t]*=[^\n]*(?:\n|\Z)", re.MULTILINE)


def with_store(text: str, location: str) -> str:
    """Return the text of a configuration whose store is at ``location``.

    The replicas of the former place go: they follow another server. All else stays, comments included; where that
    cannot be done, the same settings are written anew.
    """
    wanted = copied(tomllib.loads(text))
    section = wanted.get("store", {})
    kept = section.items() if isinstance(section, dict) else ()
    wanted["store"] = {"location": location, **{name: value for name, value in kept if name not in _REPLACED}}
    edited = _edited(text, f"location = {literal(location)}\n")
    try:
        if tomllib.loads(edited) == wanted:
            return edited
    except tomllib.TOMLDecodeError:
        pass
    return written(wanted)


def _edited(text: str, line: str) -> str:
    """Return ``text`` with ``line`` at the beginning of the section of the store, in place of what it replaces."""
    head = _SECTION.search(text)
    if head is None:
        first = _NEXT_SECTION.search(text)
        place = first.start() if first else len(text)
        return f"{text[:place].rstrip()}\n\n[store]\n{line}\n{text[place:]}".lstrip()
    end = _NEXT_SECTION.search(text, head.end())
    inside = _PLACE.sub("", text[head.end() : end.start() if end else len(text)])
    return f"{text[: head.end()].rstrip()}\n{line}{inside}{text[end.start() :] if end else ''}"


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
