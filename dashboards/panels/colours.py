"""Colours by meaning, steps at which they change, and words for numbers: never a colour alone."""

from __future__ import annotations

from dataclasses import dataclass

from exporter.catalog import VERDICTS

# Grafana's named colours follow the light and the dark theme by themselves.
OK = "green"
WARN = "orange"
BAD = "red"
INFO = "blue"
PAUSED = "purple"
UNKNOWN = "#8e8e8e"
PLAIN = "text"


@dataclass(frozen=True, slots=True)
class Line:
    """A number at which good turns bad, and the threshold of the alerts that it is."""

    value: float
    threshold: str = ""  # empty: no number that anybody could choose, like one or none


ANY = Line(1)  # of something that should not be there at all
WHOLE = Line(1)  # of something that should be there in full


@dataclass(frozen=True, slots=True)
class Step:
    colour: str
    line: Line | None = None  # None: from the very bottom

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
    """Green below, then orange, then red: the more the worse."""
    lines = ((WARN, warn), (BAD, bad))
    return (Step(OK), *(Step(colour, line) for colour, line in lines if line is not None))


def falling(warn: Line | None = None, bad: Line | None = None) -> tuple[Step, ...]:
    """Bad at the bottom: the less the worse."""
    if warn is None or bad is None:
        only, colour = (warn, WARN) if bad is None else (bad, BAD)
        return (Step(colour), Step(OK, only))
    return (Step(BAD), Step(WARN, bad), Step(OK, warn))


def plain(colour: str = INFO) -> tuple[Step, ...]:
    """A number that is neither good nor bad."""
    return (Step(colour),)


def _verdict_colour(verdict: str) -> str:
    good = {"ok": OK, "idle": INFO, "paused": PAUSED}
    loud = {"ack-pending full", "losing messages", "no leader"}
    return good.get(verdict) or (BAD if verdict in loud else WARN)


VERDICT_MAPPING = ValueMapping(
    tuple(MappedValue(value, text, _verdict_colour(text)) for value, text in enumerate(VERDICTS))
)
NOT_WELL = VERDICTS.index("falling behind")  # from here on somebody should look
UP_MAPPING = ValueMapping((MappedValue(0, "down", BAD), MappedValue(1, "up", OK)))
YES_IS_BAD = ValueMapping((MappedValue(0, "no", OK), MappedValue(1, "yes", BAD)))
YES_IS_GOOD = ValueMapping((MappedValue(0, "no", BAD), MappedValue(1, "yes", OK)))
EXACT_MAPPING = ValueMapping((MappedValue(0, "upper bound", INFO), MappedValue(1, "exact", OK)))
LAG_MAPPING = ValueMapping((MappedValue(0, "interpolated", INFO), MappedValue(1, "read", OK)))
HELD_MAPPING = ValueMapping(
    (MappedValue(0, "no", OK), MappedValue(1, "held by abandoned ones", WARN))
)
PAUSED_MAPPING = ValueMapping((MappedValue(0, "goes on", OK), MappedValue(1, "paused", PAUSED)))
HEALTH_MAPPING = ValueMapping((MappedValue(0, "names a fault", BAD), MappedValue(1, "healthy", OK)))
LEADER_MAPPING = ValueMapping((MappedValue(0, "follows", PLAIN), MappedValue(1, "leads", INFO)))
ONLINE_MAPPING = ValueMapping((MappedValue(0, "online", OK), MappedValue(1, "offline", BAD)))
CAUSE_MAPPING = ValueMapping(
    (
        MappedValue(1, "acked too late", WARN),
        MappedValue(2, "refused (nak)", WARN),
        MappedValue(3, "no answer", BAD),
        MappedValue(4, "a few in a loop", WARN),
    )
)
