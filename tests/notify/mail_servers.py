"""Mail servers on loopback: a real one, and one that answers as it is written."""

from __future__ import annotations

import asyncio
import socket
import ssl
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from pathlib import Path
from threading import Thread
from typing import Any

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

__all__ = ["MailBox", "scripted_server", "serving_mail"]


@dataclass
class MailBox:
    """What a real server took, and what it refuses: recipient → answer."""

    port: int = 0
    raw: list[bytes] = field(default_factory=list)
    recipients: list[str] = field(default_factory=list)
    refused: Mapping[str, str] = field(default_factory=dict)
    connections: int = 0
    tls: list[bool] = field(default_factory=list)

    @property
    def mails(self) -> list[EmailMessage]:
        """The mails as programs read them."""
        parsed = [message_from_bytes(each, policy=default) for each in self.raw]
        return [each for each in parsed if isinstance(each, EmailMessage)]

    async def handle_RCPT(  # noqa: N802 - the name that the library calls
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        del server, session, options
        if address in self.refused:
            return self.refused[address]
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802
        del server
        assert isinstance(envelope.content, bytes)
        self.raw.append(envelope.content)
        self.recipients += envelope.rcpt_tos
        self.tls.append(session.ssl is not None)
        return "250 OK"


def _login(_server: SMTP, _session: Session, _envelope: Envelope, _way: str, data: Any) -> AuthResult:
    assert isinstance(data, LoginPassword)
    return AuthResult(success=(data.login, data.password) == (b"ada", b"s:cr/t"), handled=False)


@contextmanager
def serving_mail(
    certificate: Path | None = None, *, starttls: bool = False, login: bool = False, box: MailBox | None = None
) -> Iterator[MailBox]:
    """Run a mail server in a thread: encrypted from the start with a ``certificate``, or after STARTTLS."""
    box = box or MailBox()
    loop = asyncio.new_event_loop()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER) if certificate else None
    if context and certificate:
        context.load_cert_chain(certificate)

    def protocol() -> SMTP:
        box.connections += 1
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # a login over TLS from the start counts as unencrypted there
            return SMTP(
                box,
                loop=loop,
                hostname="mail.test",
                tls_context=context if starttls else None,
                require_starttls=starttls,
                authenticator=_login if login else None,
                auth_required=login,
                auth_require_tls=starttls,
            )

    server = loop.run_until_complete(loop.create_server(protocol, "127.0.0.1", 0, ssl=None if starttls else context))
    box.port = server.sockets[0].getsockname()[1]
    thread = Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield box
    finally:
        loop.call_soon_threadsafe(server.close)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.run_until_complete(_end_tasks())
        loop.close()


async def _end_tasks() -> None:
    pending = asyncio.all_tasks() - {asyncio.current_task()}
    for task in pending:
        task.cancel()
    await asyncio.gather(*pending, return_exceptions=True)


@contextmanager
def scripted_server(**answers: str | None) -> Iterator[int]:
    """Run a server that gives these answers and yield its port: by the first word of a command, ``greeting`` and ``end``.

    None ends the connection in place of an answer; "" answers nothing, until the client gives up.
    """
    usual: dict[str, str | None] = {
        "greeting": "220 test", "ehlo": "250 test", "mail": "250 OK", "rcpt": "250 OK", "data": "354 go on", "end": "250 OK",
        "rset": "250 OK", "quit": "221 bye",
    }  # fmt: skip
    script = usual | answers
    listener = socket.create_server(("127.0.0.1", 0))
    thread = Thread(target=_answer_all, args=(listener, script), daemon=True)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


def _answer_all(listener: socket.socket, script: Mapping[str, str | None]) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        with connection, connection.makefile("rwb") as file:
            _answer(file, script)


def _answer(file: Any, script: Mapping[str, str | None]) -> None:
    try:
        word = "greeting"
        while True:
            answer = script[word]
            if answer is None:
                return
            if answer:
                file.write(f"{answer}\r\n".encode())
                file.flush()
            in_mail = word == "data" and answer.startswith("354")
            line = file.readline()
            while in_mail and line and line != b".\r\n":
                line = file.readline()
            if not line:
                return
            word = "end" if in_mail else line.split()[0].decode().lower()
    except OSError:
        return
