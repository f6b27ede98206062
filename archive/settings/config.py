"""The archive's settings and their validation."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

from archive.settings.limits import Limits
from archive.settings.publishing import PublishSettings
from archive.settings.wal import WalSettings
from streamgauge.serving.logs import LogFormat, LogLevel
from streamgauge.serving.settings.loader import REQUIRED, InvalidSettingError, Size, setting

DEFAULT_LISTEN = "127.0.0.1:7779"
_LISTEN = re.compile(r"(?P<host>\[[0-9a-fA-F:.]+\]|[^:\s]*):(?P<port>[0-9]{1,5})")
_MAX_PORT = 65535


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSettings:
    format: LogFormat = setting(LogFormat.TEXT, "One line of text or one JSON object per event.")
    level: LogLevel = setting(LogLevel.INFO, "Minimum severity.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveSettings:
    data: Path = setting(REQUIRED, "Folder of the write-ahead log and, by default, of the archive.")
    listen: str = setting(DEFAULT_LISTEN, "Listen address of remote write and /metrics.")
    web_config: Path | None = setting(
        None,
        "Web configuration file (TLS, basic auth) in the format of Prometheus' exporter-toolkit.",
    )
    bearer_tokens: Mapping[str, Path] = setting(
        {},
        "Senders by name, each with the file of its bearer token. A token grants the same access as a user of the web configuration file.",
    )
    replica_label: str = setting(
        "__replica__",
        "Label that distinguishes the replicas of a highly available pair. The archive removes it from the series and selects one replica per series and hour. Empty: none.",
    )
    quarantine: Size = setting(
        64 * 1024**2,
        "Maximum size of the refused requests kept in DATA/quarantine for inspection; the oldest are deleted first, 0B keeps none.",
        minimum=0,
    )
    limits: Limits = setting(Limits(), "Limits of requests and senders.")
    wal: WalSettings = setting(WalSettings(), "The write-ahead log.")
    publish: PublishSettings = setting(PublishSettings(), "Publication of the log as Parquet.")
    logs: LogSettings = setting(LogSettings(), "Log output.")

    def __post_init__(self) -> None:
        listen_address(self.listen)
        for name in self.bearer_tokens:
            if not name.strip():
                raise InvalidSettingError("a sender has no name", "bearer_tokens")
        if self.replica_label == "__name__":
            raise InvalidSettingError("__name__ is the name of the metric", "replica_label")


def listen_address(text: str) -> tuple[str, int]:
    match = _LISTEN.fullmatch(text)
    if match is None or int(match["port"]) > _MAX_PORT:
        raise InvalidSettingError(f'"{text}" is no address (write HOST:PORT)', "listen")
    return match["host"].strip("[]") or "0.0.0.0", int(match["port"])  # noqa: S104  ":7779" means all


def is_loopback(host: str) -> bool:
    """Whether only this host can reach it."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
