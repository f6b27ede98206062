"""The history of unwell assets: who is in it, for how long, and that it stays bounded."""

from __future__ import annotations

import sys
from math import isnan

import pytest
from msgspec.structs import replace
from support.exporter.models import NOW, consumer, server, snapshot, stream, stream_config

from exporter.model import Consumer, Server, Snapshot, Stream
from exporter.polling import history as module
from exporter.polling.history import (
    KEPT_SECONDS,
    MAX_ASSETS,
    MAX_BYTES,
    MAX_POINTS,
    SPACING_SECONDS,
    History,
)
from exporter.signals.results import ConsumerSignals, Signals

KEY = ("consumer", "APP", "ORDERS", "worker")


def at(moment: float, *rows: Stream | Consumer | Server) -> Snapshot:
    return replace(snapshot(*rows), taken=moment)


def held(*words: str, **values: float) -> ConsumerSignals:
    conditions = tuple((word, NOW) for word in words)
    return ConsumerSignals(0, 0, 0, 0, NOW, conditions=conditions, **values)  # type: ignore[arg-type]


def signals(*words: str, name: str = "worker", **values: float) -> Signals:
    return Signals(consumers={("APP", "ORDERS", name): held(*words, **values)})


def test_an_unwell_consumer_has_its_numbers_and_a_well_one_nothing() -> None:
    history, well = History(), consumer("fine")
    row = consumer(num_pending=7, num_ack_pending=3, delivered_consumer_seq=40)
    history.update(at(NOW, row, well), signals("stalled", lag=12.0))
    found = history.columns(KEY)
    assert found["at"] == [NOW]
    assert [found[name] for name in ("num_pending", "num_ack_pending", "delivered", "lag")] == [
        [7], [3], [40], [12.0],
    ]  # fmt: skip
    assert isnan(found["redelivery_ratio"][0])
    assert history.columns(("consumer", "APP", "ORDERS", "fine")) == {}


def test_streams_and_servers_are_recorded_too() -> None:
    history = History()
    full = stream(config=stream_config(discard="new", max_messages=10), messages=9, last_seq=50)
    unwell = Signals(
        stream_conditions={("APP", "ORDERS"): (("full", NOW),)},
        server_conditions={"n1": (("clock_off", NOW),)},
    )
    history.update(at(NOW, full, server(offset=7.5)), unwell)
    assert history.columns(("stream", "APP", "ORDERS"))["fill_ratio"] == [0.9]
    assert history.columns(("server", "n1"))["clock_offset"] == [7.5]


def test_a_state_of_work_is_not_unwell() -> None:
    history = History()
    history.update(at(NOW, consumer()), signals("long_jobs"))
    assert history.columns(KEY) == {}


def test_points_have_a_distance() -> None:
    history = History()
    for step in range(4):
        history.update(at(NOW + step * 15, consumer()), signals("stalled"))
    assert history.columns(KEY)["at"] == [NOW, NOW + 30]


def test_it_goes_on_for_two_hours_after_a_recovery_and_then_ends() -> None:
    history, end = History(), KEPT_SECONDS
    history.update(at(NOW, consumer()), signals("stalled"))
    history.update(at(NOW + end - 30, consumer(num_pending=2)), signals())
    assert history.columns(KEY)["num_pending"] == [0, 2]
    history.update(at(NOW + end + 30, consumer()), signals())
    assert history.columns(KEY) == {}


def test_an_asset_keeps_the_last_points_only() -> None:
    history = History()
    for step in range(MAX_POINTS + 10):
        row = consumer(num_pending=step)
        history.update(at(NOW + step * SPACING_SECONDS, row), signals("stalled"))
    kept = history.columns(KEY)["num_pending"]
    assert (len(kept), kept[0], kept[-1]) == (MAX_POINTS, 10, MAX_POINTS + 9)


def test_above_the_bound_the_recovered_give_way_and_the_rest_is_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "MAX_ASSETS", 2)
    history, rows = History(), [consumer(name) for name in "abcd"]

    def unwell(*names: str) -> Signals:
        return Signals(consumers={("APP", "ORDERS", name): held("stalled") for name in names})

    history.update(at(NOW, *rows), unwell("a", "b", "c"))
    assert history.dropped == 1
    history.update(at(NOW + 30, *rows), unwell("b", "c", "d"))
    assert history.dropped == 1
    tracked = [name for name in "abcd" if history.columns(("consumer", "APP", "ORDERS", name))]
    assert tracked == ["b", "c"]


def test_a_clock_that_goes_back_does_not_stop_it() -> None:
    history = History()
    history.update(at(NOW, consumer()), signals("stalled"))
    history.update(at(NOW - 3600, consumer(num_pending=5)), signals("stalled"))
    assert history.columns(KEY)["num_pending"] == [5]


def test_the_memory_bound_is_true() -> None:
    """The largest array that a track can have, times all tracks."""
    history = History()
    for step in range(MAX_POINTS + 2):
        history.update(
            at(NOW + step * SPACING_SECONDS, consumer()), signals("stalled", lag=float(step))
        )
    (track,) = history._tracks.values()
    one = sys.getsizeof(track.points) + sys.getsizeof(track) + sys.getsizeof(KEY) + 200
    assert one * MAX_ASSETS <= MAX_BYTES
