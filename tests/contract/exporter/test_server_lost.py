"""One of three servers is lost between two polls: the series of every source, from recordings."""

from __future__ import annotations

from functools import cache

import pytest
from prometheus_client.samples import Sample
from support.exporter.rendered_series import FULL, samples_of, text_of, values_of
from support.recordings.replay import SOURCES, Recording, recordings, replay

from exporter import catalog
from exporter.metric import Kind
from exporter.samples.render import Renderer

VERSIONS = sorted({each.version for each in recordings("one-down")})
# The stream SOLO with its consumer, and ORDERS/solo, lived on the lost server alone.
GONE_STREAM = {"stream": "SOLO"}
GONE_CONSUMERS = (
    {"stream": "ORDERS", "consumer": "solo"},
    {"stream": "SOLO", "consumer": "worker"},
)

FORGOTTEN_BY_A_NEW_LEADER = {
    catalog.CONSUMER_LAST_DELIVERY_TIMESTAMP_SECONDS.name,
    catalog.CONSUMER_LAST_ACK_TIMESTAMP_SECONDS.name,
}

every_version = pytest.mark.parametrize("version", VERSIONS)
every_source = pytest.mark.parametrize("source", SOURCES)
of_all_servers = pytest.mark.parametrize("source", ["system", "monitor"])


@cache
def before_and_after(version: str, source: str) -> tuple[list[Sample], list[Sample]]:
    """Two pages of one exporter that was running all the time."""
    scenarios = [Recording(version, scenario, source) for scenario in ("cluster", "one-down")]
    renderer = Renderer("nats", FULL)
    pages = [samples_of(text_of(renderer.render(found))) for found in replay(*scenarios)]
    return pages[0], pages[1]


def names_of(samples: list[Sample], **labels: str) -> set[str]:
    return {sample.name for sample in samples if labels.items() <= sample.labels.items()}


@every_source
@every_version
def test_a_stream_that_went_with_its_server_is_down_and_has_no_number(
    version: str, source: str
) -> None:
    before, after = before_and_after(version, source)
    assert values_of(before, catalog.STREAM_UP, **GONE_STREAM) == [1]
    assert values_of(after, catalog.STREAM_UP, **GONE_STREAM) == [0]
    left = {sample.name for sample in after if sample.labels.get("stream") == "SOLO"}
    ups = {catalog.STREAM_UP.name, catalog.CONSUMER_UP.name}
    assert left == ups | {catalog.STREAM_INFO.name, catalog.CONSUMER_INFO.name}


@pytest.mark.parametrize("which", GONE_CONSUMERS, ids=lambda each: "/".join(each.values()))
@every_source
@every_version
def test_a_consumer_that_went_with_its_server_is_down_and_has_no_number(
    version: str, source: str, which: dict[str, str]
) -> None:
    before, after = before_and_after(version, source)
    assert values_of(before, catalog.CONSUMER_UP, **which) == [1]
    assert values_of(after, catalog.CONSUMER_UP, **which) == [0]
    assert names_of(after, **which) == {catalog.CONSUMER_UP.name, catalog.CONSUMER_INFO.name}


@every_source
@every_version
def test_the_lost_server_is_down_and_keeps_only_its_info(version: str, source: str) -> None:
    before, after = before_and_after(version, source)
    lost = lost_server(after)
    assert values_of(before, catalog.SERVER_UP) == [1, 1, 1]
    about = {s.name for s in after if set(s.labels) >= {"server"} and s.labels["server"] == lost}
    own = {name for name in about if catalog.BY_NAME[name].labels[:2] == catalog.SERVER}
    from_other_servers = {catalog.META_REPLICA_LAG.name, catalog.META_REPLICA_OFFLINE.name}
    assert own - from_other_servers == {catalog.SERVER_UP.name, catalog.SERVER_INFO.name}


@every_source
@every_version
def test_leaders_hold_the_lost_replicas_for_offline(version: str, source: str) -> None:
    before, after = before_and_after(version, source)
    lost = lost_server(after)
    for metric in (catalog.STREAM_REPLICA_OFFLINE, catalog.CONSUMER_REPLICA_OFFLINE):
        assert set(values_of(before, metric)) == {0}
        assert set(values_of(after, metric, server=lost)) == {1}
        alive = [s.value for s in after if s.name == metric.name and s.labels["server"] != lost]
        assert set(alive) == {0}


@of_all_servers
@every_version
def test_the_meta_group_misses_the_lost_server(version: str, source: str) -> None:
    before, after = before_and_after(version, source)
    lost = lost_server(after)
    assert sorted(values_of(before, catalog.META_LEADER)) == [0, 0, 1]
    assert values_of(before, catalog.META_REPLICA_OFFLINE) == [0, 0]
    assert values_of(after, catalog.META_REPLICA_OFFLINE, server=lost) == [1]
    assert values_of(after, catalog.META_SIZE) == [3]


@every_source
@every_version
def test_what_lives_on_keeps_its_series(version: str, source: str) -> None:
    """An election or a lost replica must not begin new series, nor end one that measures."""
    before, after = before_and_after(version, source)
    assert measuring_series(before) == measuring_series(after)


def measuring_series(samples: list[Sample]) -> set[tuple[str, tuple[tuple[str, str], ...]]]:
    """Of the replicated assets, without what depends on who leads: its replicas, its memory."""
    return {
        (sample.name, tuple(sorted(sample.labels.items())))
        for sample in samples
        if sample.labels.get("stream") in ("ORDERS", "CACHE")
        and sample.labels.get("consumer") != "solo"
        and "server" not in sample.labels
        and sample.name not in FORGOTTEN_BY_A_NEW_LEADER
        and catalog.BY_NAME[sample.name].kind is not Kind.INFO
    }


def lost_server(after: list[Sample]) -> str:
    down = [s.labels["server"] for s in after if s.name == catalog.SERVER_UP.name and s.value == 0]
    assert len(down) == 1
    return down[0]
