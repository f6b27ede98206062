"""Addresses in the settings: of NATS servers, and the one to listen at. Pure."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from streamgauge.serving.settings.loader import InvalidSettingError

_SCHEMES = {
    "account": ("nats", "tls", "ws", "wss"),
    "system": ("nats", "tls", "ws", "wss"),
    "monitor": ("http", "https"),
}
_LISTEN = re.compile(r"(?P<host>\[[0-9a-fA-F:.]+\]|[^:\s]*):(?P<port>[0-9]{1,5})")
_MOST_PORT = 65535


def check_url(url: str, source: str, key: str) -> None:
    schemes = _SCHEMES[source]
    try:
        parts = urlsplit(url)
        fits = parts.scheme in schemes and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port or an IPv6 address that is none
        fits = False
    if not fits:
        wanted = " or ".join(f"{scheme}://HOST:PORT" for scheme in schemes[:2])
        raise InvalidSettingError(
            f'"{without_credentials(url)}" is no address for source {source} (write {wanted})', key
        )


def without_credentials(url: str) -> str:
    """Fit to be shown: what stands before the last @ may be a password, even in a broken address."""
    scheme, slashes, rest = url.partition("//")
    if not slashes:
        scheme, rest = "", url
    return scheme + slashes + rest.rpartition("@")[2]


def listen_address(text: str) -> tuple[str, int]:
    match = _LISTEN.fullmatch(text)
    if match is None or int(match["port"]) > _MOST_PORT:
        raise InvalidSettingError(f'"{text}" is no address (write HOST:PORT)', "listen")
    return match["host"].strip("[]") or "0.0.0.0", int(match["port"])  # noqa: S104  ":7778" means all
