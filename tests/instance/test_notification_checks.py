"""What [notify], [channels] and [people] may not say, named with the file and the section."""

from __future__ import annotations

from pathlib import Path

import pytest

from knickpoint.instance import CONFIG_FILE, read_config
from knickpoint.model.errors import ConfigError

_MAIL = '[channels.team]\nkind = "mail"\nserver = "smtp://mail.example.org"\nsender = "knick@example.org"\n'


@pytest.mark.parametrize(
    ("text", "section", "reason"),
    [
        ("[notify]\nattempts = 0\n", "[notify]", "attempts is 0"),
        ("[notify]\nescalate_hours = -1\n", "[notify]", "escalate_hours is -1"),
        ("[notify]\nlink_days = 0\n", "[notify]", "link_days is 0"),
        ("[notify]\nlink_days = 367\n", "[notify]", "link_days is 367"),
        ("[notify]\nsuspect_probability = 1.5\n", "[notify]", "suspect_probability is 1.5"),
        ("[notify]\ndigest_below = 5\n", "[notify]", "digest_below is 5"),
        ('[notify]\nmachine_owners = ["lab"]\n', "[notify]", "machine_owners names 'lab'"),
        ('[notify]\ndigest = ["25:00"]\n', "[notify]", "25:00"),
        ('[notify]\nquiet = "22:00"\n', "[notify]", "22:00"),
        ('[notify]\ntime_zone = "Mars/Olympus"\n', "[notify]", "Mars/Olympus"),
        (f'{_MAIL}to = ["ann"]\n', "[channels.team]", "to has 'ann', which is not a mail address"),
        ('[channels.own]\nkind = "other"\n', "[channels.own]", "'plugin' is missing"),
        ('[channels.x]\nkind = "pigeon"\n', "channels.x", "pigeon"),
        ('[people.ann]\nmail = "ann"\n', "[people.ann]", "'ann' is not a mail address"),
        (
            '[people.ann]\nmail = "a@example.org"\n[people.bob]\nmail = "a@example.org"\n',
            "[people.bob]",
            "a@example.org",
        ),
        ('[alerts.a]\nnotify = ["nowhere"]\n', "alerts.a", "nowhere"),
        ('[alerts.a]\nowners = ["eve"]\n', "alerts.a", "eve"),
    ],
)
def test_a_setting_that_cannot_be_used_is_refused_with_its_section(
    tmp_path: Path, text: str, section: str, reason: str
) -> None:
    path = tmp_path / CONFIG_FILE
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as refused:
        read_config(path)
    assert reason in str(refused.value)
    assert section in str(refused.value)
    assert refused.value.remedy
