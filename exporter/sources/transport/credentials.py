"""Credentials of a NATS connection: user, token, nkey or creds file, and TLS."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit, urlunsplit

import nkeys  # type: ignore[import-untyped]
from nats.aio.client import RawCredentials

from streamgauge.serving.settings.loader import SettingsError, read_secret

_TLS_SCHEMES = frozenset({"tls", "wss"})


@dataclass(frozen=True, slots=True)
class TlsAccess:
    ca: Path | None = None
    cert: Path | None = None
    key: Path | None = None
    first: bool = False  # TLS before the server's INFO line
    server_name: str = ""

    def context(self) -> ssl.SSLContext:
        try:
            context = ssl.create_default_context(cafile=str(self.ca) if self.ca else None)
        except (OSError, ssl.SSLError) as error:
            raise SettingsError(str(self.ca), "tls.ca", str(error)) from error
        if self.cert is not None:
            try:
                context.load_cert_chain(self.cert, self.key)
            except (OSError, ssl.SSLError) as error:
                raise SettingsError(str(self.cert), "tls.cert", str(error)) from error
        return context


@dataclass(frozen=True, slots=True)
class NatsAccess:
    addresses: tuple[str, ...] = field(repr=False)  # may contain a password
    user: str = ""
    password: str = field(default="", repr=False)
    password_file: Path | None = None
    token: str = field(default="", repr=False)
    token_file: Path | None = None
    nkey_seed_file: Path | None = None
    creds_file: Path | None = None
    tls: TlsAccess | None = None
    inbox_prefix: str = ""
    tls_inherited: bool = False  # the addresses belong to a system that requires TLS

    @property
    def requires_tls(self) -> bool:
        """For all addresses and discovered servers: all of them get the same credentials."""
        schemes = {urlsplit(address).scheme for address in self.addresses}
        return self.tls is not None or self.tls_inherited or not schemes.isdisjoint(_TLS_SCHEMES)

    def connect_options(self) -> dict[str, Any]:
        """Keyword arguments for nats.connect; reads files, so it runs in a thread."""
        options: dict[str, Any] = {}
        user = self.user
        if user:
            options["user"] = user
            options["password"] = (
                read_secret(self.password_file) if self.password_file else self.password
            )
        else:
            options.update(self._from_address())
        token = read_secret(self.token_file) if self.token_file else self.token
        if token:
            options["token"] = token
        if self.nkey_seed_file is not None:
            options["nkeys_seed_str"] = _read_seed(self.nkey_seed_file)
        if self.creds_file is not None:
            options["user_credentials"] = RawCredentials(read_secret(self.creds_file))
        if self.tls is not None:
            options["tls"] = self.tls.context()
            options["tls_handshake_first"] = self.tls.first
            if self.tls.server_name:
                options["tls_hostname"] = self.tls.server_name
        if self.inbox_prefix:
            options["inbox_prefix"] = self.inbox_prefix
        return options

    def _from_address(self) -> dict[str, str]:
        """Credentials in an address apply to all servers: discovered ones have none in theirs."""
        for address in self.addresses:
            parts = urlsplit(address)
            if parts.username and parts.password is None:
                return {"token": unquote(parts.username)}
            if parts.username:
                return {"user": unquote(parts.username), "password": unquote(parts.password or "")}
        return {}


def _read_seed(path: Path) -> str:
    seed = read_secret(path)
    try:
        nkeys.from_seed(seed.encode())
    except (nkeys.NkeysError, ValueError) as error:
        raise SettingsError(str(path), "", "is not an nkey seed") from error
    return seed


def without_secrets(address: str) -> str:
    """An address for logs and the status page."""
    parts = urlsplit(address)
    if "@" not in parts.netloc:
        return address
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
