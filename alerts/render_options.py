"""Options of the rule files: threshold values, timing, excluded assets, addresses of links."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from alerts import thresholds
from alerts.quantity import Threshold, Unit, format_duration, parse_duration
from streamgauge.promql.context import Duration, Layout, NamedNumber

_LAYOUT = Layout(multiline=True, all_brackets=False, matcher_separator=",")

_LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
EXCLUDABLE = ("system", "account", "stream", "consumer", "server")
# RE2, the regular expressions of Prometheus, has none of these: it would refuse the whole file.
_UNKNOWN_TO_RE2 = re.compile(r"\(\?[=!<]|\\[1-9]")


class RenderOptionsError(ValueError):
    """One line that names the setting and the reason."""


@dataclass(frozen=True, slots=True)
class Timing:
    """A speed-up for tests: it divides every wait and window."""

    speed: float = 1.0
    min_window: float = 5.0  # a window needs two samples, at any speed

    def __post_init__(self) -> None:
        if not self.speed >= 1:
            raise RenderOptionsError(f"speed {self.speed:g}: is below 1")

    def wait(self, written: str) -> str:
        return format_duration(parse_duration(written) / self.speed)

    def window(self, seconds: float) -> float:
        return seconds if self.speed == 1 else max(seconds / self.speed, self.min_window)


@dataclass(frozen=True, slots=True)
class RenderOptions:
    thresholds: Mapping[str, Threshold] = field(default_factory=lambda: dict(thresholds.BY_NAME))
    timing: Timing = Timing()
    exclusions: Mapping[str, str] = field(default_factory=dict)  # label -> regular expression
    runbooks: str = ""  # where the runbooks are; empty: pages of the exporter
    boards: str = ""  # the address of Grafana, without a slash at the end
    # Labels of the scrape in which the replicas of one exporter differ.
    replica_labels: tuple[str, ...] = ("instance", "pod", "endpoint")

    def __post_init__(self) -> None:
        for label, expression in self.exclusions.items():
            _check_exclusion(label, expression)
        for label in self.replica_labels:
            if not _LABEL.fullmatch(label) or label in EXCLUDABLE:
                raise RenderOptionsError(f"replica label {label!r}: is not a label of the scrape")

    # --- the render context of expressions --------------------------------------------------------

    @property
    def layout(self) -> Layout:
        return _LAYOUT

    def number(self, value: NamedNumber | float) -> float:
        if isinstance(value, int | float):
            return value
        threshold = self.thresholds[value.name]
        return self.seconds(threshold) if threshold.unit is Unit.DURATION else threshold.value

    def seconds(self, duration: Duration) -> float:
        if isinstance(duration, str):
            return self.timing.window(parse_duration(duration))
        return self.timing.window(self.thresholds[duration.name].value)

    def duration(self, duration: Duration) -> str:
        return format_duration(self.seconds(duration))


DEFAULT = RenderOptions()


def _check_exclusion(label: str, expression: str) -> None:
    if label not in EXCLUDABLE:
        raise RenderOptionsError(f"exclude {label}: is not one of {', '.join(EXCLUDABLE)}")
    try:
        re.compile(expression)
    except re.error as error:
        raise RenderOptionsError(f"exclude {label}={expression}: {error}") from None
    if not expression or _UNKNOWN_TO_RE2.search(expression):
        raise RenderOptionsError(
            f"exclude {label}={expression}: Prometheus cannot parse this expression"
        )
