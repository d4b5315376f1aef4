"""A cluster behind TLS: it answers whoever shows a certificate of its authority, and nobody else."""

from __future__ import annotations

import datetime as dt
import ipaddress
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

import sourcelight as sl
from cluster.processes import Cell, wait_until
from cluster.questions import QUERY, Line

pytestmark = pytest.mark.timeout(240)
_YESTERDAY = dt.datetime.now(dt.UTC) - dt.timedelta(days=1)


def certified(folder: Path) -> dict[str, str]:
    """An authority and one certificate of it, for this machine, as ``--tls`` wants them."""
    folder.mkdir()
    keys = {name: ec.generate_private_key(ec.SECP256R1()) for name in ("ca", "cert")}
    names = {name: x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]) for name in keys}
    for name, key in keys.items():
        made = (
            x509.CertificateBuilder()
            .subject_name(names[name])
            .issuer_name(names["ca"])
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(_YESTERDAY)
            .not_valid_after(_YESTERDAY + dt.timedelta(days=30))
            .add_extension(x509.BasicConstraints(ca=name == "ca", path_length=None), critical=True)
            .add_extension(
                x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False
            )
            .sign(keys["ca"], hashes.SHA256())
        )
        (folder / f"{name}.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    plain = serialization.NoEncryption()
    (folder / "key.pem").write_bytes(
        keys["cert"].private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    )
    return {name: str(folder / f"{name}.pem") for name in ("ca", "cert", "key")}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The files of the cluster."""
    return certified(tmp_path_factory.mktemp("tls") / "own")


@pytest.fixture(scope="module")
def cell(shards: str, files: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cell]:
    """A scheduler and one worker behind TLS."""
    cell = Cell(shards, tmp_path_factory.mktemp("caches"), ("w1",), tls=files)
    try:
        yield cell
    finally:
        cell.close()


def test_a_cluster_behind_tls_answers_whoever_shows_a_certificate(
    cell: Cell, files: dict[str, str], shards: str, whole: list[Line]
) -> None:
    assert cell.address.startswith("tls://")
    with sl.open_cluster(cell.address, shards, tls=files) as client:
        wait_until(lambda: set(client.cluster.workers) == {"w1"}, "the worker joins")
        assert all(address.startswith("tls://127.0.0.1:") for address in client.cluster.workers.values())
        result = client.search(QUERY)
        assert (result.status, len(result.matches)) == ("complete", len(whole))


def test_nobody_is_answered_without_a_certificate_of_its_authority(
    cell: Cell, files: dict[str, str], shards: str, tmp_path: Path
) -> None:
    others = certified(tmp_path / "other")
    for tls in (others, {**others, "ca": files["ca"]}):
        with sl.open_cluster(cell.address, shards, tls=tls) as client:
            assert not client.cluster.workers
            result = client.search(QUERY)
            assert (result.status, len(result.matches)) == ("limited", 0)
    with pytest.raises(sl.ConfigurationError, match="key is not given"):
        sl.open_cluster(cell.address, shards, tls={name: files[name] for name in ("ca", "cert")})
    with pytest.raises(sl.ConfigurationError, match="certificates"):
        sl.open_cluster(cell.address, shards)
