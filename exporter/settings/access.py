"""Credentials and TLS settings of a NATS connection."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from exporter.sources.transport.credentials import NatsAccess, TlsAccess
from streamgauge.serving.settings.loader import InvalidSettingError, Secret, setting

_METHODS = ("user", "token", "token_file", "nkey_seed_file", "creds_file")


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsSettings:
    ca: Path | None = setting(
        None,
        "File with the CA certificates that may sign the server's certificate. Default: the CAs of the operating system.",
    )
    cert: Path | None = setting(
        None, "File with the client certificate, for servers that require one."
    )
    key: Path | None = setting(None, "File with the key of the client certificate.")
    first: bool = setting(
        False, "Begin TLS before the server sends INFO (`handshake_first` on the server)."
    )
    server_name: str = setting(
        "",
        "Name to expect in the server's certificate, when it differs from the host of the address.",
    )

    def __post_init__(self) -> None:
        if self.key is not None and self.cert is None:
            raise InvalidSettingError("has no effect without cert", "key")

    def access(self) -> TlsAccess:
        return TlsAccess(self.ca, self.cert, self.key, self.first, self.server_name)


# Without slots: a settings class may have another base beside this one.
@dataclass(frozen=True, kw_only=True)
class CredentialSettings:
    """The keys with which a system, or the account of its events, logs in."""

    user: str = setting("", "User name, for NATS or for basic auth of the monitoring port.")
    password: Secret | None = setting(
        None, "Password of the user. Better: password_file.", secret=True
    )
    password_file: Path | None = setting(None, "File that holds the password.")
    token: Secret | None = setting(
        None, "Token, for servers that take one. Better: token_file.", secret=True
    )
    token_file: Path | None = setting(None, "File that holds the token.")
    nkey_seed_file: Path | None = setting(None, "File that holds the seed of an nkey.")
    creds_file: Path | None = setting(None, "Credentials file (JWT and seed), as `nsc` writes it.")
    tls: TlsSettings | None = setting(
        None,
        "TLS to NATS or to the monitoring ports; needed for anything that `tls://` or `https://` alone does not configure. With this section, even an empty one (`{}`), connections without TLS are refused.",
    )

    def methods(self) -> list[str]:
        """The keys of the configured login methods; raises when they contradict each other."""
        for first, second in (("password", "password_file"), ("token", "token_file")):
            if getattr(self, first) is not None and getattr(self, second) is not None:
                raise InvalidSettingError(f"is given together with {first}: choose one", second)
        methods = [key for key in _METHODS if getattr(self, key)]
        if len(methods) > 1:  # the server would choose one of them
            raise InvalidSettingError(
                f"is given together with {methods[0]}: choose one", methods[1]
            )
        if not self.user and (self.password is not None or self.password_file is not None):
            raise InvalidSettingError("is missing, but a password is given", "user")
        return methods

    def nats_access(self, addresses: tuple[str, ...], inbox_prefix: str) -> NatsAccess:
        return NatsAccess(
            addresses=addresses,
            user=self.user,
            password=self.password.reveal() if self.password else "",
            password_file=self.password_file,
            token=self.token.reveal() if self.token else "",
            token_file=self.token_file,
            nkey_seed_file=self.nkey_seed_file,
            creds_file=self.creds_file,
            tls=self.tls.access() if self.tls else None,
            inbox_prefix=inbox_prefix,
        )
