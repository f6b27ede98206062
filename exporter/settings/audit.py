"""The settings of the audit, as they may stand in the exporter's file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from exporter.audit.context import DEFAULT_PUBLISH_RETRY_HORIZON, AuditSettings
from exporter.audit.registry import codes, near_code
from streamgauge.serving.settings.loader import Duration, InvalidSettingError, setting


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditingSettings:
    enabled: bool = setting(
        True, "Look for configurations that will hurt one day: the checks of docs/checks.md."
    )
    interval: Duration = setting(
        60.0,
        "Time between two audits; longer where one takes more than a twentieth of it.",
        minimum=1,
    )
    ignore: tuple[str, ...] = setting(
        (),
        "Codes of checks that are muted in this system. Muted findings stay on the status page and make no series. One stream or consumer is muted by its metadata `io.streamgauge.ignore`.",
    )
    publish_retry_horizon: Duration = setting(
        DEFAULT_PUBLISH_RETRY_HORIZON,
        "How long publishers try again, for streams that do not say it in their metadata as `io.streamgauge.publish-retry-horizon`.",
        minimum=1,
    )
    rollups: str | None = setting(
        None,
        "Where `streamgauge rollup` writes: a folder, from the root, or an address like s3://bucket/prefix. Checks of a day, a week or a month need it, and pyarrow.",
    )

    def __post_init__(self) -> None:
        check_codes(self.ignore, "ignore")
        # A path of a file may be relative to that file; here nobody knows yet which it is.
        place = self.rollups
        if place is not None and "://" not in place and not Path(place).is_absolute():
            raise InvalidSettingError(f"{place} does not begin at the root", "rollups")

    def pure(self) -> AuditSettings:
        return AuditSettings(publish_retry_horizon=self.publish_retry_horizon, ignore=self.ignore)


def check_codes(given: Iterable[str], key: str) -> None:
    """Misspelt, a mute would mute nothing and a choice would choose nothing."""
    known = codes()  # reads all files of checks, here and not later in an event loop
    for place, code in enumerate(given):
        if code not in known:
            near = near_code(code)
            hint = f" (did you mean {near}?)" if near else " (docs/checks.md lists them)"
            raise InvalidSettingError(f'there is no check "{code}"{hint}', f"{key}[{place}]")
