"""The kinds of channels: the built-in ones, and those that other packages register as ``knickpoint.channels``.

A kind is a function from the settings and the context of a channel to the channel. The module of a kind is imported
when a channel of it is opened.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import Final

from knickpoint.model.errors import ConfigError
from knickpoint.notify.channel import Channel, ChannelContext
from knickpoint.notify.settings import ChannelKind, ChannelSettings
from knickpoint.plugins import Plugin, find_plugins

ENTRY_POINTS: Final = "knickpoint.channels"
"""The group of entry points under which other packages register kinds of channels."""

ChannelMaker = Callable[[ChannelSettings, ChannelContext], Channel]
"""Makes a channel; it connects when it sends, not before."""

_BUILT_IN: Final[Mapping[str, str]] = {
    "chat": "knickpoint.notify.channels.chat:chat_channel",
    "github": "knickpoint.notify.trackers.github:github_channel",
    "gitlab": "knickpoint.notify.trackers.gitlab:gitlab_channel",
    "jira": "knickpoint.notify.trackers.jira:jira_channel",
    "mail": "knickpoint.notify.channels.mail:mail_channel",
    "webhook": "knickpoint.notify.channels.webhook:webhook_channel",
}
"""Name to module and function, as in an entry point."""


@cache
def _plugins() -> Mapping[str, Plugin]:
    return find_plugins(ENTRY_POINTS, _BUILT_IN)


def check_channel_kind(settings: ChannelSettings, where: str) -> None:
    """Check that the kind of a channel is built in, or registered by an installed package.

    Raises:
        ConfigError: it is neither; ``where`` is the section that names it.
    """
    if settings.kind is not ChannelKind.OTHER or _canonical(settings.plugin) in _plugins():
        return
    known = ", ".join(_plugins()) or "none are installed"
    remedy = f"Install the package that registers it. Kinds of other packages: {known}."
    raise ConfigError(f"plugin is {settings.plugin!r}, which no package registers", where=where, remedy=remedy)


def open_channel(settings: ChannelSettings, context: ChannelContext) -> Channel:
    """Make the channel that ``settings`` describe.

    Raises:
        ConfigError: its kind is unknown, its settings cannot be used, or a library that it needs is not installed.
        PluginError: the package that registers its kind is broken.
    """
    if settings.kind is not ChannelKind.OTHER:
        module, _, attribute = _BUILT_IN[settings.kind.value].partition(":")
        maker: ChannelMaker = getattr(import_module(module), attribute)
        return maker(settings, context)
    check_channel_kind(settings, f"[channels.{settings.name}]")
    plugin = _plugins()[_canonical(settings.plugin)]
    loaded = plugin.load()
    if not callable(loaded):
        raise plugin.error(f"{plugin.entry_point.value} is {type(loaded).__name__}, not a function")
    channel = loaded(settings, context)
    if not callable(getattr(channel, "send", None)) or not callable(getattr(channel, "close", None)):
        raise plugin.error(f"{plugin.entry_point.value} returned {type(channel).__name__}, which is not a channel")
    opened: Channel = channel
    return opened


def _canonical(name: str) -> str:
    return name.strip().replace("-", "_")
