"""The TLS context of a server, from a web configuration."""

from __future__ import annotations

import contextlib
import ipaddress
import logging
import ssl
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from streamgauge.serving.logs import event
from streamgauge.serving.settings.errors import Place
from streamgauge.serving.web.settings import TlsSettings
from streamgauge.serving.web.tls_names import SUITES, TLS13_SUITES, ClientAuth, TlsVersion

_log = logging.getLogger(__name__)
_VERIFY = {
    ClientAuth.NONE: ssl.CERT_NONE,
    ClientAuth.VERIFY_IF_GIVEN: ssl.CERT_OPTIONAL,
    ClientAuth.REQUIRE_AND_VERIFY: ssl.CERT_REQUIRED,
}


def server_context(tls: TlsSettings, directory: Path, place: Place) -> ssl.SSLContext:
    """Reads the certificate files, relative to `directory`. Blocks."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_alpn_protocols(["http/1.1"])
    _set_protocol(context, tls)
    _load_own_certificate(context, tls, directory, place)
    _load_client_authorities(context, tls, directory, place)
    if tls.client_allowed_sans is not None:
        context.sslobject_class = _object_for(frozenset(tls.client_allowed_sans))
    return context


def certificate_files(tls: TlsSettings, directory: Path) -> tuple[Path, ...]:
    named = (tls.cert_file, tls.key_file, tls.client_ca_file)
    return tuple(directory / path for path in named if path is not None)


def alternative_names(certificate: Mapping[str, Any]) -> frozenset[str]:
    """DNS names, normalised IP addresses, e-mail addresses and URIs."""
    return frozenset(
        str(ipaddress.ip_address(value)) if kind == "IP Address" else value
        for kind, value in certificate.get("subjectAltName", ())
    )


def _set_protocol(context: ssl.SSLContext, tls: TlsSettings) -> None:
    with warnings.catch_warnings():
        # Old versions are the user's explicit choice: no warning at each start.
        warnings.simplefilter("ignore", DeprecationWarning)
        context.minimum_version = tls.min_version.for_openssl
        context.maximum_version = tls.max_version.for_openssl
    old = tls.min_version < TlsVersion.TLS12
    suites = [SUITES[name] for name in tls.cipher_suites if name not in TLS13_SUITES]
    if old:
        # OpenSSL 3 supports TLS 1.0 and 1.1 only at security level 0, with suites that end in SHA.
        suites = [*(suites or SUITES.values()), "@SECLEVEL=0"]
    if suites:
        context.set_ciphers(":".join(suites))
    if not tls.prefer_server_cipher_suites:
        context.options &= ~ssl.OP_CIPHER_SERVER_PREFERENCE
    for curve in tls.curve_preferences:
        context.set_ecdh_curve(curve.for_openssl)


def _load_own_certificate(
    context: ssl.SSLContext, tls: TlsSettings, directory: Path, place: Place
) -> None:
    key_text = tls.key.reveal() if tls.key else None
    at_key = place.child("key_file" if tls.key_file else "key")

    def no_passphrase() -> str:
        # Otherwise OpenSSL prompts at the terminal, and a service hangs.
        raise at_key.error("is encrypted (store it without a passphrase)")

    try:
        with (
            _pem(tls.cert, "cert", tls.cert_file, directory, place, "CERTIFICATE") as cert,
            _pem(key_text, "key", tls.key_file, directory, place, "PRIVATE KEY") as key,
        ):
            context.load_cert_chain(cert, key, no_passphrase)
    except OSError as error:  # also ssl.SSLError, or a file that was just deleted
        if _reason(error) == "KEY_VALUES_MISMATCH":
            raise at_key.error("does not belong to the certificate") from error
        raise place.error(f"certificate or key: {_reason(error)}") from error


def _load_client_authorities(
    context: ssl.SSLContext, tls: TlsSettings, directory: Path, place: Place
) -> None:
    context.verify_mode = _VERIFY[tls.client_auth_type]
    if tls.client_auth_type is ClientAuth.NONE:
        return
    at = place.child("client_ca_file" if tls.client_ca_file else "client_ca")
    text = tls.client_ca or ""
    if tls.client_ca_file:
        text = _read(directory / tls.client_ca_file, at)
    _check_marker(text, "CERTIFICATE", at)
    try:
        # Comments in bundles may have any encoding; the PEM blocks are ASCII.
        context.load_verify_locations(cadata=text.encode("ascii", "replace").decode())
    except OSError as error:
        raise at.error(f"is not a certificate: {_reason(error)}") from error


@contextlib.contextmanager
def _pem(
    inline: str | None, key: str, file: Path | None, directory: Path, place: Place, marker: str
) -> Iterator[Path]:
    """A path for OpenSSL, which reads no certificate from memory."""
    if file is not None:
        at = place.child(f"{key}_file")
        _check_marker(_read(directory / file, at), marker, at)
        yield directory / file
        return
    _check_marker(inline or "", marker, place.child(key))
    with tempfile.NamedTemporaryFile("w", suffix=".pem", encoding="utf-8") as copy:
        copy.write(inline or "")
        copy.flush()
        yield Path(copy.name)


def _read(path: Path, place: Place) -> str:
    try:
        return path.read_bytes().decode("ascii", "replace")
    except OSError as error:
        raise place.error(f"{path} cannot be read: {error.strerror}") from error


def _reason(error: OSError) -> str:
    reason = error.reason if isinstance(error, ssl.SSLError) else error.strerror
    return reason or str(error)


def _check_marker(text: str, marker: str, place: Place) -> None:
    if f"{marker}-----" not in text:
        raise place.error(f"holds no PEM block of a {marker.lower()}")


def _object_for(allowed: frozenset[str]) -> type[ssl.SSLObject]:
    class NameCheckingObject(ssl.SSLObject):
        """Rejects the handshake of a client whose names are not allowed."""

        def do_handshake(self) -> None:
            super().do_handshake()
            names = alternative_names(self.getpeercert() or {})
            if names.isdisjoint(allowed):
                listed = ", ".join(sorted(names)) or "none"
                event(_log, logging.WARNING, "client certificate rejected", names=listed)
                raise ssl.SSLCertVerificationError(f"alternative names not allowed: {listed}")

    return NameCheckingObject
