"""The archive's settings and their validation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from archive.settings.limits import Limits
from archive.settings.publishing import PublishSettings
from archive.settings.quarantine import QuarantineSettings
from archive.settings.wal import WalSettings
from streamgauge.serving.settings.loader import REQUIRED, InvalidSettingError, setting
from streamgauge.serving.settings.server import (
    LISTEN_ADDRESS_HELP,
    LogSettings,
    ServerSettings,
)

DEFAULT_LISTEN_ADDRESS = "127.0.0.1:7779"


@dataclass(frozen=True, slots=True, kw_only=True)
class WebSettings(ServerSettings):
    listen_address: str = setting(DEFAULT_LISTEN_ADDRESS, LISTEN_ADDRESS_HELP)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveSettings:
    data: Path = setting(REQUIRED, "Folder of the write-ahead log and, by default, of the archive.")
    web: WebSettings = setting(WebSettings(), "The HTTP server: remote write and metrics.")
    bearer_tokens: Mapping[str, Path] = setting(
        {},
        "Senders by name, each with the file of its bearer token. A token grants the same access as a user of the web configuration file.",
    )
    replica_label: str = setting(
        "__replica__",
        "Label that distinguishes the replicas of a highly available pair. The archive removes it from the series and selects one replica per series and hour. Empty: none.",
    )
    quarantine: QuarantineSettings = setting(
        QuarantineSettings(), "Refused requests kept in DATA/quarantine for inspection."
    )
    limits: Limits = setting(Limits(), "Limits of requests and senders.")
    wal: WalSettings = setting(WalSettings(), "The write-ahead log.")
    publish: PublishSettings = setting(PublishSettings(), "Publication of the log to the tables.")
    log: LogSettings = setting(LogSettings(), "The log on stderr.")

    def __post_init__(self) -> None:
        for name in self.bearer_tokens:
            if not name.strip():
                raise InvalidSettingError("a sender has no name", "bearer_tokens")
        if self.replica_label == "__name__":
            raise InvalidSettingError("__name__ is the name of the metric", "replica_label")
