"""A consumer and its stream, polled again and again by one signal state."""

from __future__ import annotations

from typing import Any

from support.exporter.models import NOW, at, consumer, consumer_config, stream

from exporter.model import Consumer, Server, Snapshot, Stream
from exporter.signals.engine import SignalState
from exporter.signals.events_input import EventsInput
from exporter.signals.results import ConsumerSignals, Signals, StreamSignals

KEY = ("APP", "ORDERS", "worker")
POLL = 15.0
CONFIG = consumer_config()  # one object: a source gives the same one as long as nothing changed


def orders(last: int, first: int = 1, **changes: Any) -> Stream:
    """Without gaps; the last message was stored a second before the poll."""
    plain: dict[str, Any] = {
        "first_seq": first,
        "last_seq": last,
        "messages": last - first + 1,
        "created": at(NOW - 5000),
        "first_time": at(NOW - 1000),
        "last_time": at(NOW - 1),
    }
    return stream(**{**plain, **changes})


def worker(deliveries: int, seq: int, floor: int | None = None, **changes: Any) -> Consumer:
    acked = seq if floor is None else floor
    plain: dict[str, Any] = {
        "delivered_consumer_seq": deliveries,
        "delivered_stream_seq": seq,
        "ack_floor_consumer_seq": deliveries if floor is None else floor,
        "ack_floor_stream_seq": acked,
        "created": at(NOW - 4000),
        "stream_first_seq": 1,
        "config": CONFIG,
    }
    return consumer(**{**plain, **changes})


class Polls:
    """A state and a clock that a test moves."""

    def __init__(self) -> None:
        self.state = SignalState()
        self.now = NOW
        self.signals = Signals()

    def poll(
        self,
        *rows: Stream | Consumer | Server,
        after: float = POLL,
        complete: bool = True,
        events: EventsInput | None = None,
    ) -> ConsumerSignals | None:
        self.now += after
        self.signals = self.state.update(
            Snapshot(
                system="nats",
                taken=self.now,
                streams=tuple(row for row in rows if isinstance(row, Stream)),
                consumers=tuple(row for row in rows if isinstance(row, Consumer)),
                servers=tuple(row for row in rows if isinstance(row, Server)),
                complete=complete,
            ),
            events,
        )
        return self.signals.consumers.get(KEY)

    def result(self, *rows: Stream | Consumer | Server, **how: Any) -> ConsumerSignals:
        found = self.poll(*rows, **how)
        assert found is not None
        return found

    @property
    def stream(self) -> StreamSignals:
        return self.signals.streams["APP", "ORDERS"]
