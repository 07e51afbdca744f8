"""A real nginx in front of a served instance, with the configuration of the guide."""

from __future__ import annotations

import os
import re
import shutil
import socket
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

__all__ = ["GUIDE", "Certificate", "find_nginx", "free_port", "make_certificate", "nginx_of_guide", "running_nginx"]

_MOST_ATTEMPTS = 1_000
GUIDE = Path(__file__).parent.parent.parent / "docs" / "guide" / "sign-in.md"


def find_nginx() -> str:
    """Return the path of nginx; without it, the test is skipped, and in CI it fails."""
    found = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")
    if found is None:
        why = "no nginx: install it, for example with apt-get install nginx-light"
        if os.environ.get("CI", "").lower() in {"1", "true", "yes"}:
            pytest.fail(why)
        pytest.skip(why)
    return found


def free_port() -> int:
    """Return a port that is free at this moment."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


class Certificate:
    """A certificate of localhost with its key, in files, and what a client needs to trust it."""

    def __init__(self, directory: Path) -> None:
        self.certificate = directory / "localhost.pem"
        self.key = directory / "localhost.key"

    def trust(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.certificate))


def make_certificate(directory: Path) -> Certificate:
    """Make a certificate that signs itself."""
    made = Certificate(directory)
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    names = x509.SubjectAlternativeName([x509.DNSName("localhost"), x509.IPAddress(ip_address("127.0.0.1"))])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(names, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    made.certificate.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    made.key.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return made


def nginx_of_guide(number: int, *, port: int, server: str, certificate: Certificate, authentication: str = "") -> str:
    """Return a configuration of the guide as it stands there, with the ports and the files of a test."""
    blocks = re.findall(r"^```nginx\n(.*?)^```", GUIDE.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    text = str(blocks[number])
    for written, meant in (
        ("listen 443 ssl", f"listen 127.0.0.1:{port} ssl"),
        ("/etc/nginx/perf.example.org.pem", str(certificate.certificate)),
        ("/etc/nginx/perf.example.org.key", str(certificate.key)),
        ("perf.example.org", "localhost"),
        ("127.0.0.1:8765", urlsplit(server).netloc),
        *([("127.0.0.1:4180", urlsplit(authentication).netloc)] if authentication else []),
    ):
        assert written in text
        text = text.replace(written, meant)
    return text


@contextmanager
def running_nginx(directory: Path, configuration: str, port: int) -> Iterator[None]:
    """Run nginx with a server of this configuration while a ``with`` lasts."""
    parts = "".join(
        f"{part}_temp_path {directory}/{part};\n" for part in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    user = "user root;\n" if os.geteuid() == 0 else ""
    (directory / "nginx.conf").write_text(
        f"{user}daemon off;\nmaster_process off;\npid {directory}/nginx.pid;\nerror_log {directory}/error.log;\n"
        f"events {{}}\nhttp {{\naccess_log off;\n{parts}{configuration}\n}}\n"
    )
    command = [
        find_nginx(),
        "-p",
        str(directory),
        "-c",
        str(directory / "nginx.conf"),
        "-e",
        str(directory / "error.log"),
    ]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            _wait_until_listening(process, port)
            yield
        finally:
            process.terminate()
            process.wait()


def _wait_until_listening(process: subprocess.Popen[str], port: int) -> None:
    for _ in range(_MOST_ATTEMPTS):
        with socket.socket() as client:
            if client.connect_ex(("127.0.0.1", port)) == 0:
                return
        with suppress(subprocess.TimeoutExpired):
            process.wait(0.02)
            break
    process.terminate()
    assert process.stderr is not None
    pytest.fail(f"nginx does not listen: {process.stderr.read()}")
