"""Servers that have just started are not believed about what they lead."""

from datetime import UTC, datetime, timedelta

from exporter.sources.decoding.server_decode import ServerResponses
from exporter.sources.decoding.wire_servers import (
    WireHealth,
    WireJetStream,
    WireMeta,
    WireServer,
    WireStats,
)
from exporter.sources.servers.startup import StartupCache

START = datetime(2026, 11, 16, tzinfo=UTC)


def member(life: str, uptime: float, leader: str = "n2") -> ServerResponses:
    server = WireServer(name="n1", id=life, jetstream=True, time=START + timedelta(seconds=uptime))
    stats = WireStats(start=START, jetstream=WireJetStream(meta=WireMeta(leader=leader)))
    return ServerResponses(server, stats)


def test_a_server_seen_for_the_first_time_is_believed_at_once() -> None:
    assert StartupCache().starting([member("first", 0.5)]) == frozenset()


def test_a_server_that_came_back_counts_for_a_moment_first() -> None:
    cache = StartupCache()
    cache.starting([member("first", 100.0)])
    assert cache.starting([member("second", 1.0)]) == {"n1"}
    assert cache.starting([member("second", 6.0)]) == frozenset()
    assert cache.has_settled("second")


def test_a_server_that_still_reads_its_log_is_starting_even_with_a_meta_leader() -> None:
    cache, response = StartupCache(), member("first", 100.0)
    response.health = WireHealth("unavailable", "JetStream is still recovering meta layer")
    assert cache.starting([response]) == {"n1"}
    assert cache.is_new(response.server)
    response.health = WireHealth("ok")
    assert cache.starting([response]) == frozenset()
    assert not cache.is_new(response.server)


def test_a_server_without_jetstream_is_never_new() -> None:
    assert not StartupCache().is_new(WireServer(name="n1", id="first"))


def test_a_member_without_a_meta_leader_is_starting_for_a_minute_at_most() -> None:
    cache = StartupCache()
    assert cache.starting([member("first", 10.0, leader="")]) == {"n1"}
    assert cache.starting([member("first", 61.0, leader="")]) == frozenset()
