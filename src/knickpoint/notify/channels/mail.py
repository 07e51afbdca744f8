"""Write messages as mails, and send them through an SMTP server: encrypted, over one connection, each answer read."""

from __future__ import annotations

import base64
import binascii
import hashlib
import platform
import re
import smtplib
import ssl
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime, parseaddr
from enum import Enum
from ipaddress import ip_address
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from knickpoint.model.errors import ConfigError
from knickpoint.model.notification import Attachment, Message, Sent
from knickpoint.model.plain_text import plain_line
from knickpoint.notify.channel import ChannelContext, DeliveryError
from knickpoint.notify.settings import ChannelSettings
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


_SECONDS: Final = 30.0
"""The longest wait for an answer of the server."""
_MOST_OF_CONNECTION: Final = 200
"""Mails over one connection; some servers end one that carries more."""
_IDLE_SECONDS: Final = 20.0
"""After such a pause the server may have ended the connection; a new one is made."""
_LINE_WITH_DOT: Final = re.compile(rb"^\.", re.MULTILINE)
_BARE_BREAK: Final = re.compile(rb"\r\n|\r|\n")
_CLOSING: Final = 421
_START_INPUT: Final = 354
_FIX_SETTINGS: Final = frozenset({530, 534, 535, 538})
"""Refusals that say that the login is missing or wrong."""


class _ClosingError(DeliveryError):
    """Raised when the server ends the connection: the mail may go over another one."""


class Security(Enum):
    """How the connection is encrypted: after STARTTLS, from the start, or not at all."""

    STARTTLS = "starttls"
    TLS = "tls"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class MailServer:
    """An SMTP server, and who sends there; ``user`` is "" without a login."""

    host: str
    port: int
    security: Security
    user: str = ""
    password: str = field(default="", repr=False)

    @property
    def where(self) -> str:
        """The server for messages."""
        return f"mail server {self.host}:{self.port}"


_SCHEMES: Final = {
    "smtp": (Security.STARTTLS, 587),
    "smtps": (Security.TLS, 465),
    "smtp+plain": (Security.NONE, 25),
}


def read_server(address: str, where: str) -> MailServer:
    """Return the server at ``address``: ``smtp://user:password@host:587``, ``smtps://…`` or ``smtp+plain://…``.

    ``smtp`` needs STARTTLS, but on this machine. ``smtp+plain`` never encrypts, and takes no password but on this
    machine.

    Raises:
        ConfigError: it is no such address.
    """
    remedy = "Give it as smtp://user:password@host:587, with STARTTLS, or as smtps://host:465."
    try:
        parts = urlsplit(address)
        security, usual_port = _SCHEMES[parts.scheme]
        host, port = parts.hostname or "", parts.port or usual_port
    except (KeyError, ValueError):
        raise ConfigError("server is not an address of a mail server", where=where, remedy=remedy) from None
    if not host or parts.path.strip("/") or parts.query or parts.fragment or not host.isprintable():
        raise ConfigError("server is not an address of a mail server", where=where, remedy=remedy)
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    if security is Security.STARTTLS and _is_this_machine(host):
        security = Security.NONE
    if security is Security.NONE and password and not _is_this_machine(host):
        raise ConfigError("server has a password, and no encryption", where=where, remedy=remedy)
    return MailServer(host, port, security, user, password)


def mail_channel(settings: ChannelSettings, context: ChannelContext) -> MailChannel:
    """Open the channel that ``settings`` describe; it connects when it sends.

    Raises:
        ConfigError: server, sender or certificates cannot be used.
    """
    where = f"[channels.{settings.name}]"
    server = read_server(settings.server, where)
    trust = _trust(settings.authorities, context.directory, where) if server.security is not Security.NONE else None
    return MailChannel(settings.name, server, read_sender(settings.sender, context.instance_name, where), trust)


