"""Certificates for tests, made by the openssl program in a folder of the test."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

_CONFIG = "[req]\ndistinguished_name = dn\n[dn]\n"


@dataclass(frozen=True, slots=True)
class Certificate:
    cert: Path
    key: Path


@dataclass(frozen=True, slots=True)
class Authority:
    """Signs certificates; `cert` is what the other side must trust."""

    folder: Path
    cert: Path
    key: Path

    @classmethod
    def create(cls, folder: Path, name: str = "authority") -> Authority:
        folder.mkdir(parents=True, exist_ok=True)
        # Python 3.13 and later refuse an authority without key usage.
        usage = "keyUsage=critical,keyCertSign,cRLSign"
        made = _request(folder, name, ("basicConstraints=critical,CA:TRUE", usage))
        return cls(folder, made.cert, made.key)

    def issue(self, name: str, san: str = "IP:127.0.0.1,DNS:localhost") -> Certificate:
        """A certificate whose common name is `name`, good for servers and for clients."""
        extensions = ("basicConstraints=critical,CA:FALSE", f"subjectAltName={san}")
        signer = ("-CA", str(self.cert), "-CAkey", str(self.key))
        return _request(self.folder, name, extensions, signer)


def encrypted_key(certificate: Certificate) -> Path:
    """The same key behind a passphrase."""
    path = certificate.key.with_suffix(".encrypted")
    _openssl("pkey", "-in", certificate.key, "-aes256", "-passout", "pass:x", "-out", path)
    return path


def _request(
    folder: Path, name: str, extensions: tuple[str, ...], signer: tuple[str, ...] = ()
) -> Certificate:
    config = folder / "openssl.cnf"
    config.write_text(_CONFIG)
    made = Certificate(folder / f"{name}.pem", folder / f"{name}.key")
    added = [part for extension in extensions for part in ("-addext", extension)]
    curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    files = ("-keyout", made.key, "-out", made.cert)
    subject = ("-subj", f"/CN={name}", "-days", "2")
    _openssl("req", "-x509", "-config", config, *curve, *files, *subject, *signer, *added)
    return made


def _openssl(*arguments: str | Path) -> None:
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)
