"""Configurations of what is gone are forgotten, also while no fetch is complete."""

from __future__ import annotations

import pytest
from support.exporter.models import consumer, stream

from exporter.sources.decoding.wire import (
    WireConsumer,
    WireConsumerConfig,
    WireStream,
    WireStreamConfig,
)
from exporter.sources.servers import leaders
from exporter.sources.servers.leaders import ConfigCache

EACH = 50


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch) -> ConfigCache:
    monkeypatch.setattr(leaders, "_MOST_GONE", 100)
    return ConfigCache()


def fetched(cache: ConfigCache, number: int, *, complete: bool) -> None:
    """A poll in which other streams and consumers exist than before."""
    names = [f"c{number}-{each}" for each in range(EACH)]
    found = WireStream(name=f"S{number}", config=WireStreamConfig(name=f"S{number}"))
    cache.stream("APP", found)
    for name in names:
        cache.consumer("APP", f"S{number}", WireConsumer(name=name, config=WireConsumerConfig()))
    listed = [consumer(name, stream=f"S{number}") for name in names]
    cache.forget_gone([stream(f"S{number}")], listed, complete=complete)


def test_after_a_complete_fetch_only_what_is_listed_stays(cache: ConfigCache) -> None:
    for number in range(3):
        fetched(cache, number, complete=True)
    assert (len(cache.streams), len(cache.consumers)) == (1, EACH)


def test_without_one_the_number_is_bounded(cache: ConfigCache) -> None:
    """A row that stays malformed, or a system so large that its configuration is fetched once."""
    sizes = []
    for number in range(40):
        fetched(cache, number, complete=False)
        sizes.append(len(cache.consumers) + len(cache._created))
    assert max(sizes) <= 2 * (100 + 3 * (EACH + 1))
    assert sizes[1] > sizes[0]  # what is missing in one poll is not forgotten at once
