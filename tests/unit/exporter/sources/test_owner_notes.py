"""Owners' notes in metadata, and the settings that servers report."""

from datetime import UTC, datetime

import pytest
from support.exporter.models import stream
from support.exporter.models import stream_config as model_config

from exporter.idle_schedule import IdleSchedule
from exporter.model import NO_NOTES, OwnerNotes
from exporter.sources.decoding.decode import consumer_config, stream_config
from exporter.sources.decoding.owner_notes import consumer_notes, stream_notes
from exporter.sources.decoding.wire import (
    WireConsumer,
    WireConsumerConfig,
    WireOriginConfig,
    WireStreamConfig,
    WireTransform,
)
from exporter.sources.decoding.wire_servers import WireVarz
from exporter.sources.servers.leaders import ConfigCache
from exporter.sources.servers.server_settings import ServerSettingsCache, server_settings
from exporter.sources.servers.snapshot import unreadable_thresholds


@pytest.mark.parametrize("metadata", [{}, {"owner": "orders"}, {"io.nats.monitor.x": "1"}])
def test_metadata_of_others_is_no_note(metadata: dict[str, str]) -> None:
    assert stream_notes(metadata) is NO_NOTES
    assert consumer_notes(metadata) is NO_NOTES


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("no-ack", ("no-ack",)),
        ("b-check, a-check", ("a-check", "b-check")),
        (" A-Check\nb-check,,", ("a-check", "b-check")),
        ("JetStreamStreamFull, ALL", ("JetStreamStreamFull", "all")),
        ("", ()),
    ],
)
def test_codes_to_ignore_may_be_written_as_people_write_lists(
    text: str, codes: tuple[str, ...]
) -> None:
    assert stream_notes({"io.streamgauge.ignore": text}).ignore == codes


@pytest.mark.parametrize(
    ("text", "seconds"), [("10m", 600.0), ("1h30m", 5400.0), ("x", None), ("0s", None), ("", None)]
)
def test_the_horizon_of_publishers_is_a_time(text: str, seconds: float | None) -> None:
    notes = stream_notes({"io.streamgauge.publish-retry-horizon": text})
    assert notes.publish_retry_horizon == seconds
    assert notes.unreadable == (() if seconds else ("publish-retry-horizon",))


def test_an_unknown_note_is_reported() -> None:
    notes = stream_notes({"io.streamgauge.ignroe": "no-ack", "io.streamgauge.long-jobs": "5m"})
    assert notes == OwnerNotes(unknown=("ignroe", "long-jobs"))
    assert consumer_notes({"io.streamgauge.back-pressure": "true"}).unknown == ("back-pressure",)


def test_all_notes_of_a_stream_and_of_a_consumer_are_decoded() -> None:
    both = {"owner": " Ann ", "team": "billing", "severity": "Warning", "ignore": "all"}
    of_stream = {"back-pressure": "true", "idempotent-writers": "1"}
    of_consumer = {"long-jobs": "20m", "idle-schedule": "25h"}
    known = {"owner": "Ann", "team": "billing", "severity": "warning", "ignore": ("all",)}
    assert stream_notes(keys(both | of_stream)) == OwnerNotes(
        **known, back_pressure=True, idempotent_writers=True
    )
    assert consumer_notes(keys(both | of_consumer)) == OwnerNotes(
        **known, long_jobs=1200.0, idle_schedule=IdleSchedule(pause_seconds=90000.0)
    )


def keys(notes: dict[str, str]) -> dict[str, str]:
    return {f"io.streamgauge.{name}": text for name, text in notes.items()}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("owner", ""), ("owner", "x" * 129), ("team", "a\x1bb"), ("severity", "page"),
        ("ignore", "no ack!"), ("ignore", "x-" * 600), ("long-jobs", "20"), ("long-jobs", "0s"),
        ("idle-schedule", "at night"), ("idle-schedule", "* 25 * * *"),
    ],
)  # fmt: skip
def test_a_note_with_an_invalid_value_is_reported_and_has_no_effect(name: str, text: str) -> None:
    assert consumer_notes({f"io.streamgauge.{name}": text}) == OwnerNotes(unreadable=(name,))


