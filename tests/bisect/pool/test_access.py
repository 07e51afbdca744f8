"""Who may join a pool: addresses, certificates, secrets."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from knickpoint.bisect.pool import pool_access
from knickpoint.bisect.pool.access import make_certificate_files
from knickpoint.bisect.settings import PoolSettings
from knickpoint.model.errors import ConfigError, InputError, ServiceError

_SECRET = "5ec2e7" * 8
_SETTINGS = PoolSettings(address="tls://pool.example.org:9999", secret=_SECRET)


@pytest.mark.parametrize(
    "address", ["tcp://pool:8786", "http://pool", "tls://", "tls://pool:x", "tls://a/b", "tls://u@h"]
)
def test_an_address_that_is_not_encrypted_or_none_is_refused(address: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is not an address of a pool"):
        pool_access(replace(_SETTINGS, address=address), tmp_path)


def test_a_pool_without_credentials_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no credentials"):
        pool_access(replace(_SETTINGS, secret=""), tmp_path)


def test_a_secret_that_can_be_guessed_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="5 characters"):
        pool_access(replace(_SETTINGS, secret="short"), tmp_path)


def test_a_secret_gives_each_program_a_certificate_of_one_authority(tmp_path: Path) -> None:
    from cryptography import x509

    one, other = (pool_access(_SETTINGS, tmp_path) for _ in range(2))
    stranger = pool_access(replace(_SETTINGS, secret="0" * 40), tmp_path)
    assert one.credentials.private_key != other.credentials.private_key
    assert _SECRET not in repr(one)
    assert "PRIVATE KEY" not in repr(one)
    certificate = x509.load_pem_x509_certificate(one.credentials.certificate.encode())
    certificate.verify_directly_issued_by(x509.load_pem_x509_certificate(other.credentials.authority.encode()))
    from cryptography.exceptions import InvalidSignature

    with pytest.raises(InvalidSignature):
        certificate.verify_directly_issued_by(x509.load_pem_x509_certificate(stranger.credentials.authority.encode()))


def test_certificates_are_made_once_and_only_their_owner_reads_the_keys(tmp_path: Path) -> None:
    made = make_certificate_files(tmp_path, ("a",))
    again = make_certificate_files(tmp_path, ("b",))
    assert [path.name for path in made + again] == [
        "authority.pem",
        "authority-key.pem",
        "a.pem",
        "a-key.pem",
        "b.pem",
        "b-key.pem",
    ]
    assert {path.stat().st_mode & 0o077 for path in made} == {0}
    with pytest.raises(InputError, match="already exists"):
        make_certificate_files(tmp_path, ("b",))
    with pytest.raises(InputError, match="not a name for a certificate"):
        make_certificate_files(tmp_path, ("../c",))


def test_files_that_do_not_belong_together_are_refused(tmp_path: Path) -> None:
    make_certificate_files(tmp_path, ("a", "b"))
    settings = replace(_SETTINGS, secret="", certificate="a.pem", private_key="b-key.pem", authorities="authority.pem")
    with pytest.raises(ConfigError, match="certificates cannot be used"):
        pool_access(settings, tmp_path).security()
    with pytest.raises(ConfigError, match="authorities is missing"):
        pool_access(replace(settings, authorities=""), tmp_path)
    with pytest.raises(ConfigError, match="cannot be read"):
        pool_access(replace(settings, certificate="absent.pem"), tmp_path)


def test_without_dask_the_room_works_and_a_pool_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = "import sys, knickpoint.bisect.pool; assert not {'distributed', 'dask', 'cryptography'} & {*sys.modules}"
    subprocess.run([sys.executable, "-c", program], check=True)
    access = pool_access(_SETTINGS, tmp_path)
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ServiceError, match=r'pip install "knickpoint\[cluster\]"'):
        access.configure(30.0)
