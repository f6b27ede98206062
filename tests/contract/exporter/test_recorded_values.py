"""The recorded scenario in numbers that follow from what was done to it, on every version."""

from __future__ import annotations

from functools import cache

import pytest
from prometheus_client.samples import Sample
from support.exporter.rendered_series import rendered, samples_of, text_of, values_of
from support.recordings.replay import Recording, recordings, snapshot
from support.recordings.scenario import since

from exporter import catalog
from exporter.metric import Metric

VERSIONS = [each.version for each in recordings("standalone") if each.source == "account"]
every_version = pytest.mark.parametrize("version", VERSIONS)
KNOWS_METADATA = [version for version in VERSIONS if since(version, "2.10.0")]
KNOWS_PAUSES = [version for version in VERSIONS if since(version, "2.11.0")]


@cache
def samples(version: str) -> list[Sample]:
    """From the account source; another test compares the sources."""
    found = snapshot(Recording(version, "standalone", "account"))
    return samples_of(text_of(rendered(found)))


def values(version: str, metric: Metric, **labels: str) -> list[float]:
    return values_of(samples(version), metric, account="APP", **labels)


def info(version: str, metric: Metric, *names: str, **labels: str) -> tuple[str, ...]:
    found = [
        sample.labels
        for sample in samples(version)
        if sample.name == metric.name and labels.items() <= sample.labels.items()
    ]
    assert len(found) == 1
    return tuple(found[0][name] for name in names)


@pytest.mark.parametrize(
    ("stream", "stored", "left", "deleted"),
    [
        pytest.param("ORDERS", 60, 57, 3, id="three were deleted in between"),
        pytest.param("LIMITED", 13, 13, 0, id="two of three alike were refused"),
        pytest.param("JOBS", 6, 5, 0, id="one was done"),
        pytest.param("EVENTS", 3, 2, 0, id="one was seen by all"),
        pytest.param("KV_settings", 7, 5, 0, id="a key keeps three values"),
        pytest.param("EMPTY", 0, 0, 0, id="none ever came"),
    ],
)
@every_version
def test_what_a_stream_holds(
    version: str, stream: str, stored: int, left: int, deleted: int
) -> None:
    assert values(version, catalog.STREAM_STORED_MESSAGES, stream=stream) == [stored]
    assert values(version, catalog.STREAM_MESSAGES, stream=stream) == [left]
    assert values(version, catalog.STREAM_DELETED_MESSAGES, stream=stream) == [deleted]


@every_version
def test_every_limit_of_the_limited_stream(version: str) -> None:
    assert values(version, catalog.STREAM_MAX_MESSAGES, stream="LIMITED") == [100]
    assert values(version, catalog.STREAM_MAX_BYTES, stream="LIMITED") == [1_000_000]
    assert values(version, catalog.STREAM_MAX_AGE_SECONDS, stream="LIMITED") == [3600]
    assert values(version, catalog.STREAM_MAX_CONSUMERS, stream="LIMITED") == [10]
    assert values(version, catalog.STREAM_MAX_MESSAGES_PER_SUBJECT, stream="LIMITED") == [50]
    assert values(version, catalog.STREAM_DUPLICATE_WINDOW_SECONDS, stream="LIMITED") == [30]
    ratio = values(version, catalog.STREAM_FILL_RATIO, stream="LIMITED", limit="messages")
    assert ratio == [0.13]


@every_version
def test_no_limit_of_the_stream_without_limits(version: str) -> None:
    assert values(version, catalog.STREAM_FILL_RATIO, stream="ORDERS") == []
    assert values(version, catalog.STREAM_MAX_AGE_SECONDS, stream="ORDERS") == []


@pytest.mark.parametrize(
    ("stream", "kind", "retention", "storage", "mirror"),
    [
        ("ORDERS", "stream", "limits", "file", ""),
        ("JOBS", "stream", "workqueue", "memory", ""),
        ("EVENTS", "stream", "interest", "file", ""),
        ("COPY", "stream", "limits", "file", "ORDERS"),
        ("KV_settings", "kv", "limits", "file", ""),
        ("OBJ_files", "object", "limits", "file", ""),
    ],
)
@every_version
def test_what_a_stream_is(
    version: str, stream: str, kind: str, retention: str, storage: str, mirror: str
) -> None:
    labels = ("kind", "retention", "storage", "mirror", "leader", "replicas")
    found = info(version, catalog.STREAM_INFO, *labels, stream=stream)
    assert found == (kind, retention, storage, mirror, "n1", "1")


@every_version
def test_compression_where_it_is_known(version: str) -> None:
    expected = "s2" if version in KNOWS_METADATA else "none"
    assert info(version, catalog.STREAM_INFO, "compression", stream="LIMITED") == (expected,)
    assert info(version, catalog.STREAM_INFO, "compression", stream="ORDERS") == ("none",)


@every_version
def test_the_source_without_an_origin_is_in_error_and_never_responded(version: str) -> None:
    gone = {"stream": "GATHERED", "source": "GONE"}
    assert values(version, catalog.STREAM_SOURCE_ERROR, **gone) == [1]
    assert values(version, catalog.STREAM_SOURCE_ACTIVE_SECONDS, **gone) == []
    assert values(version, catalog.STREAM_SOURCE_ERROR, stream="GATHERED", source="LIMITED") == [0]
    assert values(version, catalog.STREAM_SOURCE_LAG, stream="COPY", source="ORDERS") == [0]


