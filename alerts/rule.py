"""What an alert and a recording are, and what makes one wrong: refused when it is declared."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from alerts import thresholds
from alerts.quantity import Threshold, parse_duration
from alerts.queries import fresh
from alerts.render_options import Terms
from streamgauge.promql.expression import Expression, Number
from streamgauge.promql.selectors import OverTime

PREFIX = "JetStream"
_NAME = re.compile(r"([A-Z][a-z0-9]+)+")
_RECORD = re.compile(r"streamgauge:[a-z][a-z0-9_]*:[a-z][a-z0-9_]*")
_LABEL = re.compile(r"\$labels\.([a-z_]+)")
_PLACEHOLDER = re.compile(r"<([a-z_]+)>")
_ACTION = re.compile(r"\{\{.*?\}\}")


class RuleError(ValueError):
    """A rule that would fail, mislead, or never fire."""


class Severity(Enum):
    CRITICAL = "critical"  # somebody is woken
    WARNING = "warning"  # a ticket
    INFO = "info"
    NONE = "none"  # for machines


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
    """A series of our own, where several rules or boards share an expression."""

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
    hold: str  # how long it must be so, the `for` of Prometheus
    summary: str  # one sentence, the same for every asset
    description: str  # a Prometheus template; <name> is a threshold
    condition: str  # the expression in plain words; <name> is a threshold
    board: Board
    keep: str = "0s"  # how long it fires on after the last sign
    guarded: bool = True  # drawn only from fresh data of its system

    def __post_init__(self) -> None:
        for wrong, why in self._faults():
            if wrong:
                raise RuleError(f"{self.name}: {why}")
        parse_duration(self.hold)
        parse_duration(self.keep)

    def _faults(self) -> tuple[tuple[bool, str], ...]:
        texts = (self.summary, self.description, self.condition)
        spoken = set(_LABEL.findall(self.description))
        unknown = {n for text in texts for n in _PLACEHOLDER.findall(text)} - {*thresholds.BY_NAME}
        plain = [_ACTION.sub("", text) for text in texts]
        return (
            (not _NAME.fullmatch(self.name), "is not CamelCase words"),
            (self.name.startswith(PREFIX), f"carries the prefix {PREFIX} by itself"),
            (not self.when.conditional, "has no condition: it would always fire"),
            (not all(text.endswith(".") for text in plain), "has a text without a full stop"),
            ("{{" in self.summary, "has a summary that differs from asset to asset"),
            (bool(spoken - set(self.when.possible)), "speaks of a label that it does not have"),
            (bool(unknown), f"names thresholds that do not exist: {sorted(unknown)}"),
            (self.guarded and "system" not in self.when.labels, "has no system to guard by"),
        )

    @property
    def full_name(self) -> str:
        return PREFIX + self.name

    @property
    def expression(self) -> Expression:
        return self.when.where(fresh()) if self.guarded else self.when

    @property
    def thresholds(self) -> tuple[Threshold, ...]:
        """Those of its own condition, in the order of the catalogue; the guard's goes without
        saying."""
        used: set[object] = {number.value for number in self.when.all_of(Number)}
        for samples in self.when.all_of(OverTime):
            used |= {samples.window, samples.offset, samples.ahead}
        return tuple(each for each in thresholds.ALL if each in used)


@dataclass(frozen=True)
class Group:
    """Rules that are evaluated one after the other; the interval is Prometheus' own if none."""

    name: str
    rules: tuple[Alert | Recording, ...]
    interval: str | None = None


def with_thresholds(text: str, terms: Terms) -> str:
    """Every <name> as the value that counts."""
    return _PLACEHOLDER.sub(lambda found: terms.thresholds[found[1]].spoken, text)
