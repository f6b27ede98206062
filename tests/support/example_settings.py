"""Settings with every kind of value, as a test writes and loads them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Literal

from streamgauge.serving.settings.loader import (
    REQUIRED,
    Duration,
    InvalidSettingError,
    Secret,
    Size,
    build,
    load_yaml,
    setting,
)


class Source(Enum):
    ACCOUNT = "account"
    SYSTEM = "system"


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    name: str = setting(REQUIRED, "Name of the system.")
    source: Source = setting(Source.ACCOUNT, "Where requests go.")
    interval: Duration = setting(15.0, "Time between polls.", minimum=1.0, maximum=3600.0)
    urls: tuple[str, ...] = setting((), "Where the servers are.")
    password: Secret | None = setting(None, "Password.", secret=True)
    pin: str = setting("", "A secret that is plain text.", secret=True)

    def __post_init__(self) -> None:
        if self.password and not self.urls:
            raise InvalidSettingError("is missing beside a password", "urls")


@dataclass(frozen=True, slots=True, kw_only=True)
class Logs:
    level: Literal["debug", "info"] = setting("info", "How much | to say.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    listen: str = setting("0.0.0.0:7778", "Address.")
    systems: tuple[System, ...] = setting((), "What to watch.")
    logs: Logs = setting(Logs(), "Logs.")
    most: int = setting(10, "A ceiling.")
    share: float = setting(0.5, "A share.")
    loud: bool = setting(False, "A switch.")
    folder: Path | None = setting(None, "A folder.")
    streams: re.Pattern[str] = setting(re.compile(".*"), "Which streams.")
    buffer: Size = setting(1 << 26, "A buffer.")
    headers: Mapping[str, str] = setting({}, "Headers.", key="X-Headers")


def write(folder: Path, text: str | bytes) -> Path:
    path = folder / "streamgauge.yml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def load(folder: Path, text: str | bytes) -> Example:
    path = write(folder, text)
    return build(Example, load_yaml(path), path.name)
