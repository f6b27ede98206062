"""The keys of a web configuration file, as in exporter-toolkit.

A key that cannot be implemented exactly is rejected, never implemented less safely.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from streamgauge.serving.settings.declaration import setting
from streamgauge.serving.settings.errors import InvalidSettingError
from streamgauge.serving.settings.secret import Secret
from streamgauge.serving.settings.value_format import ValueFormat
from streamgauge.serving.web.tls_names import (
    TLS13_SUITES,
    CipherSuite,
    ClientAuth,
    Curve,
    TlsVersion,
)

_UNVERIFIED = {ClientAuth.REQUEST, ClientAuth.REQUIRE_ANY}
_BCRYPT = re.compile(
    r"\$2[aby]\$(0[4-9]|[12][0-9]|3[01])\$[./A-Za-z0-9]{21}[.Oeu][./A-Za-z0-9]{31}"
)


def _read_bcrypt_hash(written: object) -> Secret:
    if not isinstance(written, str) or not _BCRYPT.fullmatch(written):
        raise ValueError("not a bcrypt hash")
    return Secret(written)


def _read_header(written: object) -> str:
    if not isinstance(written, str) or not written.strip().isprintable():
        raise ValueError("not a header")
    return written.strip()


PasswordHash = Annotated[
    Secret, ValueFormat("bcrypt hash", "make one with: htpasswd -nB NAME", _read_bcrypt_hash)
]
Header = Annotated[str, ValueFormat("header value", "write it on one line", _read_header)]


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsSettings:
    cert_file: Path | None = setting(None, "Certificate chain of the server (PEM).")
    key_file: Path | None = setting(None, "Private key of the server (PEM).")
    cert: str | None = setting(None, "The certificate chain itself, instead of `cert_file`.")
    key: Secret | None = setting(None, "The key itself, instead of `key_file`.", secret=True)
    client_auth_type: ClientAuth = setting(
        ClientAuth.NONE,
        "Whether clients need a certificate. The two values that accept unverified ones are rejected.",
    )
    client_ca_file: Path | None = setting(None, "CA certificates for client certificates.")
    client_ca: str | None = setting(
        None, "The CA certificates themselves, instead of `client_ca_file`."
    )
    client_allowed_sans: tuple[str, ...] | None = setting(
        None, "Only clients whose certificate carries one of these alternative names."
    )
    min_version: TlsVersion = setting(TlsVersion.TLS12, "Lowest TLS version.")
    max_version: TlsVersion = setting(TlsVersion.TLS13, "Highest TLS version.")
    cipher_suites: tuple[CipherSuite, ...] = setting(
        (), "Cipher suites up to TLS 1.2, by their Go names. TLS 1.3 always offers its three."
    )
    prefer_server_cipher_suites: bool = setting(True, "Use the server's order of cipher suites.")
    curve_preferences: tuple[Curve, ...] = setting((), "The curve for the key exchange; only one.")

    def __post_init__(self) -> None:
        for key, reason in _tls_faults(self):
            raise InvalidSettingError(reason, key)


@dataclass(frozen=True, slots=True, kw_only=True)
class HeaderSettings:
    content_security_policy: Header = setting(
        "", "Sent with every response unless empty.", key="Content-Security-Policy"
    )
    strict_transport_security: Header = setting(
        "", "Sent with every response unless empty.", key="Strict-Transport-Security"
    )
    x_content_type_options: Literal["nosniff"] | None = setting(
        None, "Sent with every response if set.", key="X-Content-Type-Options"
    )
    x_frame_options: Literal["deny", "sameorigin"] | None = setting(
        None, "Sent with every response if set.", key="X-Frame-Options"
    )
    x_xss_protection: Header = setting(
        "", "Sent with every response unless empty.", key="X-XSS-Protection"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpSettings:
    http2: bool = setting(True, "Accepted for compatibility. This server supports HTTP/1.1 only.")
    headers: HeaderSettings = setting(HeaderSettings(), "Headers of every response.")


@dataclass(frozen=True, slots=True, kw_only=True)
class WebSettings:
    tls_server_config: TlsSettings | None = setting(None, "Serve HTTPS.")
    http_server_config: HttpSettings = setting(HttpSettings(), "HTTP options.")
    basic_auth_users: Mapping[str, PasswordHash] = setting(
        {}, "Users by name, each with the bcrypt hash of the password.", secret=True
    )

    def __post_init__(self) -> None:
        for user in self.basic_auth_users:
            if ":" in user:
                raise InvalidSettingError(
                    f'the user "{user}" cannot log in: a name must not hold a colon',
                    "basic_auth_users",
                )


def _tls_faults(tls: TlsSettings) -> Iterator[tuple[str, str]]:
    for key, inline, needed in (
        ("cert_file", tls.cert is not None, True),
        ("key_file", tls.key is not None, True),
        ("client_ca_file", tls.client_ca is not None, False),
    ):
        in_file = getattr(tls, key) is not None
        other = key.removesuffix("_file")
        if in_file and inline:
            yield key, f"is given beside {other} (give only one of the two)"
        if needed and not in_file and not inline:
            yield key, f"is missing (TLS needs {key} or {other})"
    yield from _client_faults(tls)
    yield from _protocol_faults(tls)


def _client_faults(tls: TlsSettings) -> Iterator[tuple[str, str]]:
    auth = tls.client_auth_type
    has_ca = tls.client_ca_file is not None or tls.client_ca is not None
    if auth in _UNVERIFIED:
        yield (
            "client_auth_type",
            f"{auth} would accept certificates without verification, which is not"
            f" supported (use {ClientAuth.REQUIRE_AND_VERIFY})",
        )
    if auth is ClientAuth.NONE and has_ca:
        yield (
            "client_auth_type",
            f"must not be {auth} beside a client_ca (use {ClientAuth.REQUIRE_AND_VERIFY})",
        )
    if auth is not ClientAuth.NONE and not has_ca:
        yield "client_ca_file", f"is missing ({auth} needs client_ca_file or client_ca)"
    if tls.client_allowed_sans is None:
        return
    if not tls.client_allowed_sans:
        yield "client_allowed_sans", "is empty, so no client could connect (omit the key)"
    if auth is not ClientAuth.REQUIRE_AND_VERIFY:
        needed = f"{ClientAuth.REQUIRE_AND_VERIFY}"
        yield "client_allowed_sans", f"works only with client_auth_type {needed}"


def _protocol_faults(tls: TlsSettings) -> Iterator[tuple[str, str]]:
    if tls.min_version > tls.max_version:  # their names sort by age
        yield "min_version", f"{tls.min_version} is newer than max_version {tls.max_version}"
    only_newest = tls.min_version is TlsVersion.TLS13
    if tls.cipher_suites and TLS13_SUITES.issuperset(tls.cipher_suites) and not only_newest:
        yield "cipher_suites", "leaves none for TLS 1.2 (add one, or set min_version: TLS13)"
    if len(tls.curve_preferences) > 1:
        yield "curve_preferences", "holds several curves, and only one can be set here"
