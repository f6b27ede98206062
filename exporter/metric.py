"""A metric definition and its rules. Standard library only."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

PREFIX = "streamgauge_"

_NAME = re.compile(r"streamgauge_[a-z][a-z0-9]*(_[a-z0-9]+)*")
_LABEL = re.compile(r"[a-z][a-z0-9_]*")
_COUNTER_SUFFIX = "_total"
_INFO_SUFFIXES = ("_info", "_finding")  # a finding is an info too: its value is always 1
_RESERVED_SUFFIXES = ("_count", "_sum", "_bucket", "_created")  # suffixes that OpenMetrics adds
_MAX_HELP = 400


class Kind(Enum):
    GAUGE = "gauge"
    COUNTER = "counter"
    INFO = "info"
    HISTOGRAM = "histogram"


class Unit(Enum):
    """The unit is the last word of the name, before `_total`. NONE: a count or a state."""

    NONE = ""
    BYTES = "bytes"
    SECONDS = "seconds"
    RATIO = "ratio"


class Level(Enum):
    CORE = "core"
    FULL = "full"


class Origin(Enum):
    RESPONSE = "response"  # a value of one server response
    DERIVED = "derived"  # computed from several responses and a clock
    EVENT = "event"  # counted from received events
    SELF = "self"  # about the exporter itself
    ARCHIVE = "archive"
    ROLLUP = "rollup"


class Subject(Enum):
    """What a metric is about; the values of `collect[]` and the chapters of the reference."""

    CONSUMER = "consumer"
    STREAM = "stream"
    SERVER = "server"
    ACCOUNT = "account"
    EXPORTER = "exporter"
    ARCHIVE = "archive"
    ROLLUP = "rollup"


class DefinitionError(ValueError):
    """An invalid metric definition."""


# eq=False: each is defined once, and a hash of all fields would cost more than a lookup.
@dataclass(frozen=True, slots=True, eq=False)
class Metric:
    name: str  # the public name, prefix included
    kind: Kind
    help: str  # whole sentences that say what the value means
    labels: tuple[str, ...]
    subject: Subject
    origin: Origin
    level: Level = Level.CORE
    unit: Unit = Unit.NONE
    source: str = ""  # the field of the response that holds the value
    purpose: str = ""  # who uses it for what, where no rule, board or rollup does

    def __post_init__(self) -> None:
        for wrong, why in self._faults():
            if wrong:
                raise DefinitionError(f"{self.name}: {why}")

    def _faults(self) -> tuple[tuple[bool, str], ...]:
        counter = self.kind is Kind.COUNTER
        stem = self.name.removesuffix(_COUNTER_SUFFIX)
        return (
            (not _NAME.fullmatch(self.name), "must be streamgauge_ and snake_case words"),
            (
                counter != self.name.endswith(_COUNTER_SUFFIX),
                "the suffix _total is for counters only",
            ),
            (
                (self.kind is Kind.INFO) != self.name.endswith(_INFO_SUFFIXES),
                "the suffix _info is for info metrics only",
            ),
            (self.name.endswith(_RESERVED_SUFFIXES), "ends with a reserved suffix"),
            (
                bool(self.unit.value) and not stem.endswith("_" + self.unit.value),
                f"must end with its unit {self.unit.value}",
            ),
            (
                self.unit is Unit.NONE and stem.endswith(("_bytes", "_seconds", "_ratio")),
                "ends with a unit that it does not declare",
            ),
            (not self.help.endswith("."), "help must end with a full stop"),
            (len(self.help) > _MAX_HELP, f"help is longer than {_MAX_HELP} characters"),
            ("\n" in self.help, "help must be one line"),
            (len(set(self.labels)) != len(self.labels), "names a label twice"),
            (any(not _LABEL.fullmatch(label) for label in self.labels), "has a malformed label"),
        )

    @property
    def family(self) -> str:
        """The name of the metric family in OpenMetrics."""
        if self.kind is Kind.COUNTER:
            return self.name.removesuffix(_COUNTER_SUFFIX)
        if self.kind is Kind.INFO:
            return self.name.removesuffix("_info")
        return self.name
