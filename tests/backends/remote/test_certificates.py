"""Clients of a process share the certificates that they check services against, until the settings change."""

from __future__ import annotations

import os
import ssl
from pathlib import Path

import pytest

from backends.cluster.certificates import certified
from sourcelight.backends.remote.endpoint import certificate_context


def test_certificates_are_read_once_and_again_after_a_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    context = certificate_context()
    assert certificate_context() is context
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)
    first_file, other = (Path(certified(tmp_path / name)["ca"]) for name in ("one", "other"))
    monkeypatch.setenv("SSL_CERT_FILE", str(first_file))
    first = certificate_context().get_ca_certs(binary_form=True)
    assert len(first) == 1
    first_file.write_bytes(other.read_bytes())
    os.utime(first_file, (1, 1))
    assert certificate_context().get_ca_certs(binary_form=True) != first
    monkeypatch.delenv("SSL_CERT_FILE")
    assert certificate_context() is context


def test_a_broken_file_of_certificates_is_an_error_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "broken.pem"
    file.write_text("nothing")
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    for _ in range(2):
        with pytest.raises(ssl.SSLError):
            certificate_context()
