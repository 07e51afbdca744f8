"""Channels of other packages are found by their entry points."""

from __future__ import annotations

from pathlib import Path

import pytest

from knickpoint.model.errors import ConfigError
from knickpoint.notify.channel import ChannelContext, open_channel
from knickpoint.notify.settings import ChannelKind, ChannelSettings
from knickpoint.outgoing import OutgoingRule


def test_a_kind_that_no_package_registers_is_refused(tmp_path: Path) -> None:
    settings = ChannelSettings("pager", ChannelKind.OTHER, plugin="pager")
    with pytest.raises(ConfigError, match=r"\[channels.pager\]: plugin is 'pager', which no package registers"):
        open_channel(settings, ChannelContext(tmp_path, "", OutgoingRule(), "perf"))