@pytest.mark.parametrize("name", ["back-pressure", "idempotent-writers"])
def test_a_switch_is_true_or_false(name: str) -> None:
    assert stream_notes({f"io.streamgauge.{name}": "false"}) == NO_NOTES
    assert stream_notes({f"io.streamgauge.{name}": "maybe"}).unreadable == (name,)


def test_a_stream_has_the_fields_that_checks_need() -> None:
    wire = WireStreamConfig(
        sealed=True,
        sources=[WireOriginConfig("A"), WireOriginConfig("B")],
        metadata={"io.streamgauge.ignore": "no-ack"},
    )
    config = stream_config("ORDERS", wire)
    assert (config.sealed, config.sources) == (True, 2)
    assert config.notes.ignore == ("no-ack",)
    assert not config.transformed


@pytest.mark.parametrize(
    "wire",
    [
        WireStreamConfig(subject_transform=WireTransform("a", "b")),
        WireStreamConfig(mirror=WireOriginConfig("A", [WireTransform("a", "b")])),
        WireStreamConfig(sources=[WireOriginConfig("A", [WireTransform("a", "b")])]),
    ],
)
def test_a_stream_with_subject_transforms_is_marked(wire: WireStreamConfig) -> None:
    assert stream_config("ORDERS", wire).transformed


@pytest.mark.parametrize(
    ("written", "percent"),
    [("", None), ("100", 100.0), ("30%", 30.0), ("0", None), (" 5 % ", 5.0), ("much", None)],
)
def test_a_sample_rate_is_read_as_servers_read_it(written: str, percent: float | None) -> None:
    wire = WireConsumerConfig(sample_freq=written, inactive_threshold=5_000_000_000)
    config = consumer_config(wire)
    assert config.sample_percent == percent
    assert config.inactive_threshold_seconds == 5.0


def test_a_server_that_names_no_setting_has_it_off() -> None:
    reported = server_settings(WireVarz(max_payload=1024))
    assert (reported.auth_required, reported.tls_required, reported.tls_expires) == (
        False,
        False,
        None,
    )
    assert reported.max_payload == 1024
    never = server_settings(WireVarz(tls_cert_not_after=datetime(1, 1, 1, tzinfo=UTC)))
    assert never.tls_expires is None


def test_servers_are_requested_at_an_interval_and_new_ones_at_once() -> None:
    cache = ServerSettingsCache(wanted=True, interval=60.0)
    assert cache.due({"A"}, 0.0)
    cache.note_requested({"A"}, 0.0)
    assert not cache.due({"A"}, 59.0)
    assert cache.due({"A", "B"}, 1.0)
    assert cache.due({"A"}, 60.0)
    assert not cache.due(set(), 60.0)
    assert not ServerSettingsCache(wanted=False, interval=60.0).due({"A"}, 0.0)


def test_equal_configurations_of_two_consumers_are_one_object() -> None:
    cache = ConfigCache()
    rows = [
        WireConsumer(name=name, config=WireConsumerConfig(durable_name=name, max_deliver=limit))
        for name, limit in (("a", 5), ("b", 5), ("c", 6))
    ]
    first, second, third = (cache.consumer("APP", "ORDERS", row) for row in rows)
    assert first is second
    assert third != first
    assert cache.consumer("APP", "ORDERS", rows[0]) is first


def test_a_note_that_cannot_be_read_is_a_fault_of_the_poll() -> None:
    notes = stream_notes({"io.streamgauge.publish-retry-horizon": "soon"})
    rows = (stream(config=model_config(notes=notes)),)
    (fault,) = unreadable_thresholds("consumer_list", rows, ())
    assert (fault.reason, fault.count) == ("threshold", 1)
    assert fault.detail == "ORDERS: publish-retry-horizon"
