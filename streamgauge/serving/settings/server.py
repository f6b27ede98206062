"""The sections `web` and `log` of every serving command, and their flags."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Final, TypeVar
from urllib.parse import urlsplit

from streamgauge.serving.logs import LogFormat, LogLevel
from streamgauge.serving.settings.declaration import REQUIRED, setting
from streamgauge.serving.settings.durations import Duration
from streamgauge.serving.settings.errors import InvalidSettingError
from streamgauge.serving.settings.flags import Flag

LISTEN_ADDRESS_HELP: Final = "Address to listen on, HOST:PORT. Without a host: all addresses."
_LISTEN: Final = re.compile(r"(?P<host>\[[0-9a-fA-F:.]+\]|[^:\s]*):(?P<port>[0-9]{1,5})")
_MAX_PORT: Final = 65535
_PATH: Final = re.compile(r"(/[A-Za-z0-9._~-]+)+")
# Served beside the telemetry path.
_RESERVED: Final = (
    "/-/", "/api/", "/docs/", "/consumer/", "/consumers/", "/server/", "/servers/", "/stream/", "/streams/",
)  # fmt: skip

AnyFlag = TypeVar("AnyFlag", bound=Flag)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSettings:
    format: LogFormat = setting(LogFormat.TEXT, "One line of text or one JSON object per event.")
    level: LogLevel = setting(LogLevel.INFO, "Lowest severity that is logged.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """A command's own subclass gives `listen_address` its default."""

    listen_address: str = setting(REQUIRED, LISTEN_ADDRESS_HELP)
    config_file: Path | None = setting(
        None,
        "Web configuration file (TLS, basic auth) in the format of Prometheus' exporter-toolkit.",
    )
    telemetry_path: str = setting("/metrics", "Path of the metrics.")
    external_url: str = setting(
        "",
        "URL under which clients reach this server, for example behind a reverse proxy. Its path is the prefix of all routes.",
    )
    health_address: str = setting(
        "",
        "Second address, HOST:PORT, that serves only /-/healthy and /-/ready, without TLS and authentication: for probes. Empty: none.",
    )
    enable_lifecycle: bool = setting(False, "Allow a reload by POST or PUT to /-/reload.")
    max_connections: int = setting(
        512,
        "Maximum open connections, at most three quarters of the limit of open files. Then a new connection replaces the oldest one without a request.",
        minimum=1,
    )
    header_timeout: Duration = setting(
        10.0,
        "Time for the headers of a request, from the start of the connection or the first byte of a later request.",
        minimum=0.1,
    )
    idle_timeout: Duration = setting(
        300.0, "Time between two requests after which a connection is closed.", minimum=1
    )

    def __post_init__(self) -> None:
        host_and_port(self.listen_address)
        if self.health_address:
            host_and_port(self.health_address, "health_address")
        path = self.telemetry_path
        if not _PATH.fullmatch(path) or f"{path}/".startswith(_RESERVED):
            reason = "a free path (write it like /metrics)"
            raise InvalidSettingError(f'"{path}" is not {reason}', "telemetry_path")
        if self.external_url and not _is_external_url(self.external_url):
            reason = "a URL (write it like https://HOST/PATH)"
            raise InvalidSettingError(f'"{self.external_url}" is not {reason}', "external_url")

    @property
    def route_prefix(self) -> str:
        """The path of the external URL without its last slash; empty for the root."""
        return urlsplit(self.external_url).path.rstrip("/")

    def route(self, path: str) -> str:
        """Where the server serves `path`."""
        return f"{self.route_prefix}{path}"


def host_and_port(text: str, key: str = "listen_address") -> tuple[str, int]:
    match = _LISTEN.fullmatch(text)
    if match is None or int(match["port"]) > _MAX_PORT:
        raise InvalidSettingError(f'"{text}" is no address (write HOST:PORT)', key)
    return match["host"].strip("[]") or "0.0.0.0", int(match["port"])  # noqa: S104  ":7778" means all


def is_loopback(listen_address: str) -> bool:
    """Whether only this host can reach it."""
    host, _ = host_and_port(listen_address)
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def web_flags(flag: Callable[..., AnyFlag], default_address: str) -> tuple[AnyFlag, ...]:
    return (
        flag(
            "web.listen-address",
            "web.listen_address",
            "HOST:PORT",
            f"address to listen on (default {default_address})",
        ),
        flag("web.config.file", "web.config_file", "FILE", "TLS and basic auth of the server"),
        flag(
            "web.telemetry-path",
            "web.telemetry_path",
            "PATH",
            "path of the metrics (default /metrics)",
        ),
        flag(
            "web.external-url",
            "web.external_url",
            "URL",
            "URL under which clients reach this server; its path is the prefix of all routes",
        ),
        flag(
            "web.health-address",
            "web.health_address",
            "HOST:PORT",
            "second address with only /-/healthy and /-/ready, for probes (default none)",
        ),
        flag("web.enable-lifecycle", "web.enable_lifecycle", "", "allow POST /-/reload"),
        flag(
            "web.max-connections",
            "web.max_connections",
            "N",
            "maximum open connections (default 512)",
        ),
        flag(
            "web.header-timeout",
            "web.header_timeout",
            "TIME",
            "time for the headers of a request (default 10s)",
        ),
        flag(
            "web.idle-timeout",
            "web.idle_timeout",
            "TIME",
            "time after which an idle connection is closed (default 5m)",
        ),
    )


def log_flags(flag: Callable[..., AnyFlag]) -> tuple[AnyFlag, ...]:
    levels = "|".join(level.value for level in LogLevel)
    return (
        flag("log.level", "log.level", levels, "lowest severity that is logged (default info)"),
        flag("log.format", "log.format", "text|json", "format of log lines (default text)"),
    )


def _is_external_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
        fits = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # not a port or not an IPv6 address
        return False
    path = parts.path.rstrip("/")
    return (
        fits
        and not parts.query
        and not parts.fragment
        and (not path or bool(_PATH.fullmatch(path)))
    )
