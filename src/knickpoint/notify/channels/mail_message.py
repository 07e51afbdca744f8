"""Write a message as a mail: plain text, HTML and pictures in one, with headers that mail programs thread by."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from datetime import datetime
from email.headerregistry import Address
from email.message import EmailMessage, MIMEPart
from email.policy import SMTP
from email.utils import format_datetime, parseaddr
from typing import Final

from knickpoint.model.errors import ConfigError
from knickpoint.model.notification import Message
from knickpoint.model.plain_text import plain_line
from knickpoint.people.addresses import is_mail_address

__all__ = ["Sender", "mail_bytes", "message_id", "read_sender"]

_LONGEST_SUBJECT: Final = 200
_LONGEST_NAME: Final = 120
_POLICY: Final = SMTP.clone(max_line_length=78)
_IDENTITY: Final = re.compile(r"[^A-Za-z0-9.-]+")


@dataclass(frozen=True, slots=True)
class Sender:
    """Who mails come from: the name to show, the address, and the name of the instance."""

    name: str
    address: str
    instance: str

    @property
    def domain(self) -> str:
        """The domain of the address."""
        return self.address.rpartition("@")[2]


def read_sender(text: str, instance: str, where: str) -> Sender:
    """Return who ``text`` names: ``perf@example.org``, or ``Performance <perf@example.org>``.

    Raises:
        ConfigError: it is no mail address.
    """
    name, address = parseaddr(text)
    if "\n" in text or "\r" in text or not _is_address(address):
        raise ConfigError(
            f"sender is {plain_line(text, 80)!r}, which is no mail address" if text else "sender is missing",
            where=where,
            remedy='Give the address that mails come from, as in "Performance <perf@example.org>".',
        )
    return Sender(plain_line(name or instance, _LONGEST_NAME), address, instance)


def message_id(sender: Sender, kind: str, text: str) -> str:
    """Return a Message-ID that depends on ``text`` alone, and on who sends."""
    identity = f"{sender.instance}\0{sender.address}\0{kind}\0{text}".encode("utf-8", "replace")
    return f"<{kind}.{hashlib.sha256(identity).hexdigest()[:32]}@{sender.domain}>"


def mail_bytes(message: Message, sender: Sender, *, channel: str, now: datetime) -> bytes:
    """Return ``message`` as the bytes that go to a mail server.

    The Message-ID comes from the key of the message, so another attempt has the same one. All messages of a thread refer to
    one id that comes from the thread, which is how mail programs show them together.
    """
    mail = EmailMessage(policy=_POLICY)
    mail["From"] = Address(sender.name, addr_spec=sender.address)
    mail["To"] = Address(addr_spec=message.recipient.address)
    mail["Subject"] = plain_line(" ".join(message.subject.split()), _LONGEST_SUBJECT)
    mail["Date"] = format_datetime(now)
    mail["Message-ID"] = message_id(sender, "message", message.key)
    root = message_id(sender, "thread", message.thread or message.key)
    mail["In-Reply-To"] = root
    mail["References"] = root
    list_name = _IDENTITY.sub("-", channel).strip("-.") or "channel"
    mail["List-Id"] = f"{_quoted(sender.instance)} <{list_name}.knickpoint.{sender.domain}>"
    mail["Auto-Submitted"] = "auto-generated"
    mail["X-Auto-Response-Suppress"] = "All"
    mute = message.data.get("mute")
    if isinstance(mute, str) and re.fullmatch(r"https?://[!-;=?-~]+", mute):
        mail["List-Unsubscribe"] = f"<{mute}>"
    _fill(mail, message, sender)
    return mail.as_bytes()


def _fill(mail: EmailMessage, message: Message, sender: Sender) -> None:
    """Put plain text, HTML and the pictures that it shows into ``mail``."""
    mail.set_content(_whole(message.text), cte="quoted-printable")
    if not message.html:
        return
    html, ids = _whole(message.html), {}
    digest = hashlib.sha256(message.key.encode("utf-8", "replace")).hexdigest()[:16]
    for number, attachment in enumerate(message.attachments):
        ids[attachment.name] = f"{number}.{digest}@{sender.domain}"
        html = html.replace(f"cid:{attachment.name}", f"cid:{ids[attachment.name]}")
    mail.add_alternative(html, subtype="html", cte="quoted-printable")
    (_, part) = mail.iter_parts()
    assert isinstance(part, MIMEPart)
    for attachment in message.attachments:
        main, _, subtype = attachment.media_type.partition("/")
        name = re.sub(r"[^A-Za-z0-9._-]", "_", attachment.name)
        part.add_related(
            attachment.content,
            maintype=main,
            subtype=subtype,
            cid=f"<{ids[attachment.name]}>",
            filename=name,
            disposition="inline",
        )
    for level, multipart in enumerate(each for each in mail.walk() if each.is_multipart()):
        multipart.set_boundary(f"part-{level}-{digest}")


def _whole(text: str) -> str:
    """Return ``text`` without halves of characters, which no encoding has."""
    return text.encode("utf-8", "replace").decode()


def _quoted(name: str) -> str:
    plain = "".join(letter for letter in plain_line(name, _LONGEST_NAME) if letter.isascii() and letter not in '"\\<>')
    return f'"{plain}"'


def _is_address(address: str) -> bool:
    """Return whether an address can send: also one of a machine on this network, as in ``perf@build``."""
    local, at, domain = address.rpartition("@")
    return is_mail_address(address) or bool(
        at and re.fullmatch(r"[A-Za-z0-9._+-]+", local) and re.fullmatch(r"[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*", domain)
    )
