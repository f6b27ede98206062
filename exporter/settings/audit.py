"""Settings of the audit in the exporter's file."""

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
        True, "Run the audit: the checks of docs/checks.md, which find risky configuration."
    )
    interval: Duration = setting(
        60.0,
        "Time between two audits. The pause grows when an audit takes more than a twentieth of it.",
        minimum=1,
    )
    ignore: tuple[str, ...] = setting(
        (),
        "Codes of checks that are suppressed in this system. Suppressed findings stay on the status page and have no series. To suppress a check for one stream or consumer, set its metadata `io.streamgauge.ignore`.",
    )
    publish_retry_horizon: Duration = setting(
        DEFAULT_PUBLISH_RETRY_HORIZON,
        "How long publishers retry, for streams without `io.streamgauge.publish-retry-horizon` in their metadata.",
        minimum=1,
    )
    rollups: str | None = setting(
        None,
        "Where `streamgauge rollup` writes: an absolute path of a folder, or a URL like s3://bucket/prefix. Checks over a day, a week or a month need it, and pyarrow.",
    )

    def __post_init__(self) -> None:
        check_codes(self.ignore, "ignore")
        # A relative path would be relative to the settings file, which is not known here.
        place = self.rollups
        if place is not None and "://" not in place and not Path(place).is_absolute():
            raise InvalidSettingError(f"{place} is not an absolute path", "rollups")

    def pure(self) -> AuditSettings:
        return AuditSettings(publish_retry_horizon=self.publish_retry_horizon, ignore=self.ignore)


def check_codes(given: Iterable[str], key: str) -> None:
    """A misspelt code would suppress or select nothing."""
    known = codes()  # imports all checks: here, not later in the event loop
    for place, code in enumerate(given):
        if code not in known:
            near = near_code(code)
            hint = f" (did you mean {near}?)" if near else " (docs/checks.md lists them)"
            raise InvalidSettingError(f'there is no check "{code}"{hint}', f"{key}[{place}]")
