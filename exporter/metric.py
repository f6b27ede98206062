"""What a metric definition is, and what makes one wrong. Standard library only."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

PREFIX = "streamgauge_"

_NAME = re.compile(r"streamgauge_[a-z][a-z0-9]*(_[a-z0-9]+)*")
_LABEL = re.compile(r"[a-z][a-z0-9_]*")
_COUNTER_SUFFIX = "_total"
_INFO_SUFFIXES = ("_info", "_finding")  # a finding is an info by nature: its value is always 1
_RESERVED_SUFFIXES = ("_count", "_sum", "_bucket", "_created")  # OpenMetrics adds them itself
_MAX_HELP = 400


class Kind(Enum):
    GAUGE = "gauge"
    COUNTER = "counter"
    INFO = "info"
    HISTOGRAM = "histogram"


class Unit(Enum):
    """The unit is the last word of the name (before `_total`); NONE is a plain count or state."""

    NONE = ""
    BYTES = "bytes"
    SECONDS = "seconds"
    RATIO = "ratio"


class Level(Enum):
    CORE = "core"
    FULL = "full"


class Origin(Enum):
    RESPONSE = "response"  # reported in a response of a server
    DERIVED = "derived"  # it takes two snapshots and a clock
    EVENT = "event"  # a subscription heard it
    SELF = "self"  # the exporter speaks of itself
    ARCHIVE = "archive"
    ROLLUP = "rollup"


class Subject(Enum):
    """What a metric is about; the words of `collect[]` and of the reference's chapters."""

    CONSUMER = "consumer"
    STREAM = "stream"
    SERVER = "server"
    ACCOUNT = "account"
    EXPORTER = "exporter"
    ARCHIVE = "archive"
    ROLLUP = "rollup"


class DefinitionError(ValueError):
    """A metric definition that would mislead its users."""


@dataclass(frozen=True, slots=True)
class Metric:
    name: str  # the public name, prefix included
    kind: Kind
    help: str  # whole sentences: what the number means, not how it is spelt
    labels: tuple[str, ...]
    subject: Subject
    origin: Origin
    level: Level = Level.CORE
    unit: Unit = Unit.NONE
    source: str = ""  # where the value stands in an answer, for those who check by hand

    def __post_init__(self) -> None:
        for wrong, why in self._faults():
            if wrong:
                raise DefinitionError(f"{self.name}: {why}")

    def _faults(self) -> tuple[tuple[bool, str], ...]:
        counter = self.kind is Kind.COUNTER
        stem = self.name.removesuffix(_COUNTER_SUFFIX)
        return (
            (not _NAME.fullmatch(self.name), "is not streamgauge_ and snake_case words"),
            (
                counter != self.name.endswith(_COUNTER_SUFFIX),
                "_total is for counters, and only them",
            ),
            (
                (self.kind is Kind.INFO) != self.name.endswith(_INFO_SUFFIXES),
                "_info is for info metrics, and only them",
            ),
            (self.name.endswith(_RESERVED_SUFFIXES), "ends like a part of another family"),
            (
                bool(self.unit.value) and not stem.endswith("_" + self.unit.value),
                f"does not end in its unit {self.unit.value}",
            ),
            (
                self.unit is Unit.NONE and stem.endswith(("_bytes", "_seconds", "_ratio")),
                "ends in a unit that it does not declare",
            ),
            (not self.help.endswith("."), "help is not a whole sentence"),
            (len(self.help) > _MAX_HELP, f"help is longer than {_MAX_HELP} characters"),
            ("\n" in self.help, "help spans lines"),
            (len(set(self.labels)) != len(self.labels), "names a label twice"),
            (any(not _LABEL.fullmatch(label) for label in self.labels), "has a malformed label"),
        )

    @property
    def family(self) -> str:
        """The name of the metric family as OpenMetrics spells it."""
        if self.kind is Kind.COUNTER:
            return self.name.removesuffix(_COUNTER_SUFFIX)
        if self.kind is Kind.INFO:
            return self.name.removesuffix("_info")
        return self.name
