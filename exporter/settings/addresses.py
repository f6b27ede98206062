"""Addresses of NATS servers in the settings. Pure."""

from __future__ import annotations

from urllib.parse import urlsplit

from streamgauge.serving.settings.errors import InvalidSettingError

_SCHEMES = {
    "account": ("nats", "tls", "ws", "wss"),
    "system": ("nats", "tls", "ws", "wss"),
    "monitor": ("http", "https"),
}


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
