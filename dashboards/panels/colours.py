"""Colours by meaning, their thresholds, and value mappings."""

from __future__ import annotations

from dataclasses import dataclass

from exporter.catalog import VERDICTS

# Grafana adapts its named colours to the light and the dark theme.
OK = "green"
WARN = "orange"
BAD = "red"
INFO = "blue"
PAUSED = "purple"
UNKNOWN = "#8e8e8e"
PLAIN = "text"


@dataclass(frozen=True, slots=True)
class Line:
    """A value at which a colour changes, and the name of its alert threshold."""

    value: float
    threshold: str = ""  # empty: a constant without a threshold


ANY = Line(1)  # for counts that should be 0
WHOLE = Line(1)  # for ratios that should be 1


@dataclass(frozen=True, slots=True)
class Step:
    colour: str
    line: Line | None = None  # None: from the lowest value

    @property
    def value(self) -> float | None:
        return None if self.line is None else self.line.value


@dataclass(frozen=True, slots=True)
class MappedValue:
    value: int
    text: str
    colour: str


@dataclass(frozen=True, slots=True)
class ValueMapping:
    values: tuple[MappedValue, ...]


def rising(warn: Line | None = None, bad: Line | None = None) -> tuple[Step, ...]:
    """Green, then orange, then red: high values are bad."""
    lines = ((WARN, warn), (BAD, bad))
    return (Step(OK), *(Step(colour, line) for colour, line in lines if line is not None))


def falling(warn: Line | None = None, bad: Line | None = None) -> tuple[Step, ...]:
    """Low values are bad."""
    if warn is None or bad is None:
        only, colour = (warn, WARN) if bad is None else (bad, BAD)
        return (Step(colour), Step(OK, only))
    return (Step(BAD), Step(WARN, bad), Step(OK, warn))


def plain(colour: str = INFO) -> tuple[Step, ...]:
    """A value without judgement."""
    return (Step(colour),)


def _verdict_colour(verdict: str) -> str:
    good = {"ok": OK, "idle": INFO, "paused": PAUSED, "busy with long jobs": INFO}
    severe = {"ack-pending full", "stalled", "losing messages", "no leader"}
    return good.get(verdict) or (BAD if verdict in severe else WARN)


# States of a consumer whose verdict finds no fault, and for which a ticket or a page may fire.
WARNED, CRITICAL = len(VERDICTS), len(VERDICTS) + 1
STATE_MAPPING = ValueMapping(
    (
        *(MappedValue(v, text, _verdict_colour(text)) for v, text in enumerate(VERDICTS)),
        MappedValue(WARNED, "has warnings", WARN),
        MappedValue(CRITICAL, "critical", BAD),
    )
)
# The unhealthy verdicts: from the first to just before the second.
UNHEALTHY = (VERDICTS.index("falling behind"), VERDICTS.index("busy with long jobs"))
UP_MAPPING = ValueMapping((MappedValue(0, "down", BAD), MappedValue(1, "up", OK)))
YES_IS_BAD = ValueMapping((MappedValue(0, "no", OK), MappedValue(1, "yes", BAD)))
YES_IS_GOOD = ValueMapping((MappedValue(0, "no", BAD), MappedValue(1, "yes", OK)))
EXACT_MAPPING = ValueMapping((MappedValue(0, "upper bound", INFO), MappedValue(1, "exact", OK)))
LAG_MAPPING = ValueMapping((MappedValue(0, "interpolated", INFO), MappedValue(1, "exact", OK)))
HELD_MAPPING = ValueMapping(
    (MappedValue(0, "no", OK), MappedValue(1, "held by abandoned messages", WARN))
)
PAUSED_MAPPING = ValueMapping((MappedValue(0, "running", OK), MappedValue(1, "paused", PAUSED)))
HEALTH_MAPPING = ValueMapping((MappedValue(0, "unhealthy", BAD), MappedValue(1, "healthy", OK)))
LEADER_MAPPING = ValueMapping((MappedValue(0, "follower", PLAIN), MappedValue(1, "leader", INFO)))
ONLINE_MAPPING = ValueMapping((MappedValue(0, "online", OK), MappedValue(1, "offline", BAD)))
CAUSE_MAPPING = ValueMapping(
    (
        MappedValue(1, "acked too late", WARN),
        MappedValue(2, "nak", WARN),
        MappedValue(3, "no ack", BAD),
        MappedValue(4, "poison messages", WARN),
    )
)
