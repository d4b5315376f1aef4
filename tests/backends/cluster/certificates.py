"""Certificates for this machine, made for a test."""

from __future__ import annotations

import datetime as dt
import ipaddress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_YESTERDAY = dt.datetime.now(dt.UTC) - dt.timedelta(days=1)


def certified(folder: Path) -> dict[str, str]:
    """An authority and one certificate of it, for this machine, as ``--tls`` takes them."""
    folder.mkdir()
    keys = {name: ec.generate_private_key(ec.SECP256R1()) for name in ("ca", "cert")}
    names = {name: x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]) for name in keys}
    for name, key in keys.items():
        result = (
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
        (folder / f"{name}.pem").write_bytes(result.public_bytes(serialization.Encoding.PEM))
    encryption = serialization.NoEncryption()
    (folder / "key.pem").write_bytes(
        keys["cert"].private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption)
    )
    return {name: str(folder / f"{name}.pem") for name in ("ca", "cert", "key")}
