"""How to come in to a NATS server, as it may stand in a settings file; shared by whoever connects."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from exporter.sources.transport.credentials import NatsAccess, TlsAccess
from streamgauge.serving.settings.loader import InvalidSettingError, Secret, setting

WAYS_IN = ("user", "token", "token_file", "nkey_seed_file", "creds_file")


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsSettings:
    ca: Path | None = setting(
        None,
        "File of the authorities that may sign the server's certificate; the machine's own when left out.",
    )
    cert: Path | None = setting(
        None, "File of the client certificate, for servers that ask for one."
    )
    key: Path | None = setting(None, "File of the client certificate's key.")
    first: bool = setting(
        False, "Begin TLS before the server's first line (its `handshake_first`)."
    )
    server_name: str = setting(
        "", "Name to expect in the server's certificate when it is not the host of the address."
    )

    def __post_init__(self) -> None:
        if self.key is not None and self.cert is None:
            raise InvalidSettingError("is of no use without cert", "key")

    def access(self) -> TlsAccess:
        return TlsAccess(self.ca, self.cert, self.key, self.first, self.server_name)


class WayIn(Protocol):
    """The settings that say who we are; a system has them, and so has the account of its events."""

    @property
    def user(self) -> str: ...
    @property
    def password(self) -> Secret | None: ...
    @property
    def password_file(self) -> Path | None: ...
    @property
    def token(self) -> Secret | None: ...
    @property
    def token_file(self) -> Path | None: ...
    @property
    def nkey_seed_file(self) -> Path | None: ...
    @property
    def creds_file(self) -> Path | None: ...
    @property
    def tls(self) -> TlsSettings | None: ...


def chosen_credentials(settings: WayIn) -> list[str]:
    """One way to say who we are: with two of them the server would choose."""
    ways = [key for key in WAYS_IN if getattr(settings, key)]
    for first, second in (("password", "password_file"), ("token", "token_file")):
        if getattr(settings, first) is not None and getattr(settings, second) is not None:
            raise InvalidSettingError(f"is given together with {first}: choose one", second)
    if len(ways) > 1:
        raise InvalidSettingError(f"is given together with {ways[0]}: choose one", ways[1])
    if not settings.user and (settings.password is not None or settings.password_file is not None):
        raise InvalidSettingError("is missing, but a password is given", "user")
    return ways


def nats_access(settings: WayIn, addresses: tuple[str, ...], inbox_prefix: str) -> NatsAccess:
    return NatsAccess(
        addresses=addresses,
        user=settings.user,
        password=settings.password.reveal() if settings.password else "",
        password_file=settings.password_file,
        token=settings.token.reveal() if settings.token else "",
        token_file=settings.token_file,
        nkey_seed_file=settings.nkey_seed_file,
        creds_file=settings.creds_file,
        tls=settings.tls.access() if settings.tls else None,
        inbox_prefix=inbox_prefix,
    )
