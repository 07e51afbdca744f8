"""Check the settings of notifications, channels and people, as far as their types cannot."""

from __future__ import annotations

from pathlib import Path

from knickpoint.instance.config.settings import Config
from knickpoint.model.errors import ConfigError
from knickpoint.notify.schedule import read_schedule
from knickpoint.notify.settings import ChannelKind, ChannelSettings
from knickpoint.people import Directory
from knickpoint.people.addresses import is_mail_address

__all__ = ["check_notifications"]


def check_notifications(config: Config, path: Path) -> None:
    """Check what ``config``, read from the file at ``path``, says about who hears of what.

    Raises:
        ConfigError: a setting is missing or cannot be used.
    """
    settings, where = config.notify, f"{path}, [notify]"
    read_schedule(settings, where)
    for name, value, wanted, fits in (
        ("attempts", settings.attempts, "1 or more", settings.attempts >= 1),
        ("escalate_hours", settings.escalate_hours, "0, which is never, or more", settings.escalate_hours >= 0),
        ("link_days", settings.link_days, "more than 0, up to 366", 0 < settings.link_days <= 366),
        ("suspect_probability", settings.suspect_probability, "0 to 1", 0 <= settings.suspect_probability <= 1),
    ):
        if not fits:
            raise ConfigError(f"{name} is {value:g}", where=where, remedy=f"Give {wanted}.")
    for owner in settings.machine_owners:
        if owner not in config.people and not is_mail_address(owner.strip()):
            raise ConfigError(
                f"machine_owners names {owner!r}, and there is no section [people.{owner}]",
                where=where,
                remedy="Add the section, or give a mail address."
                + (f" There are: {', '.join(sorted(config.people))}." if config.people else ""),
            )
    for channel in config.channels.values():
        _check_channel(channel, f"{path}, [channels.{channel.name}]")
    try:
        Directory(config.people)
    except ConfigError as error:
        raise ConfigError(error.message, where=f"{path}, {error.where}", remedy=error.remedy) from error
    for person in config.people.values():
        for address in filter(None, (person.mail, *person.also)):
            if "@" not in address:
                where = f"{path}, [people.{person.name}]"
                raise ConfigError(
                    f"{address!r} is no mail address", where=where, remedy="Write it as in ann@example.org."
                )


def _check_channel(channel: ChannelSettings, where: str) -> None:
    if channel.kind is ChannelKind.OTHER and not channel.plugin:
        raise ConfigError("'plugin' is missing", where=where, remedy="Add the name of the kind, as its package says.")
    if channel.kind is ChannelKind.MAIL:
        wrong = next((address for address in channel.to if not is_mail_address(address.strip())), None)
        if wrong is not None:
            raise ConfigError(f"to has {wrong!r}, which is no mail address", where=where, remedy="Correct it.")
        wrong = next((domain for domain in channel.domains if not is_mail_address(f"x@{domain}")), None)
        if wrong is not None:
            raise ConfigError(f"domains has {wrong!r}", where=where, remedy="Write a domain as in example.org.")
