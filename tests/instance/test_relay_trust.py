"""Who we are to a NATS server, and whom we trust: credentials, nkeys and certificates, against the real server."""

from __future__ import annotations

import base64
import hashlib
import ipaddress
import json
import secrets
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.instance.conftest import NewServer
from tests.instance.test_relay import NewInstance, empty_store, new_instance, told_by

from knickpoint.instance.relay import relay
from knickpoint.model.errors import ConfigError

__all__ = ["empty_store", "new_instance"]

pytestmark = pytest.mark.nats
_DAY = timedelta(days=1)


def certificate(place: Path) -> tuple[Path, Path]:
    """Make a certificate for loopback that signs itself, and its key."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "nats of a test")])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(datetime.now(UTC) - _DAY)
        .not_valid_after(datetime.now(UTC) + _DAY)
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    cert, private = place / "cert.pem", place / "key.pem"
    cert.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    plain = serialization.NoEncryption()
    private.write_bytes(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain))
    return cert, private


def key_pair(kind: str) -> tuple[Any, bytes, str]:
    """Make an nkey of an operator, account or user; return it with its seed and its public name."""
    nkeys = pytest.importorskip("nkeys")
    seed = bytes(nkeys.encode_seed(secrets.token_bytes(32), getattr(nkeys, f"PREFIX_BYTE_{kind}")))
    pair = nkeys.from_seed(bytearray(seed))
    return pair, seed, bytes(pair.public_key).decode()


def encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def token(signer: Any, issuer: str, subject: str, facts: dict[str, object]) -> str:
    """Sign claims as NATS has them."""
    claims = {"iat": 1_700_000_000, "iss": issuer, "name": "test", "sub": subject, "nats": {**facts, "version": 2}}
    claims["jti"] = base64.b32encode(hashlib.sha256(json.dumps(claims).encode()).digest()).decode().rstrip("=")
    head = encoded(json.dumps({"typ": "JWT", "alg": "ed25519-nkey"}).encode())
    signed = f"{head}.{encoded(json.dumps(claims).encode())}"
    return f"{signed}.{encoded(signer.sign(signed.encode()))}"


def credentials(place: Path) -> tuple[Path, Path]:
    """Make an operator, an account and a user; return the server's configuration and the user's credentials."""
    operator, _, operator_name = key_pair("OPERATOR")
    account, _, account_name = key_pair("ACCOUNT")
    _, user_seed, user_name = key_pair("USER")
    none = -1
    limits = dict.fromkeys(("subs", "data", "payload", "imports", "exports", "conn", "leaf"), none)
    limits |= dict.fromkeys(("mem_storage", "disk_storage", "streams", "consumer"), none)
    account_token = token(operator, operator_name, account_name, {"type": "account", "limits": limits})
    _, _, system_name = key_pair("ACCOUNT")
    system_token = token(operator, operator_name, system_name, {"type": "account"})
    operator_token = token(operator, operator_name, operator_name, {"type": "operator", "system_account": system_name})
    user_token = token(account, account_name, user_name, {"type": "user", "subs": none, "data": none, "payload": none})
    config = place / "operator.conf"
    config.write_text(
        f"operator: {operator_token}\nsystem_account: {system_name}\nresolver: MEMORY\n"
        f"resolver_preload: {{ {account_name}: {account_token}, {system_name}: {system_token} }}\n"
    )
    creds = place / "user.creds"
    creds.write_text(
        f"-----BEGIN NATS USER JWT-----\n{user_token}\n------END NATS USER JWT------\n\n"
        f"-----BEGIN USER NKEY SEED-----\n{user_seed.decode()}\n------END USER NKEY SEED------\n"
    )
    return config, creds


def test_a_file_of_credentials_opens_a_server_of_accounts(
    new_nats_server: NewServer, new_instance: NewInstance, tmp_path: Path
) -> None:
    config, creds = credentials(tmp_path)
    server = new_nats_server("-c", str(config))
    server.start()
    assert told_by(new_instance(server.url, f'credentials = "{creds}"')) == []


def test_credentials_of_somebody_else_are_refused(
    new_nats_server: NewServer, new_instance: NewInstance, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    config, _ = credentials(tmp_path)
    _, foreign = credentials(tmp_path / "other")
    server = new_nats_server("-c", str(config))
    server.start()
    locked_out = new_instance(server.url, f'credentials = "{foreign}"')
    tries = [told_by(locked_out) for _ in range(10)]  # a connection that is closed at once may hide the reason
    assert all(tries)
    assert any("rejected the login" in line for lines in tries for line in lines)


def test_the_seed_of_an_nkey_opens_a_server_that_knows_it(
    new_nats_server: NewServer, new_instance: NewInstance, tmp_path: Path
) -> None:
    _, seed, name = key_pair("USER")
    (tmp_path / "user.nk").write_bytes(seed)
    (tmp_path / "nkey.conf").write_text(f"authorization: {{ users: [ {{ nkey: {name} }} ] }}\n")
    server = new_nats_server("-c", str(tmp_path / "nkey.conf"))
    server.start()
    assert told_by(new_instance(server.url, f'credentials = "{tmp_path}/user.nk"')) == []


def test_a_server_is_trusted_by_the_certificates_that_are_named(
    new_nats_server: NewServer, new_instance: NewInstance, tmp_path: Path
) -> None:
    cert, key = certificate(tmp_path)
    server = new_nats_server("--tls", "--tlscert", str(cert), "--tlskey", str(key))
    server.start()
    url = f"tls://127.0.0.1:{server.port}"
    assert told_by(new_instance(url, f'authorities = "{cert}"')) == []


def test_a_server_with_a_certificate_of_nobody_is_not_trusted(
    new_nats_server: NewServer, new_instance: NewInstance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relay, "_CLOSE_SECONDS", 0.2)  # such a connection never reports that it is closed
    cert, key = certificate(tmp_path)
    server = new_nats_server("--tls", "--tlscert", str(cert), "--tlskey", str(key))
    server.start()
    (line,) = told_by(new_instance(f"tls://127.0.0.1:{server.port}"))
    assert "NATS cannot be trusted" in line
    assert "authorities" in line


def test_certificates_that_are_not_there_are_told_at_the_start(new_instance: NewInstance) -> None:
    from knickpoint.instance.relay import uses_nats

    instance = new_instance("tls://127.0.0.1:1", 'authorities = "nowhere.pem"')
    with pytest.raises(ConfigError, match="no such file of certificates"):
        uses_nats(instance.config, instance.directory)