@dataclass
class MailChannel:
    """Sends mails over one connection, which is made anew when it breaks or grows old."""

    name: str
    server: MailServer
    sender: Sender
    trust: ssl.SSLContext | None = None
    seconds: float = _SECONDS
    clock: Callable[[], float] = time.monotonic
    _connection: smtplib.SMTP | None = field(default=None, init=False, repr=False)
    _carried: int = field(default=0, init=False)
    _used: float = field(default=0.0, init=False)

    def send(self, message: Message) -> Sent:
        """Send ``message`` to its recipient; see :meth:`knickpoint.notify.channel.Channel.send`."""
        address = message.recipient.address
        if not is_mail_address(address):
            raise DeliveryError(
                f"{plain_line(address, 80)!r} is not a mail address",
                where=f"[channels.{self.name}]",
                remedy="Correct it in the configuration, or in the author of the commit.",
                lasting=True,
            )
        content = mail_bytes(message, self.sender, channel=self.name, now=datetime.now(UTC))
        connection = self._addressed(address)
        with self._failing("before the mail was sent"):
            self._expect_input(connection)
        # From here on the server may have taken the mail when the connection breaks.
        with self._failing("after the mail was sent, before an answer", unclear=True):
            connection.send(_on_the_wire(content))
            self._expect(connection.getreply(), 250)
        self._carried += 1
        self._used = self.clock()
        return Sent(reference=message_id(self.sender, "message", message.key))

    def close(self) -> None:
        """End the connection."""
        connection, self._connection = self._connection, None
        if connection is not None:
            try:
                connection.quit()
            except (OSError, smtplib.SMTPException):
                connection.close()

    # The stages of a mail

    def _connected(self) -> smtplib.SMTP:
        """Return the connection, a new one where there is none, or it is old."""
        old = self._carried >= _MOST_OF_CONNECTION or self.clock() - self._used > _IDLE_SECONDS
        if self._connection is not None and old:
            self.close()
        if self._connection is None:
            with self._failing("before the server answered"):
                self._connection = self._connect()
            self._carried, self._used = 0, self.clock()
        return self._connection

    def _addressed(self, address: str) -> smtplib.SMTP:
        """Return the connection after the server accepted sender and recipient.

        A connection that carried mails before may have been ended by the server meanwhile; a new one is made then.
        """
        if self._connection is not None and self._carried:
            try:
                return self._address(self._connected(), address)
            except (OSError, smtplib.SMTPServerDisconnected, _ClosingError):
                self._drop()
        connection = self._connected()
        with self._failing("while the mail was addressed"):
            return self._address(connection, address)

    def _connect(self) -> smtplib.SMTP:
        server = self.server
        name = _greeting_name(self.sender)
        if server.security is Security.TLS:
            connection: smtplib.SMTP = smtplib.SMTP_SSL(
                server.host, server.port, local_hostname=name, timeout=self.seconds, context=self.trust
            )
        else:
            connection = smtplib.SMTP(server.host, server.port, local_hostname=name, timeout=self.seconds)
        try:
            connection.ehlo_or_helo_if_needed()
            if server.security is Security.STARTTLS:
                self._encrypt(connection)
            if server.user:
                connection.login(server.user, server.password)
        except BaseException:
            connection.close()
            raise
        return connection

    def _encrypt(self, connection: smtplib.SMTP) -> None:
        if not connection.has_extn("starttls"):
            raise DeliveryError(
                "it offers no STARTTLS, so the mail would go unencrypted",
                where=self.server.where,
                remedy="Give smtps://host:465, or smtp+plain://host to send without encryption.",
            )
        connection.starttls(context=self.trust)
        connection.ehlo_or_helo_if_needed()

    def _address(self, connection: smtplib.SMTP, address: str) -> smtplib.SMTP:
        self._expect(connection.mail(self.sender.address), 250, sender=True)
        code, answer = connection.rcpt(address)
        if code not in {250, 251}:
            self._reset(connection)
            self._expect((code, answer), 250)
        return connection

    def _expect_input(self, connection: smtplib.SMTP) -> None:
        reply = connection.docmd("DATA")
        if reply[0] != _START_INPUT:
            self._reset(connection)
        self._expect(reply, _START_INPUT)

    def _reset(self, connection: smtplib.SMTP) -> None:
        """Forget the mail that was begun, so that the connection can carry the next one."""
        try:
            connection.rset()
        except (OSError, smtplib.SMTPException):
            self._drop()

    # Errors

    def _expect(self, reply: tuple[int, bytes], wanted: int, *, sender: bool = False) -> None:
        """Raise the error that an answer of the server stands for, unless it is the ``wanted`` one."""
        code, answer = reply
        if code == wanted:
            return
        if code == _CLOSING or code < 400:
            self._drop()
        raise self._refusal(code, answer, sender=sender)

    def _refusal(self, code: int, answer: bytes | str, *, sender: bool = False) -> DeliveryError:
        words = answer.decode("utf-8", "replace") if isinstance(answer, bytes) else answer
        settings = code in _FIX_SETTINGS or sender
        remedy = "Wait." if 400 <= code < 500 else "Look into its log."
        if settings:
            remedy = "Check user, password and sender of the channel." if code >= 500 else remedy
        elif code >= 500:
            remedy = "Check the address of the recipient."
        kind = _ClosingError if code == _CLOSING else DeliveryError
        return kind(
            f"it answers {code} {plain_line(' '.join(words.split()), 200)}".rstrip(),
            where=self.server.where,
            remedy=remedy,
            lasting=code >= 500 and not settings,
        )

    @contextmanager
    def _failing(self, stage: str, *, unclear: bool = False) -> Iterator[None]:
        """Turn errors of the connection into delivery errors, and end the connection."""
        try:
            yield
        except DeliveryError:
            raise
        except ssl.SSLCertVerificationError as error:
            self._drop()
            raise DeliveryError(
                f"its certificate is not trusted: {error.verify_message}",
                where=self.server.where,
                remedy="Name the file of its authority in authorities of the channel.",
            ) from error
        except smtplib.SMTPResponseException as error:
            # Greeting, STARTTLS and login: settings or the server are at fault, not this mail.
            self._drop()
            raise self._refusal(error.smtp_code, error.smtp_error, sender=True) from error
        except smtplib.SMTPNotSupportedError as error:
            self._drop()
            raise DeliveryError(
                f"it offers no login: {plain_line(str(error), 200)}",
                where=self.server.where,
                remedy="Leave user and password out of server, or use another port.",
            ) from error
        except (OSError, smtplib.SMTPException) as error:
            self._drop()
            raise DeliveryError(
                f"the connection failed {stage}: {plain_line(str(error) or type(error).__name__, 200)}",
                where=self.server.where,
                remedy="Check that the server can be reached.",
                unclear=unclear,
            ) from error
        except BaseException:
            self._drop()
            raise

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


def _on_the_wire(content: bytes) -> bytes:
    """Return a mail as SMTP carries it: CRLF everywhere, leading dots doubled, and the end."""
    lines = _BARE_BREAK.sub(b"\r\n", content)
    stuffed = _LINE_WITH_DOT.sub(b"..", lines)
    return stuffed + (b".\r\n" if stuffed.endswith(b"\r\n") else b"\r\n.\r\n")


def _trust(authorities: str, directory: Path, where: str) -> ssl.SSLContext:
    """Return whose certificates count: those of the system, or those of a file."""
    if not authorities:
        return ssl.create_default_context()
    file = directory / Path(authorities).expanduser()
    try:
        return ssl.create_default_context(cafile=str(file))
    except (OSError, ssl.SSLError) as error:
        raise ConfigError(
            f"authorities cannot be read: {error.strerror or error}",
            where=f"{where}, {file}",
            remedy="Name a file with certificates (PEM).",
        ) from error


def _greeting_name(sender: Sender) -> str:
    """Return the name by which this machine greets: its own where that is a full one, else the sender's domain."""
    name = platform.node()
    return name if "." in name and name.isascii() else sender.domain


def _is_this_machine(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
