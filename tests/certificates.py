"""Certificates for servers of the tests."""

from __future__ import annotations

import ipaddress
from datetime import UTC, datetime, timedelta
from pathlib import Path

__all__ = ["make_certificate"]

_DAY = timedelta(days=1)


def make_certificate(directory: Path, hosts: tuple[str, str]) -> Path:
    """Make a certificate for an address and a name that signs itself; the file has its key, too."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "web server of a test")])
    names: list[x509.GeneralName] = [
        x509.IPAddress(ipaddress.ip_address(hosts[0])),
        x509.DNSName(hosts[1]),
    ]
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(datetime.now(UTC) - _DAY)
        .not_valid_after(datetime.now(UTC) + _DAY)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = directory / "certificate.pem"
    plain = serialization.NoEncryption()
    path.write_bytes(
        made.public_bytes(serialization.Encoding.PEM)
        + key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    )
    return path
