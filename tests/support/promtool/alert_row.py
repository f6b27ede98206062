"""One row of the alert table: what makes an alert fire, what just does not, and its values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from alerts.quantity import parse_duration

# The value of a series at a time in seconds; None where there is no sample.
Pattern = Callable[[float], float | None]
Values = float | Pattern | None  # None takes a series away
Series = Mapping[str, Values]

CONSUMER = {"account": "APP", "stream": "ORDERS", "consumer": "worker"}
STREAM = {"account": "APP", "stream": "ORDERS"}
SERVER = {"server": "n1"}
ACCOUNT = {"account": "APP"}
SYSTEM: dict[str, str] = {}

PAUSED: Series = {"consumer_paused": 1}
EPHEMERAL: Series = {'consumer_info{durable="false",leader="n1"}': 1}
KEY_VALUE: Series = {'stream_info{kind="kv",leader="n1"}': 1}
OBJECTS: Series = {'stream_info{kind="object",leader="n1"}': 1}


def after(moment: str, before: float | None, value: float) -> Pattern:
    border = parse_duration(moment)
    return lambda at: value if at >= border else before


def happened(
    counter: str, moment: str, number: float = 1, before: float | None = None
) -> dict[str, Values]:
    """An event counter and the time of its last event; it has no series before its first one."""
    return {
        f"{counter}_total": after(moment, before, number),
        f"{counter}_last_event_timestamp_seconds": after(
            moment, None if before is None else -3600, parse_duration(moment)
        ),
    }


def began(subject: str, condition: str, moment: str = "0s") -> dict[str, Values]:
    """A condition that is true from then on."""
    series = f'{subject}_condition_start_timestamp_seconds{{condition="{condition}"}}'
    return {series: after(moment, None, parse_duration(moment))}


def long_ago(counter: str, number: float = 1) -> dict[str, Values]:
    """The same counter without an event in the time of the test, which begins at 0."""
    return {f"{counter}_total": number, f"{counter}_last_event_timestamp_seconds": -3600}


def between(start: str, end: str, value: float, outside: float | None) -> Pattern:
    first, last = parse_duration(start), parse_duration(end)
    return lambda at: value if first <= at < last else outside


def ramp(start: float, per_minute: float) -> Pattern:
    return lambda at: start + per_minute * at / 60


def at(values: Values, moment: float) -> float | None:
    return values(moment) if callable(values) else values


@dataclass(frozen=True)
class Row:
    alert: str  # without the prefix
    of: Mapping[str, str]  # the identity of the asset, but for its system
    bad: Series  # what makes it fire
    calm: Series  # the same series just on the right side
    values: str = ""  # of the description, see `values_template`
    later: str | None = None  # the values one scrape later, where time alone changes them
    context: Series = field(default_factory=dict)  # the same in every variant
    case: str = ""  # where an alert has several causes
    onset: str = "0s"  # from when on the expression holds
    every: str = "15s"  # between two scrapes, and two evaluations
    labels: Mapping[str, str] = field(default_factory=dict)  # of the alert, beside its asset's
    silent: Mapping[str, Series] = field(default_factory=dict)  # changes that keep it quiet
    aged: bool = False  # on the start of a condition, which has no look-back
    lingers: bool = False  # drawn from a window: what is over holds on for a while
    guarded: bool = True

    @property
    def name(self) -> str:
        return f"{self.alert} {self.case}".strip()

    @property
    def about_a_consumer(self) -> bool:
        return "consumer" in self.of
