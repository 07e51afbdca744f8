"""Mails: real servers with TLS and login take them, and what other servers do is read right."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from email.message import EmailMessage
from pathlib import Path

import pytest
from tests.certificates import make_certificate
from tests.hostile_names import HOSTILE
from tests.notify.mail_servers import MailBox, scripted_server, serving_mail

from knickpoint.model.errors import ConfigError
from knickpoint.model.notification import Attachment, Message, Recipient
from knickpoint.notify.channel import ChannelContext, DeliveryError
from knickpoint.notify.channels.mail import MailChannel, MailServer, Security, mail_channel, read_sender, read_server
from knickpoint.notify.settings import ChannelKind, ChannelSettings
from knickpoint.outgoing import OutgoingRule

_PNG = b"\x89PNG\r\n.\r\n..picture"
_MESSAGE = Message(
    key="key-1",
    thread="change-7",
    recipient=Recipient("all", "ada@example.org", "ada"),
    subject="parser: parse is 12 % slower, 9 µs → 10 µs",
    text=".begins with a dot\nJörg Weiß\n",
    html='<p>Jörg <img src="cid:change-12.png"></p>',
    attachments=(Attachment("change-12.png", "image/png", _PNG),),
    mute="https://perf.example.org/mute/1",
)
_SENDER = read_sender("Performance <perf@example.org>", "Parser performance", "here")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_certificate(tmp_path_factory.mktemp("tls"), ("127.0.0.1", "mail.example"))


@pytest.fixture
def box() -> Iterator[MailBox]:
    with serving_mail() as found:
        yield found


_OPENED: list[MailChannel] = []


@pytest.fixture(autouse=True)
def close_channels() -> Iterator[None]:
    yield
    while _OPENED:
        _OPENED.pop().close()


def _kept(channel: MailChannel) -> MailChannel:
    _OPENED.append(channel)
    return channel


def _open(server: str, directory: Path = Path(), authorities: str = "") -> MailChannel:
    settings = ChannelSettings(
        "all", ChannelKind.MAIL, server=server, sender="Performance <perf@example.org>", authorities=authorities
    )
    return _kept(mail_channel(settings, ChannelContext(directory, "", OutgoingRule(), "Parser performance")))


def _plain(port: int, *, seconds: float = 5.0) -> MailChannel:
    return _kept(MailChannel("all", MailServer("127.0.0.1", port, Security.NONE), _SENDER, seconds=seconds))


def _sent(box: MailBox, *messages: Message) -> list[EmailMessage]:
    channel = _plain(box.port)
    for message in messages:
        channel.send(message)
    channel.close()
    return box.mails


# What a mail is


def test_a_mail_has_plain_text_html_and_the_picture_that_it_shows(box: MailBox) -> None:
    (mail,) = _sent(box, _MESSAGE)
    assert mail.get_content_type() == "multipart/alternative"
    text, related = mail.iter_parts()
    assert isinstance(text, EmailMessage)
    assert text.get_content().replace("\r\n", "\n") == _MESSAGE.text
    html, picture = related.iter_parts()
    assert picture.get_content() == _PNG
    assert f"cid:{picture['Content-ID'].strip('<>')}" in html.get_content()
    assert picture.get_content_disposition() == "inline"


def test_no_line_of_a_mail_is_too_long_for_a_server(box: MailBox) -> None:
    long = "ü" * 2_000 + "\r\n.\r\n end " + "x" * 2_000
    (mail,) = _sent(box, replace(_MESSAGE, text=long, html=f"<p>{long}</p>", subject="subject " * 20))
    text = mail.get_body(("plain",))
    assert text is not None
    assert text.get_content().splitlines() == long.splitlines()
    assert max(map(len, box.raw[0].splitlines())) <= 78


def test_a_mail_without_html_is_plain_text(box: MailBox) -> None:
    (mail,) = _sent(box, replace(_MESSAGE, html="", attachments=()))
    assert mail.get_content_type() == "text/plain"


def test_the_headers_say_who_sends_to_whom_about_what(box: MailBox) -> None:
    (mail,) = _sent(box, _MESSAGE)
    assert mail["From"] == "Performance <perf@example.org>"
    assert mail["To"] == "ada@example.org"
    assert mail["Subject"] == _MESSAGE.subject
    assert mail["Auto-Submitted"] == "auto-generated"
    assert mail["List-Id"] == '"Parser performance" <all.knickpoint.example.org>'
    assert mail["List-Unsubscribe"] == "<https://perf.example.org/mute/1>"
    assert mail["Precedence"] is None
    assert box.recipients == ["ada@example.org"]


def test_another_attempt_has_the_same_message_id_and_another_message_has_not(box: MailBox) -> None:
    first, again, other = _sent(box, _MESSAGE, _MESSAGE, replace(_MESSAGE, key="key-2"))
    assert first["Message-ID"] == again["Message-ID"]
    assert first["Message-ID"] != other["Message-ID"]


def test_messages_of_a_thread_refer_to_the_same_mail(box: MailBox) -> None:
    first, second, other = _sent(
        box, _MESSAGE, replace(_MESSAGE, key="key-2"), replace(_MESSAGE, key="key-3", thread="change-8")
    )
    assert first["References"] == second["References"] == second["In-Reply-To"]
    assert other["References"] != first["References"]


def test_the_reference_of_what_was_sent_is_the_message_id(box: MailBox) -> None:
    reference = _plain(box.port).send(_MESSAGE).reference
    assert reference == box.mails[0]["Message-ID"]


def test_threads_of_two_instances_with_one_sender_differ(box: MailBox) -> None:
    other = replace(_SENDER, instance="Other")
    _kept(MailChannel("all", MailServer("127.0.0.1", box.port, Security.NONE), other)).send(_MESSAGE)
    _sent(box, _MESSAGE)
    first, second = box.mails
    assert first["References"] != second["References"]


@pytest.mark.parametrize("name", [*HOSTILE.values(), "a\r\nBcc: evil@example.org", "a\nX: y\n\nbody", "\udc80", "µ→中"])
def test_a_hostile_name_adds_no_header_and_no_recipient(name: str, box: MailBox) -> None:
    message = replace(_MESSAGE, subject=name, text=name, html=f"<p>{name}</p>", key=name, thread=name)
    channel = _plain(box.port)
    channel.name = name
    channel.sender = read_sender("perf@example.org", name, "here")
    channel.send(message)
    (mail,) = box.mails
    assert mail["Bcc"] is None
    assert mail["X"] is None
    assert box.recipients == ["ada@example.org"]
    assert set(mail.keys()) >= {"Subject", "From", "To", "Message-ID"}
    assert "\n" not in str(mail["Subject"])
    assert not mail.defects


@pytest.mark.parametrize(
    "address", ["", "ada", "ada@example.org\r\nRCPT TO:<evil@example.org>", "a b@example.org", "<ada@example.org>"]
)
def test_what_is_no_address_gets_no_mail(address: str, box: MailBox) -> None:
    with pytest.raises(DeliveryError, match="is not a mail address") as caught:
        _sent(box, replace(_MESSAGE, recipient=Recipient("all", address)))
    assert caught.value.lasting
    assert box.mails == []


# Servers that work


def test_mails_go_out_encrypted_with_login_after_starttls(certificate: Path) -> None:
    trust = ssl.create_default_context(cafile=str(certificate))
    with serving_mail(certificate, starttls=True, login=True) as box:
        server = MailServer("127.0.0.1", box.port, Security.STARTTLS, "ada", "s:cr/t")
        with closing(MailChannel("all", server, _SENDER, trust)) as channel:
            channel.send(_MESSAGE)
    assert len(box.mails) == 1
    assert box.tls == [True]


def test_mails_go_out_encrypted_from_the_start(certificate: Path) -> None:
    with serving_mail(certificate, login=True) as box:
        address = f"smtps://ada:s%3Acr%2Ft@127.0.0.1:{box.port}"
        with closing(_open(address, certificate.parent, certificate.name)) as channel:
            channel.send(_MESSAGE)
    assert len(box.mails) == 1


def test_many_mails_share_a_connection(box: MailBox) -> None:
    _sent(box, *(replace(_MESSAGE, key=f"key-{number}") for number in range(20)))
    assert len(box.mails) == 20
    assert box.connections == 1


def test_a_refused_recipient_does_not_stop_others(box: MailBox) -> None:
    box.refused = {"gone@example.org": "550 no such user"}
    channel = _plain(box.port)
    channel.send(_MESSAGE)
    with pytest.raises(DeliveryError, match="550 no such user") as caught:
        channel.send(replace(_MESSAGE, recipient=Recipient("all", "gone@example.org")))
    channel.send(replace(_MESSAGE, key="key-3"))
    assert caught.value.lasting
    assert len(box.mails) == 2
    assert box.connections == 1


def test_a_connection_that_the_server_ended_meanwhile_is_made_anew() -> None:
    with serving_mail() as box:
        channel = _plain(box.port)
        channel.send(_MESSAGE)
        connection = channel._connection
        assert connection is not None
        assert connection.sock is not None
        connection.sock.shutdown(2)
        channel.send(replace(_MESSAGE, key="key-2"))
        assert len(box.mails) == 2
        assert box.connections == 2
        channel.close()


def test_a_connection_is_made_anew_after_a_pause(box: MailBox) -> None:
    seconds = [0.0]
    server = MailServer("127.0.0.1", box.port, Security.NONE)
    channel = _kept(MailChannel("all", server, _SENDER, clock=lambda: seconds[0]))
    channel.send(_MESSAGE)
    seconds[0] = 60.0
    channel.send(replace(_MESSAGE, key="key-2"))
    assert box.connections == 2


# Servers that do not


def _failure(port: int, *, seconds: float = 5.0) -> DeliveryError:
    with pytest.raises(DeliveryError) as caught, closing(_plain(port, seconds=seconds)) as channel:
        channel.send(_MESSAGE)
    assert f"127.0.0.1:{port}" in caught.value.where
    assert caught.value.remedy
    return caught.value


@pytest.mark.parametrize(
    ("stage", "answer", "lasting", "unclear"),
    [
        ("greeting", "421 too busy", False, False),
        ("greeting", "554 go away", False, False),
        ("greeting", None, False, False),
        ("mail", "451 later", False, False),
        ("mail", "530 log in first", False, False),
        ("mail", "550 sender refused", False, False),
        ("mail", None, False, False),
        ("rcpt", "450 greylisted", False, False),
        ("rcpt", "550 no such user", True, False),
        ("rcpt", "421 closing", False, False),
        ("data", "451 later", False, False),
        ("data", "554 refused", True, False),
        ("data", None, False, False),
        ("end", "452 disk full", False, False),
        ("end", "552 too large", True, False),
        ("end", None, False, True),
    ],
)
def test_what_a_server_answers_says_whether_another_attempt_makes_sense(
    stage: str,
    answer: str | None,
    lasting: bool,  # noqa: FBT001
    unclear: bool,  # noqa: FBT001
) -> None:
    with scripted_server(**{stage: answer}) as port:
        error = _failure(port)
    assert (error.lasting, error.unclear) == (lasting, unclear)
    assert answer is None or answer.split()[0] in error.message


@pytest.mark.parametrize(("stage", "unclear"), [("greeting", False), ("rcpt", False), ("end", True)])
def test_a_server_that_answers_nothing_is_given_up(stage: str, unclear: bool) -> None:  # noqa: FBT001
    with scripted_server(**{stage: ""}) as port:
        error = _failure(port, seconds=0.2)
    assert not error.lasting
    assert error.unclear is unclear


def test_a_server_that_is_not_there_is_tried_again_later() -> None:
    with scripted_server() as port:
        pass
    error = _failure(port)
    assert not error.lasting
    assert not error.unclear


def test_nothing_is_sent_to_a_server_without_starttls() -> None:
    with serving_mail() as box:
        channel = MailChannel("all", MailServer("127.0.0.1", box.port, Security.STARTTLS), _SENDER)
        with pytest.raises(DeliveryError, match="offers no STARTTLS"):
            channel.send(_MESSAGE)
    assert box.raw == []


@pytest.mark.parametrize("starttls", [True, False])
def test_nothing_is_sent_to_a_server_whose_certificate_is_not_trusted(certificate: Path, starttls: bool) -> None:  # noqa: FBT001
    with serving_mail(certificate, starttls=starttls) as box:
        security = Security.STARTTLS if starttls else Security.TLS
        server = MailServer("127.0.0.1", box.port, security)
        with pytest.raises(DeliveryError, match="certificate is not trusted") as caught:
            MailChannel("all", server, _SENDER, ssl.create_default_context()).send(_MESSAGE)
    assert "authorities" in caught.value.remedy
    assert not caught.value.lasting


def test_a_wrong_password_is_an_error_of_the_settings(certificate: Path) -> None:
    with serving_mail(certificate, login=True) as box:
        address = f"smtps://ada:wrong@127.0.0.1:{box.port}"
        with pytest.raises(DeliveryError, match="535") as caught:
            _open(address, certificate.parent, certificate.name).send(_MESSAGE)
    assert not caught.value.lasting
    assert "password" in caught.value.remedy
    assert "wrong" not in str(caught.value)


# Settings


@pytest.mark.parametrize(
    ("address", "server"),
    [
        ("smtp://mail.example.org", MailServer("mail.example.org", 587, Security.STARTTLS)),
        ("smtps://mail.example.org", MailServer("mail.example.org", 465, Security.TLS)),
        ("smtp+plain://mail.example.org", MailServer("mail.example.org", 25, Security.NONE)),
        ("smtp://localhost:2525", MailServer("localhost", 2525, Security.NONE)),
        ("smtp://a%40b:p%2Fw@mail.example.org:25", MailServer("mail.example.org", 25, Security.STARTTLS, "a@b", "p/w")),
    ],
)
def test_the_address_of_a_server_says_how_it_is_reached(address: str, server: MailServer) -> None:
    assert read_server(address, "here") == server


@pytest.mark.parametrize(
    "address",
    ["", "mail.example.org", "http://mail.example.org", "smtp://", "smtp://a:99999", "smtp://mail.example.org/x",
     "smtp+plain://ada:secret@mail.example.org"],
)  # fmt: skip
def test_an_address_that_cannot_be_used_is_refused(address: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_server(address, "[channels.all]")
    assert caught.value.where == "[channels.all]"
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("sender", ["", "perf", "perf@", "Perf <perf@example.org>\r\nBcc: a@b.org", "a b@example.org"])
def test_a_sender_that_is_no_address_is_refused(sender: str) -> None:
    with pytest.raises(ConfigError, match="sender"):
        read_sender(sender, "Instance", "[channels.all]")


def test_authorities_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="authorities cannot be read") as caught:
        _open("smtps://mail.example.org", tmp_path, "none.pem")
    assert "none.pem" in caught.value.where
