"""Owners' notes in metadata, and the settings that servers report."""

from datetime import UTC, datetime

import pytest
from support.exporter.models import stream
from support.exporter.models import stream_config as model_config

from exporter.model import NO_NOTES
from exporter.sources.decoding.decode import consumer_config, stream_config
from exporter.sources.decoding.owner_notes import owner_notes
from exporter.sources.decoding.wire import (
    WireConsumer,
    WireConsumerConfig,
    WireOriginConfig,
    WireStreamConfig,
    WireTransform,
    WireVarz,
)
from exporter.sources.servers.leaders import ConfigCache
from exporter.sources.servers.server_settings import ServerSettingsCache, server_settings
from exporter.sources.servers.snapshot import unreadable_thresholds


@pytest.mark.parametrize("metadata", [{}, {"owner": "orders"}, {"io.nats.monitor.x": "1"}])
def test_metadata_of_others_is_no_note(metadata: dict[str, str]) -> None:
    assert owner_notes(metadata) is NO_NOTES


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("no-ack", ("no-ack",)),
        ("b-check, a-check", ("a-check", "b-check")),
        (" A-Check\nb-check,,", ("a-check", "b-check")),
        ("", ()),
    ],
)
def test_codes_to_ignore_may_be_written_as_people_write_lists(
    text: str, codes: tuple[str, ...]
) -> None:
    assert owner_notes({"io.streamgauge.ignore": text}).ignore == codes


@pytest.mark.parametrize(
    ("text", "seconds"), [("10m", 600.0), ("1h30m", 5400.0), ("x", None), ("0s", None), ("", None)]
)
def test_the_horizon_of_publishers_is_a_time(text: str, seconds: float | None) -> None:
    notes = owner_notes({"io.streamgauge.publish-retry-horizon": text})
    assert notes.publish_retry_horizon == seconds
    assert notes.unreadable == (() if seconds else ("publish-retry-horizon",))


def test_an_unknown_note_is_reported() -> None:
    assert owner_notes({"io.streamgauge.ignroe": "no-ack"}).unreadable == ("ignroe",)


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
    notes = owner_notes({"io.streamgauge.publish-retry-horizon": "soon"})
    rows = (stream(config=model_config(notes=notes)),)
    (fault,) = unreadable_thresholds("consumer_list", rows, ())
    assert (fault.reason, fault.count) == ("threshold", 1)
    assert fault.detail == "ORDERS: publish-retry-horizon"
