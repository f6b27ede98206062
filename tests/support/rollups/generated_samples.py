"""Generates samples with resets, gaps, stale markers, duplicates, disorder, NaN and replicas."""

import math
import random

from support.archive.folder import STALE
from support.rollups.archive import HOUR, MINUTE, Labels, Sample, labels

CONSUMER = "streamgauge_consumer_"
SINCE = "condition_start_timestamp_seconds"
_STREAM = {"system": "main", "account": "A", "stream": "S"}
_SERVER = {"system": "main", "server": "n1"}


def _labels(consumer: str, instance: str, **more: str) -> dict[str, str]:
    return {"system": "main", "account": "A", "stream": "S", "consumer": consumer,
            "instance": instance, "job": "nats", **more}  # fmt: skip


def _series() -> list[tuple[Labels, str]]:
    """Labels and kind of values; two exporters report the same consumers."""
    found = []
    for instance in ("one:7778", "two:7778"):
        for consumer in ("c1", "c2", "ärger"):
            identity = _labels(consumer, instance)
            found += [
                (labels(CONSUMER + "deliveries_total", **identity), "counter"),
                (labels(CONSUMER + "lag_seconds", **identity), "decimal"),
                (labels(CONSUMER + "num_pending", **identity), "gauge"),
                (labels(CONSUMER + "verdict", **identity), "state"),
                (labels(CONSUMER + SINCE, **identity, condition="falling_behind"), "since"),
            ]
    found += [
        (labels(CONSUMER + "redelivery_ratio", **_labels("c1", "one:7778")), "ratio"),
        (labels(CONSUMER + "redelivery_cause", **_labels("c1", "one:7778")), "state"),
        (labels(CONSUMER + "terms_total", **_labels("c1", "one:7778", by="client")), "counter"),
        (labels(CONSUMER + "terms_total", **_labels("c1", "one:7778", by="limits")), "counter"),
        (
            labels(CONSUMER + SINCE, **_labels("unwatched", "one:7778"), condition="no_leader"),
            "since",
        ),
        (labels("streamgauge_stream_up", **_STREAM), "state"),
        (labels("streamgauge_stream_" + SINCE, **_STREAM, condition="full"), "since"),
        (labels("streamgauge_stream_" + SINCE, **_STREAM, condition="diverged"), "since"),
        (labels("streamgauge_server_up", **_SERVER), "state"),
        (labels("streamgauge_server_" + SINCE, **_SERVER, condition="down"), "since"),
        (labels("streamgauge_stream_bytes", system="main", account="A", stream="S"), "gauge"),
        (labels("streamgauge_server_cpu_ratio", system="main", server="n1", pod="p-1"), "ratio"),
        (labels("foreign_requests_total", path="/a|b", job="x"), "counter"),
        (labels("foreign_seconds_bucket", le="0.5"), "counter"),
        (labels("foreign_level"), "gauge"),
    ]
    return found


def generated_days(seed: int, start: int, days: int) -> list[Sample]:
    """In the order of arrival, not of time."""
    chance = random.Random(seed)
    samples: list[Sample] = []
    for identity, kind in _series():
        samples += _one(chance, identity, kind, start, days)
    chance.shuffle(samples)
    # Sent twice: equal samples count once, of different ones the later counts.
    again = [each for each in samples if chance.random() < 0.02]
    return samples + [(identity, time, value if chance.random() < 0.5 else value + 1)
                   for identity, time, value in again if isinstance(value, float)]  # fmt: skip


def _one(chance: random.Random, identity: Labels, kind: str, start: int, days: int) -> list[Sample]:
    samples: list[Sample] = []
    time, level = start + chance.randrange(MINUTE), float(chance.randrange(10**6))
    end = start + days * 24 * HOUR
    while time < end:
        level = _next(chance, kind, level)
        value: float | int = level
        if chance.random() < 0.01:
            value = chance.choice([math.nan, STALE, STALE])
        elif kind == "ratio" and chance.random() < 0.005:
            value = math.inf
        samples.append((identity, time, value))
        # Most often a few minutes; now and then an hour or more, rarely longer than a day.
        step = chance.choices([5 * MINUTE, HOUR, 30 * HOUR], [400, 3, 1])[0]
        time += step + chance.randrange(-30_000, 30_000)
    return samples


def _next(chance: random.Random, kind: str, level: float) -> float:
    if kind == "counter":
        return 0.0 if chance.random() < 0.01 else level + chance.randrange(100)
    if kind == "state":
        return float(chance.randrange(4)) if chance.random() < 0.2 else level % 4
    if kind == "decimal":
        return round(chance.gammavariate(2, 3), 3)
    if kind == "ratio":
        return chance.random()
    return float(chance.randrange(10**9))
