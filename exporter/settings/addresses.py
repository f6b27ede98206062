"""Addresses in the settings: of NATS servers and of monitoring ports."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from streamgauge.serving.settings.errors import InvalidSettingError


@dataclass(frozen=True, slots=True)
class _Kind:
    schemes: tuple[str, ...]  # the first one is the default
    port: int


_NATS = _Kind(("nats", "tls", "ws", "wss"), 4222)
_MONITOR = _Kind(("http", "https"), 8222)
_HOST = r"(?P<host>\[[0-9a-fA-F:.]+\]|[^\s/?#@:\[\]]+)"
_WITHOUT_SCHEME = re.compile(rf"([^\s/]*@)?{_HOST}(:(?P<port>[0-9]{{1,5}}))?")


def server_urls(urls: tuple[str, ...], source: str) -> tuple[str, ...]:
    """Every address as a URL with a scheme; raises for what is not an address."""
    return tuple(_server_url(url, source, f"urls[{place}]") for place, url in enumerate(urls))


def _server_url(text: str, source: str, key: str) -> str:
    kind = _MONITOR if source == "monitor" else _NATS
    url = _with_scheme(text, kind)
    try:
        parts = urlsplit(url)
        fits = parts.scheme in kind.schemes and bool(parts.hostname) and parts.port != 0
    except ValueError:  # an invalid port or IPv6 address
        fits = False
    if not fits:
        wanted = " or ".join(f"{scheme}://HOST:PORT" for scheme in kind.schemes[:2])
        raise InvalidSettingError(
            f'"{without_credentials(text)}" is not an address for source {source} '
            f"(write HOST:PORT, {wanted})",
            key,
        )
    return url


def _with_scheme(text: str, kind: _Kind) -> str:
    """`localhost:4222` becomes `nats://localhost:4222`, and `localhost` gets the default port."""
    match = _WITHOUT_SCHEME.fullmatch(text)
    if match is None or match["host"].isdecimal():  # a number alone is a port without a host
        return text
    port = "" if match["port"] else f":{kind.port}"
    return f"{kind.schemes[0]}://{text}{port}"


def without_credentials(url: str) -> str:
    """The text up to the last @ may be a password, even in a broken address: remove it."""
    scheme, slashes, rest = url.partition("//")
    if not slashes:
        scheme, rest = "", url
    return scheme + slashes + rest.rpartition("@")[2]
