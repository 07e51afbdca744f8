"""Templates: what they say, what they may do, and how the files of an instance replace them."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest

from knickpoint.instance.config import read_config
from knickpoint.model.errors import ConfigError
from knickpoint.model.notification import AnnouncementKind, Delivery, Message, NotificationKind, Recipient
from knickpoint.notify.messages import NotificationFacts, Templates, load_templates, message_for
from knickpoint.notify.messages.templates import example_change, example_notifications
from knickpoint.notify.settings import ChannelKind, ChannelSettings

_NOW = datetime(2026, 3, 5, tzinfo=UTC)


def _templates(kind: ChannelKind = ChannelKind.MAIL) -> Templates:
    return load_templates(ChannelSettings("all", kind), Path())


def _with_file(tmp_path: Path, text: str, name: str = "change.txt") -> Templates:
    folder = tmp_path / "texts"
    folder.mkdir()
    (folder / name).write_text(text, encoding="utf-8")
    return load_templates(ChannelSettings("all", ChannelKind.MAIL, templates="texts"), tmp_path)


def _facts(kind: AnnouncementKind = AnnouncementKind.REGRESSED) -> NotificationFacts:
    return NotificationFacts("change", "Parser performance", changes=(example_change(kind),))


def _delivery() -> Delivery:
    recipient = Recipient("all", "ada@example.org", "ada")
    return Delivery(1, "key-1", NotificationKind.CHANGE, recipient, 1, (7,), "thread-1", _NOW, _NOW)


def _change_of(message: Message) -> dict[str, Any]:
    changes = cast("list[dict[str, Any]]", message.data["changes"])
    return changes[0]


@pytest.mark.parametrize("facts", list(example_notifications()), ids=lambda facts: facts.kind)
@pytest.mark.parametrize("kind", [ChannelKind.MAIL, ChannelKind.CHAT])
def test_every_kind_of_notification_has_a_subject_of_one_line_and_a_text(
    facts: NotificationFacts, kind: ChannelKind
) -> None:
    rendered = _templates(kind).render(facts)
    assert rendered.subject
    assert "\n" not in rendered.subject
    assert rendered.text.strip()
    assert "None" not in rendered.subject + rendered.text + rendered.html


def test_the_first_line_says_what_changed_by_how_much_and_where() -> None:
    first = _templates().render(_facts()).text.splitlines()[0]
    assert first == (
        "13 slower by up to 23 %; 1 faster by 2 %, probably since 3f2a9c1b77 (62 %), one of the 3 commits "
        "1a2b3c4d5e..9c8d7e6f50: parse/names (os=linux type=release) and 13 further traces."
    )


@pytest.mark.parametrize(
    ("kind", "begin"),
    [
        (AnnouncementKind.IMPROVED, "Improvement: "),
        (AnnouncementKind.MOVED, "Corrected place: "),
        (AnnouncementKind.GREW, "Goes on: "),
        (AnnouncementKind.RECOVERED, "Recovered: "),
        (AnnouncementKind.FIXED, "Fixed: "),
        (AnnouncementKind.WITHDRAWN, "No change after all: "),
        (AnnouncementKind.RETURNED, "Back again: "),
    ],
)
def test_the_first_line_of_a_correction_says_so(kind: AnnouncementKind, begin: str) -> None:
    assert _templates().render(_facts(kind)).text.startswith(begin)


def test_a_provisional_change_is_called_a_first_sign() -> None:
    rendered = _templates().render(
        NotificationFacts("provisional", "Parser performance", changes=(example_change(bare=True),))
    )
    assert rendered.text.startswith("First sign: ")
    assert "Later results may move it or take it away" in rendered.text


def test_a_mail_has_plain_text_and_html_and_a_chat_has_markdown() -> None:
    mail, chat = _templates().render(_facts()), _templates(ChannelKind.CHAT).render(_facts())
    assert mail.html.startswith("<!DOCTYPE html>")
    assert chat.html == ""
    assert chat.text.startswith("**13 slower")
    assert "**" not in mail.text


@pytest.mark.parametrize("kind", [ChannelKind.CHAT, ChannelKind.GITHUB, ChannelKind.GITLAB, ChannelKind.JIRA])
def test_a_number_with_a_point_has_no_backslash_in_chats_and_tickets(kind: ChannelKind) -> None:
    change = example_change()
    lead = replace(change.lead, levels="19.95 ms → 25.1 ms")
    text = _templates(kind).render(replace(_facts(), changes=(replace(change, lead=lead),))).text
    assert "**How much:** 19.95 ms → 25.1 ms" in text
    assert re.search(r"\\[\d+]", text) is None


def _hostile(name: str) -> NotificationFacts:
    change = example_change()
    lead = replace(change.lead, name=name)
    return replace(_facts(), changes=(replace(change, lead=lead, sentence=f"{name} is slower"),))


def test_a_hostile_name_is_text_in_html() -> None:
    html = _templates().render(_hostile('<img src=x onerror="alert(1)">')).html
    assert "<img src=x" not in html
    assert "&lt;img src=x" in html


def test_a_hostile_name_makes_no_link_mention_or_reference_in_markdown() -> None:
    name = "[a](https://evil.example) @team #12 `x` <b> https://evil.example"
    text = _templates(ChannelKind.GITHUB).render(_hostile(name)).text
    first = text.splitlines()[0]
    assert "[a](" not in first
    assert "@team" not in first
    assert "#12" not in first
    assert "<b>" not in first.replace("\\<", "")
    assert "://evil" not in first
    assert f"`` {name}``" in text or f"``{name}``" in text


def test_a_message_has_the_key_of_its_delivery_and_the_facts_for_machines() -> None:
    message = message_for(_delivery(), _facts(), _templates(ChannelKind.WEBHOOK))
    assert message.key == "key-1"
    assert message.thread == "thread-1"
    change = _change_of(message)
    assert change["id"] == "R12"
    assert "change" not in change
    assert change["lead"]["trace"] == ",benchmark=parse/names,os=linux,type=release,"
    assert change["previous"].startswith("1a2b3c4d5e")
    assert change["commit"].startswith("9c8d7e6f50")
    assert change["fixed"] == ""


def test_a_recovery_names_the_commit_that_fixed_it_for_trackers() -> None:
    message = message_for(_delivery(), _facts(AnnouncementKind.FIXED), _templates(ChannelKind.GITHUB))
    change = _change_of(message)
    assert change["fixed"].startswith("77aa55cc33")


def test_a_picture_is_attached_to_mails_and_chats() -> None:
    facts = replace(_facts(), pictures={"change-12.png": lambda: b"PNG"})
    mail = message_for(_delivery(), facts, _templates())
    chat = message_for(_delivery(), facts, _templates(ChannelKind.CHAT))
    assert [(each.name, each.content) for each in mail.attachments] == [("change-12.png", b"PNG")]
    assert 'src="cid:change-12.png"' in mail.html
    webhook = message_for(_delivery(), facts, _templates(ChannelKind.WEBHOOK))
    assert chat.attachments == mail.attachments
    assert webhook.attachments == ()


def test_a_file_of_the_instance_replaces_a_template(tmp_path: Path) -> None:
    templates = _with_file(tmp_path, "{{ change.lead.name }} in {{ change.repository }}\n")
    assert templates.render(_facts()).text == "parse/names in parser\n"


@pytest.mark.parametrize(
    ("text", "message", "place"),
    [
        ("one\n{{ change.sise }}\n", "sise", "change.txt, line 2"),
        ("{% if change %}\n", "is not a template", "change.txt, line 1"),
        ("{{ change.sentence.upper() }}", "a call is not allowed", "change.txt, line 1"),
        ("\n{{ change.__class__ }}", "__class__ is not a fact", "change.txt, line 2"),
        ("{{ change.sentence.format_map }}", "format_map", "change.txt, line 1"),
        ("{{ 'x' * 1000000000 }}", "* is not allowed", "change.txt, line 1"),
        ("{% set x = 1 %}", "set is not allowed", "change.txt, line 1"),
        ("{% macro m() %}{% endmacro %}", "macro is not allowed", "change.txt, line 1"),
        ("{{ changes[0] }}", "[ ] is not allowed", "change.txt, line 1"),
        ("{{ range }}", "'range' is undefined", "change.txt, line 1"),
        ("{{ change.sentence|replace('a', 'b') }}", "No filter named 'replace'", "change.txt, line 1"),
        ("{% include 'change.txt' %}", "includes itself", "change.txt"),
        ("{% include '/etc/passwd' %}", "which is not a template", "change.txt, line 1"),
        ("{% include change.sentence %}", "includes what is not a template", "change.txt, line 1"),
        ("{{ change.hours + 1 }}", "hours", "change.txt, line 1"),
        ("{{ change.sentence + 1 }}", "cannot be rendered", "change.txt, line 1"),
        ("  \n", "the text is empty", "change"),
    ],
)
def test_a_wrong_template_is_refused_with_its_file_and_line(
    text: str, message: str, place: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError) as caught:
        _with_file(tmp_path, text)
    assert message in caught.value.message
    assert place in caught.value.where
    assert caught.value.remedy


def test_loops_are_nested_three_deep_at_most(tmp_path: Path) -> None:
    loops = 4
    text = "{% for a in changes %}" * loops + "x" + "{% endfor %}" * loops
    with pytest.raises(ConfigError, match="loops are nested more than 3 deep"):
        _with_file(tmp_path, text)


def test_loops_around_an_include_count(tmp_path: Path) -> None:
    text = "{% for a in changes %}{% for b in changes %}{% include '_change.txt' %}{% endfor %}{% endfor %}"
    with pytest.raises(ConfigError, match="loops are nested more than 3 deep"):
        _with_file(tmp_path, text)


def test_a_text_without_end_is_refused(tmp_path: Path) -> None:
    text = "{% for a in changes %}{% for b in changes %}{% for c in changes %}" + "x" * 1000 + "{% endfor %}" * 3
    with pytest.raises(ConfigError, match="longer than 200,000 characters"):
        _with_file(tmp_path, text, "digest.txt")


def test_a_file_that_replaces_no_template_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="replaces no template") as caught:
        _with_file(tmp_path, "x", "chnage.txt")
    assert "change.txt" in caught.value.remedy


def test_a_directory_that_is_missing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        load_templates(ChannelSettings("all", ChannelKind.MAIL, templates="none"), tmp_path)


def test_a_wrong_template_is_found_when_the_configuration_is_read(tmp_path: Path) -> None:
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "change.txt").write_text("{{ change.sise }}", encoding="utf-8")
    file = tmp_path / "knickpoint.toml"
    file.write_text('[channels.team]\nkind = "mail"\ntemplates = "texts"\n', encoding="utf-8")
    with pytest.raises(ConfigError, match="sise") as caught:
        read_config(file)
    assert "change.txt, line 1" in caught.value.where
