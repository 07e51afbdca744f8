"""Write a message as a mail: plain text, HTML and pictures in one, with headers that mail programs thread by."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime, parseaddr
from typing import Final

from knickpoint.model.errors import ConfigError
from knickpoint.model.notification import Attachment, Message
from knickpoint.model.plain_text import plain_line
from knickpoint.people import is_mail_address

_LONGEST_SUBJECT: Final = 200
_LONGEST_NAME: Final = 120
_POLICY: Final = SMTP.clone(max_line_length=78)
_TEXT: Final = {"Content-Transfer-Encoding": "quoted-printable"}
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
        ConfigError: it is not a mail address.
    """
    name, address = parseaddr(text)
    if "\n" in text or "\r" in text or not _is_address(address):
        raise ConfigError(
            f"sender is {plain_line(text, 80)!r}, which is not a mail address" if text else "sender is missing",
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

    The Message-ID comes from the key of the message, so another attempt has the same one. All messages of a thread
    refer to one id that comes from the thread, which is how mail programs show them together.
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
    if re.fullmatch(r"https?://[!-;=?-~]+", message.mute):
        mail["List-Unsubscribe"] = f"<{message.mute}>"
    content = _put_in(mail, message, sender)
    headers = b"".join(_POLICY.fold_binary(name, value) for name, value in mail.raw_items())
    return headers + b"\r\n" + content.replace(b"\n", b"\r\n")


def _put_in(mail: EmailMessage, message: Message, sender: Sender) -> bytes:
    """Put the type of the content into the headers of ``mail``; return the content: text, HTML, and its pictures.

    The parts are written here, since the generators of the library go through every line of every picture again.
    """
    mail["MIME-Version"] = "1.0"
    text = _Part('text/plain; charset="utf-8"', _TEXT, _readable(message.text))
    if not message.html:
        return _set(mail, text)
    digest = hashlib.sha256(message.key.encode("utf-8", "replace")).hexdigest()[:16]
    html, pictures = message.html, []
    for number, attachment in enumerate(message.attachments):
        cid = f"{number}.{digest}@{sender.domain}"
        html = html.replace(f"cid:{attachment.name}", f"cid:{cid}")
        pictures.append(_picture(attachment, cid))
    shown = _Part('text/html; charset="utf-8"', _TEXT, _readable(html))
    if pictures:
        shown = _together("related", [shown, *pictures], f"part-1-{digest}")
    return _set(mail, _together("alternative", [text, shown], f"part-0-{digest}"))


@dataclass(frozen=True, slots=True)
class _Part:
    r"""A part of a mail: its type, its further headers, and its content, with ``\n`` as line breaks."""

    media_type: str
    headers: Mapping[str, str]
    content: bytes

    @property
    def whole(self) -> bytes:
        lines = [f"{name}: {value}\n" for name, value in {"Content-Type": self.media_type, **self.headers}.items()]
        return "".join(lines).encode("ascii") + b"\n" + self.content


def _set(mail: EmailMessage, part: _Part) -> bytes:
    for name, value in {"Content-Type": part.media_type, **part.headers}.items():
        mail[name] = value
    return part.content


def _picture(attachment: Attachment, cid: str) -> _Part:
    name = re.sub(r"[^A-Za-z0-9._-]", "_", attachment.name)
    headers = {
        "Content-Transfer-Encoding": "base64",
        "Content-Disposition": f'inline; filename="{name}"',
        "Content-ID": f"<{cid}>",
    }
    return _Part(attachment.media_type, headers, base64.encodebytes(attachment.content))


def _together(subtype: str, parts: Sequence[_Part], boundary: str) -> _Part:
    between = f"--{boundary}\n".encode("ascii")
    content = b"".join(between + part.whole + b"\n" for part in parts) + f"--{boundary}--\n".encode("ascii")
    return _Part(f'multipart/{subtype}; boundary="{boundary}"', {}, content)


def _readable(text: str) -> bytes:
    """Return ``text`` as quoted-printable UTF-8; halves of characters, which no encoding has, become question marks."""
    lines = re.sub("\r\n?", "\n", text).encode("utf-8", "replace")
    return binascii.b2a_qp(lines if lines.endswith(b"\n") else lines + b"\n")


def _quoted(name: str) -> str:
    plain = "".join(letter for letter in plain_line(name, _LONGEST_NAME) if letter.isascii() and letter not in '"\\<>')
    return f'"{plain}"'


def _is_address(address: str) -> bool:
    """Return True if an address can send: also one of a machine on this network, as in ``perf@build``."""
    local, at, domain = address.rpartition("@")
    return is_mail_address(address) or bool(
        at and re.fullmatch(r"[A-Za-z0-9._+-]+", local) and re.fullmatch(r"[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*", domain)
    )
