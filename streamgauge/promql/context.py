"""What decides the text of an expression: layout, values of named numbers, excluded assets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol


class NamedNumber(Protocol):
    """A number that the render context may override, such as an alert threshold."""

    @property
    def name(self) -> str: ...

    @property
    def value(self) -> float: ...


Duration = str | NamedNumber  # "15m", a Grafana variable, or a named number of seconds


@dataclass(frozen=True, slots=True)
class Layout:
    """Rules use several lines and few brackets, panels one line and a bracket for each operator."""

    multiline: bool = False
    all_brackets: bool = True
    matcher_separator: str = ", "


class RenderContext(Protocol):
    @property
    def layout(self) -> Layout: ...

    @property
    def exclusions(self) -> Mapping[str, str]:
        """Label -> regular expression; added to every selector of a catalogue metric."""

    @property
    def replica_labels(self) -> tuple[str, ...]:
        """Labels of the scrape in which the replicas of one exporter differ."""

    def number(self, value: NamedNumber | float) -> float: ...

    def duration(self, duration: Duration) -> str: ...

    def seconds(self, duration: Duration) -> float: ...


@dataclass(frozen=True, slots=True)
class PlainContext:
    """Durations stay as written, and named numbers have their own value."""

    layout: Layout = Layout()
    exclusions: Mapping[str, str] = field(default_factory=dict)
    replica_labels: tuple[str, ...] = ("instance",)

    def number(self, value: NamedNumber | float) -> float:
        return value if isinstance(value, (int, float)) else value.value

    def duration(self, duration: Duration) -> str:
        return duration if isinstance(duration, str) else f"{self.seconds(duration):g}s"

    def seconds(self, duration: Duration) -> float:
        if isinstance(duration, str):
            raise TypeError(f"{duration}: only the alerts' context converts it to seconds")
        return duration.value


ONE_LINE = PlainContext()
