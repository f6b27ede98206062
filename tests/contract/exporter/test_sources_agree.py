"""Three sources, one result: recordings of the same scenario give the same series."""

from __future__ import annotations

from functools import cache

import pytest
from support.exporter.rendered_series import Key, series_of
from support.recordings.replay import Recording, recordings, snapshot

from exporter import catalog
from exporter.metric import Subject
from exporter.model import ConsumerConfig, StreamConfig

STANDALONE = sorted({each.version for each in recordings("standalone")})
CLUSTERED = sorted({each.version for each in recordings("cluster")})
OTHERS = ("account", "monitor")
# These show how long ago something was, and the sources were recorded one after the other.
MOVING = {
    catalog.CONSUMER_PAUSE_REMAINING_SECONDS,
    catalog.STREAM_SOURCE_ACTIVE_SECONDS,
    catalog.STREAM_REPLICA_ACTIVE_SECONDS,
}
# An ordinary user does not see that the server limits the consumers of every stream (since 2.15).
SERVER_DEFAULT = 1000

standalone = pytest.mark.parametrize("version", STANDALONE)
other_source = pytest.mark.parametrize("source", OTHERS)


@cache
def series(version: str, scenario: str, source: str) -> dict[Key, float]:
    """All series of the streams and consumers of APP that are unchanged."""
    whole = series_of(snapshot(Recording(version, scenario, source)))
    return {key: value for key, value in whole.items() if stands_still(key)}


def stands_still(key: Key) -> bool:
    metric, labels = catalog.BY_NAME[key[0]], dict(key[1])
    if metric.subject not in (Subject.STREAM, Subject.CONSUMER) or labels["account"] != "APP":
        return False
    return metric not in MOVING and labels.get("limit") != "age"


def is_moment(key: Key) -> bool:
    return key[0].endswith("_timestamp_seconds")


def without_server_default(series: dict[Key, float]) -> dict[Key, float]:
    """Without the limit that the account source cannot know, and what follows from it."""
    by_default = {
        dict(labels)["stream"]
        for (name, labels), value in series.items()
        if name == catalog.STREAM_MAX_CONSUMERS.name and value == SERVER_DEFAULT
    }
    return {
        key: value
        for key, value in series.items()
        if not (follows_from_max_consumers(key) and dict(key[1])["stream"] in by_default)
    }


def follows_from_max_consumers(key: Key) -> bool:
    name, labels = key
    ratio = name == catalog.STREAM_FILL_RATIO.name and dict(labels)["limit"] == "consumers"
    return ratio or name == catalog.STREAM_MAX_CONSUMERS.name


def expected(version: str, scenario: str, source: str) -> dict[Key, float]:
    """What the system source shows, as far as the other source can know it."""
    whole = series(version, scenario, "system")
    return without_server_default(whole) if source == "account" else whole


@other_source
@standalone
def test_the_same_series_are_reported(version: str, source: str) -> None:
    assert set(series(version, "standalone", source)) == set(
        expected(version, "standalone", source)
    )


@other_source
@standalone
def test_what_is_unchanged_has_the_same_value(version: str, source: str) -> None:
    mine, theirs = series(version, "standalone", source), expected(version, "standalone", source)
    differ = {
        key: (value, theirs[key])
        for key, value in mine.items()
        if not is_moment(key) and value != theirs[key]
    }
    assert differ == {}


@other_source
@standalone
def test_timestamps_differ_by_no_more_than_the_clock_is_unsure(version: str, source: str) -> None:
    mine, theirs = series(version, "standalone", source), expected(version, "standalone", source)
    moments = {key: value for key, value in mine.items() if is_moment(key)}
    assert moments != {}
    assert moments == pytest.approx({key: theirs[key] for key in moments}, abs=0.25)


@other_source
@pytest.mark.parametrize("version", CLUSTERED)
def test_a_cluster_is_reported_alike(version: str, source: str) -> None:
    mine, theirs = series(version, "cluster", source), expected(version, "cluster", source)
    assert set(mine) == set(theirs)
    unchanged = {key for key in mine if not is_moment(key)}
    assert {key: mine[key] for key in unchanged} == {key: theirs[key] for key in unchanged}


Configs = dict[tuple[str, ...], StreamConfig | ConsumerConfig | None]


def configs(version: str, source: str) -> Configs:
    found = snapshot(Recording(version, "standalone", source))
    streams: Configs = {(s.name,): s.config for s in found.streams if s.account == "APP"}
    consumers: Configs = {
        (c.stream, c.name): c.config for c in found.consumers if c.account == "APP"
    }
    return streams | consumers


@standalone
def test_both_sources_of_all_servers_read_the_same_configuration(version: str) -> None:
    assert configs(version, "monitor") == configs(version, "system")
    assert None not in configs(version, "system").values()
