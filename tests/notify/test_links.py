"""A signed link is for one decision of one recipient about one change, and cannot be changed."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from knickpoint.notify.links import LinkAction, LinkClaim, link_digest, read_link, sign_link

KEY = b"k" * 32
CLAIM = LinkClaim(12, LinkAction.NOISE, "ann@example.org", "ann", datetime(2026, 3, 1, tzinfo=UTC))


def test_a_link_reads_back() -> None:
    assert read_link(sign_link(CLAIM, KEY), KEY) == CLAIM


def test_a_link_of_another_instance_is_refused() -> None:
    assert read_link(sign_link(CLAIM, b"x" * 32), KEY) is None


@pytest.mark.parametrize("position", range(0, 150, 7))
def test_a_changed_character_makes_a_link_bad_or_leaves_what_it_is_for(position: int) -> None:
    text = sign_link(CLAIM, KEY)
    place = position % len(text)
    changed = text[:place] + ("A" if text[place] != "A" else "B") + text[place + 1 :]
    assert read_link(changed, KEY) in {None, CLAIM}


def test_the_body_of_one_link_does_not_go_with_the_signature_of_another() -> None:
    other = sign_link(replace(CLAIM, change=13), KEY)
    text = sign_link(CLAIM, KEY)
    assert read_link(f"{other.partition('.')[0]}.{text.partition('.')[2]}", KEY) is None


@pytest.mark.parametrize("text", ["", ".", "a.b", "ä.ä", "x" * 5000, "W10.", "AA.AA", "%00"])
def test_texts_that_are_no_link_are_refused(text: str) -> None:
    assert read_link(text, KEY) is None


def test_a_used_link_is_known_by_what_it_is_for() -> None:
    assert link_digest(CLAIM) != link_digest(replace(CLAIM, action=LinkAction.TAKE))
    assert link_digest(CLAIM) == link_digest(replace(CLAIM))
