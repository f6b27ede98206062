"""Alerts and recording rules; a wrong one is refused when it is declared."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from alerts import thresholds
from alerts.open_alerts import ADDED, PREFIX, guarded, held
from alerts.owners_say import without_ignored
from alerts.quantity import Threshold, parse_duration
from alerts.render_options import RenderOptions
from streamgauge.promql.expression import Expression, Number
from streamgauge.promql.selectors import SCRAPE, OverTime

_NAME = re.compile(r"([A-Z][a-z0-9]+)+")
_RECORD = re.compile(r"streamgauge:[a-z][a-z0-9_]*:[a-z][a-z0-9_]*")
_LABEL = re.compile(r"\$labels\.([a-z_]+)")
_PLACEHOLDER = re.compile(r"<([a-z_]+)>")
_ACTION = re.compile(r"\{\{.*?\}\}")


class RuleError(ValueError):
    """A rule that would fail, mislead, or never fire."""


class Severity(Enum):
    CRITICAL = "critical"  # pages the on-call engineer
    WARNING = "warning"  # a ticket
    INFO = "info"
    NONE = "none"  # for monitoring of the alerting itself


class Board(Enum):
    """The dashboards by their uid."""

    FLEET = "sg-fleet"
    STREAM = "sg-stream"
    CONSUMER = "sg-consumer"
    PUBLISH = "sg-publish"
    CLOCKS = "sg-clocks"
    CAPACITY = "sg-capacity"
    EXPORTER = "sg-exporter"


@dataclass(frozen=True)
class Recording:
    """A recorded series: several rules or boards share its expression."""

    record: str
    value: Expression
    meaning: str  # whole sentences

    def __post_init__(self) -> None:
        if not _RECORD.fullmatch(self.record):
            raise RuleError(f"{self.record}: is not streamgauge:subject:operation")
        if not self.meaning.endswith("."):
            raise RuleError(f"{self.record}: its meaning is not a whole sentence")


@dataclass(frozen=True)
class Alert:
    name: str  # without the prefix
    severity: Severity
    when: Expression
    for_: str  # how long the condition must be true before the alert fires
    summary: str  # one sentence, the same for every asset
    description: str  # a Prometheus template; <name> is a threshold
    condition: str  # the expression as a sentence; <name> is a threshold
    board: Board
    keep_firing_for: str = "0s"  # how long it fires after the condition ends
    guarded: bool = True  # fires only on fresh data of its system

    def __post_init__(self) -> None:
        for wrong, why in self._problems():
            if wrong:
                raise RuleError(f"{self.name}: {why}")
        parse_duration(self.for_)
        parse_duration(self.keep_firing_for)

    def _problems(self) -> tuple[tuple[bool, str], ...]:
        texts = (self.summary, self.description, self.condition)
        mentioned = set(_LABEL.findall(self.description))
        unknown = {n for text in texts for n in _PLACEHOLDER.findall(text)} - {*thresholds.BY_NAME}
        plain = [_ACTION.sub("", text) for text in texts]
        return (
            (not _NAME.fullmatch(self.name), "is not CamelCase words"),
            (self.name.startswith(PREFIX), f"already has the prefix {PREFIX}"),
            (not self.when.conditional, "has no condition: it would always fire"),
            (not all(text.endswith(".") for text in plain), "has a text without a full stop"),
            (
                "{{" in self.summary,
                "has a summary with a template: it must be the same for every asset",
            ),
            (
                bool(mentioned - {*self.when.possible, *SCRAPE}),
                "uses a label that its series do not have",
            ),
            (bool(unknown), f"names unknown thresholds: {sorted(unknown)}"),
            (self.guarded and "system" not in self.when.labels, "has no system to guard by"),
        )

    @property
    def full_name(self) -> str:
        return PREFIX + self.name

    @property
    def held(self) -> bool:
        """Whether it stays open while its system gives no data."""
        return self.guarded and self.severity is Severity.CRITICAL

    @property
    def expression(self) -> Expression:
        when = without_ignored(self.when, self.name, PREFIX)
        when = guarded(when) if self.guarded else when
        if not self.held:
            return when
        return when.or_(held(self.name, self.when.possible), ignoring=ADDED)

    @property
    def thresholds(self) -> tuple[Threshold, ...]:
        """The thresholds of its condition, without that of the freshness guard."""
        used: set[object] = {number.value for number in self.when.all_of(Number)}
        for samples in self.when.all_of(OverTime):
            used |= {samples.window, samples.offset, samples.ahead}
        return tuple(each for each in thresholds.ALL if each in used)


@dataclass(frozen=True)
class Group:
    """Rules that Prometheus evaluates in order; without an interval at its default."""

    name: str
    rules: tuple[Alert | Recording, ...]
    interval: str | None = None


def with_thresholds(text: str, options: RenderOptions) -> str:
    """The text with the value of each threshold in place of <name>."""
    return _PLACEHOLDER.sub(lambda found: options.thresholds[found[1]].prose, text)
