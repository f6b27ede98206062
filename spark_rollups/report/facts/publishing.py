"""Publishes that were rejected or not stored, and the memory of duplicate windows."""

from __future__ import annotations

from dataclasses import dataclass

from alerts import thresholds as t
from exporter import catalog as c
from spark_rollups.report.facts.arithmetic import divided
from spark_rollups.report.facts.assets import Assets, Floats, Statistic
from spark_rollups.report.facts.monthly_facts import Facts

# Short meanings of the error codes that publishers get.
CODES = {
    "10023": "insufficient resources",
    "10028": "account resources exceeded",
    "10047": "storage resources exceeded",
    "10054": "message too large",
    "10060": "expected stream does not match",
    "10063": "expected stream sequence does not match",
    "10070": "wrong last message id",
    "10071": "wrong last sequence",
    "10077": "not stored, mostly because the stream is full",
    "10109": "the stream is sealed",
    "10158": "the same message id is in process",
    "10164": "a conflict with a publish in flight",
}


@dataclass(frozen=True, slots=True)
class Rejections:
    name: tuple[str, ...]  # system, account, stream
    code: str
    number: float


def rejections_of(facts: Facts) -> list[Rejections]:
    """By stream and error code, largest number first."""
    found = facts.others["rejections"].now
    numbers = found.column(c.STREAM_PUBLISH_REJECTIONS, Statistic.INCREASE).tolist()
    made = [
        Rejections(name[:-1], name[-1], number)
        for name, number in zip(found.names, numbers, strict=True)
        if number > 0
    ]
    return sorted(made, key=lambda each: (-each.number, each.name, each.code))


def unstored_ratio(assets: Assets) -> Floats:
    return divided(
        assets.column(c.STREAM_PUBLISHES_UNSTORED, Statistic.INCREASE),
        assets.column(c.STREAM_PUBLISHES_RECEIVED, Statistic.INCREASE),
    )


def dedupe_memory(facts: Facts, assets: Assets) -> Floats:
    """The largest memory of the message ids in the duplicate window, per replica, in bytes."""
    memory: Floats = assets.column(
        c.STREAM_DEDUPE_WINDOW_MESSAGES, Statistic.MAX
    ) * facts.threshold(t.DEDUPE_ID_MEMORY)
    return memory
