"""Web configuration files and the certificates that they name, as a test writes them."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import bcrypt
from support.certificates import Authority, encrypted_key

HASH = bcrypt.hashpw(b"hunter2", bcrypt.gensalt(4)).decode()
PAIR = "cert_file: server.pem\nkey_file: server.key\n"
VERIFY = "client_auth_type: RequireAndVerifyClientCert\nclient_ca_file: authority.pem\n"


def with_certificates(folder: Path) -> Path:
    """Certificates beside which the configuration files are written."""
    authority = Authority.create(folder)
    server = authority.issue("server")
    authority.issue("stranger")
    encrypted_key(server)
    (folder / "garbage.pem").write_text("hello")
    broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
    (folder / "broken.pem").write_text(broken)
    return folder


def write(folder: Path, text: str) -> Path:
    path = folder / "web.yml"
    path.write_text(text)
    return path


def tls(text: str) -> str:
    return "tls_server_config:\n" + indent(text, "  ")