@every_version
def test_a_worker_that_left_two_holes(version: str) -> None:
    """It got ten messages (three sequences were deleted), the floor is at the fourth."""
    worker = {"stream": "ORDERS", "consumer": "worker"}
    assert values(version, catalog.CONSUMER_DELIVERIES, **worker) == [10]
    assert values(version, catalog.CONSUMER_DELIVERED_STREAM_SEQ, **worker) == [13]
    assert values(version, catalog.CONSUMER_NUM_ACK_PENDING, **worker) == [3]
    assert values(version, catalog.CONSUMER_NUM_PENDING, **worker) == [47]
    assert values(version, catalog.CONSUMER_ACK_FLOOR_GAP, **worker) == [7]
    assert values(version, catalog.CONSUMER_ACK_FLOOR_GAP_DELIVERIES, **worker) == [6]
    assert values(version, catalog.CONSUMER_ACK_FLOOR_GAP_RATIO, **worker) == [0.15]


@every_version
def test_a_message_that_ran_out_of_deliveries(version: str) -> None:
    poisoned = {"stream": "ORDERS", "consumer": "poisoned"}
    assert values(version, catalog.CONSUMER_EXHAUSTED_MESSAGES, **poisoned) == [1]
    assert values(version, catalog.CONSUMER_NUM_ACK_PENDING, **poisoned) == [0]
    assert values(version, catalog.CONSUMER_ACK_FLOOR_GAP, **poisoned) == [0]
    assert values(version, catalog.CONSUMER_RETRY_HORIZON_SECONDS, **poisoned) == [1800]


@every_version
def test_retries_with_a_backoff(version: str) -> None:
    """Five deliveries, so four waits: ten minutes, then twenty three times."""
    patient = {"stream": "ORDERS", "consumer": "patient"}
    assert values(version, catalog.CONSUMER_BACKOFF_STEPS, **patient) == [2]
    assert values(version, catalog.CONSUMER_RETRY_HORIZON_SECONDS, **patient) == [4200]
    assert values(version, catalog.CONSUMER_BACKOFF_STEPS, consumer="worker") == []


@every_version
def test_push_consumers_with_and_without_a_listener(version: str) -> None:
    assert values(version, catalog.CONSUMER_PUSH_BOUND, consumer="bound") == [1]
    assert values(version, catalog.CONSUMER_PUSH_BOUND, consumer="unbound") == [0]
    assert values(version, catalog.CONSUMER_PUSH_BOUND, consumer="worker") == []


@every_version
def test_two_pulls_wait(version: str) -> None:
    assert values(version, catalog.CONSUMER_NUM_WAITING, consumer="asking") == [2]


@pytest.mark.parametrize(
    ("consumer", "durable", "kind", "ack", "filtered", "flow"),
    [
        ("ORDERS/worker", "true", "pull", "explicit", "false", "false"),
        ("ORDERS/in-order", "true", "pull", "all", "false", "false"),
        ("ORDERS/careless", "true", "pull", "none", "false", "false"),
        ("ORDERS/european", "true", "pull", "explicit", "true", "false"),
        ("ORDERS/glance", "false", "pull", "explicit", "false", "false"),
        ("LIMITED/glance", "false", "push", "none", "false", "true"),
    ],
)
@every_version
def test_what_a_consumer_is(
    version: str, consumer: str, durable: str, kind: str, ack: str, filtered: str, flow: str
) -> None:
    stream, _, name = consumer.partition("/")
    labels = ("durable", "kind", "ack_policy", "filtered", "flow_control", "leader")
    found = info(version, catalog.CONSUMER_INFO, *labels, stream=stream, consumer=name)
    assert found == (durable, kind, ack, filtered, flow, "n1")


@every_version
def test_ephemerals_are_counted(version: str) -> None:
    ephemerals = catalog.STREAM_EPHEMERAL_CONSUMERS
    assert values(version, ephemerals, stream="ORDERS") == [1]
    assert values(version, ephemerals, stream="LIMITED") == [1]
    assert values(version, ephemerals, stream="EMPTY") == [0]


@pytest.mark.parametrize("version", KNOWS_METADATA)
def test_limits_of_the_owner(version: str) -> None:
    for metric in (catalog.STREAM_THRESHOLD, catalog.CONSUMER_THRESHOLD):
        limits = {s.labels["limit"]: s.value for s in samples(version) if s.name == metric.name}
        assert limits == {"enabled": 1, "msgs-warn": 1000, "last-ack-critical": 5400}
    faults = snapshot(Recording(version, "standalone", "account")).faults
    assert [(fault.reason, fault.count) for fault in faults] == [("threshold", 2)]


@pytest.mark.parametrize("version", KNOWS_METADATA)
def test_several_filters_are_a_filter(version: str) -> None:
    assert info(version, catalog.CONSUMER_INFO, "filtered", consumer="overseas") == ("true",)
    assert values(version, catalog.CONSUMER_NUM_PENDING, consumer="overseas") == [40]


@pytest.mark.parametrize("version", KNOWS_PAUSES)
def test_pauses_and_priority_groups(version: str) -> None:
    assert values(version, catalog.CONSUMER_PAUSED) == [1]
    (left,) = values(version, catalog.CONSUMER_PAUSE_REMAINING_SECONDS, consumer="resting")
    assert 5 * 3600 < left < 6 * 3600
    group = info(version, catalog.CONSUMER_INFO, "priority_policy", consumer="helped")
    assert group == ("overflow",)
