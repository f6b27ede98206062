"""Whatever happens to a stream and its consumers: counters never go back, and never say too much.

A server in a few lines stands for the real one here; the same laws are held to real servers in
tests/integration.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from support.examples import examples
from support.exporter.models import NOW, at, consumer, consumer_config, stream, stream_config

from exporter.model import Consumer, Snapshot, Stream
from exporter.signals.engine import SignalState
from exporter.signals.results import ConsumerSignals

SUBJECTS = ("orders.a", "orders.b")
CONFIGS = {
    "all": consumer_config(max_deliver=3),
    "picky": consumer_config(filters=("orders.a",)),
    "careless": consumer_config(ack_policy="none"),
}


@dataclass
class SmallConsumer:
    """Counts as a server does, and beside that what really happened."""

    name: str
    deliveries: int = 0
    position: int = 0
    floor: int = 0
    unacked: list[int] = field(default_factory=list)
    sent: Counter[int] = field(default_factory=Counter)
    gone: int = 0
    again: int = 0
    born: float = NOW

    def wants(self, subject: str) -> bool:
        filters = CONFIGS[self.name].filters
        return not filters or subject in filters


@dataclass
class SmallServer:
    """A stream with a limit and three consumers of different kinds."""

    max_messages: int | None
    last: int = 0
    stored: dict[int, str] = field(default_factory=dict)
    consumers: list[SmallConsumer] = field(
        default_factory=lambda: [SmallConsumer(name) for name in CONFIGS]
    )

    @property
    def first(self) -> int:
        return min(self.stored, default=self.last + 1)

    def publish(self, which: int, count: int) -> None:
        for _ in range(count):
            self.last += 1
            self.stored[self.last] = SUBJECTS[which % 2]
            while self.max_messages is not None and len(self.stored) > self.max_messages:
                self._remove(self.first)

    def send(self, which: int, count: int) -> None:
        one = self.consumers[which % 3]
        for seq in sorted(self.stored):
            if count == 0 or len(one.unacked) > 50:
                return
            if seq > one.position and one.wants(self.stored[seq]):
                one.position = seq
                self._deliver(one, seq)
                count -= 1

    def send_again(self, which: int, count: int) -> None:
        one = self.consumers[which % 3]
        for seq in one.unacked[:count]:
            one.again += 1
            self._deliver(one, seq)

    def ack(self, which: int, count: int) -> None:
        one = self.consumers[which % 3]
        del one.unacked[-count:]  # the youngest first: the floor stays behind
        if not one.unacked:
            one.floor = one.deliveries

    def purge(self, which: int, count: int) -> None:
        for seq in sorted(self.stored)[: which + count]:
            self._remove(seq)
        for one in self.consumers:
            one.position = max(one.position, self.first - 1)

    def make_again(self, which: int, count: int) -> None:
        born = self.consumers[which % 3].born + 10 + count
        name = self.consumers[which % 3].name
        self.consumers[which % 3] = SmallConsumer(name, position=self.first - 1, born=born)

    def forget_acks(self, which: int, _: int) -> None:
        self.consumers[which % 3].floor = 0

    def _deliver(self, one: SmallConsumer, seq: int) -> None:
        one.deliveries += 1
        one.sent[seq] += 1
        if CONFIGS[one.name].ack_policy == "none":
            one.floor = one.deliveries
        elif seq not in one.unacked:
            one.unacked.append(seq)

    def _remove(self, seq: int) -> None:
        subject = self.stored.pop(seq)
        for one in self.consumers:
            one.gone += one.wants(subject) and seq > one.position
            if seq in one.unacked:
                one.unacked.remove(seq)

    def rows(self, moment: float) -> tuple[Stream, tuple[Consumer, ...]]:
        row = stream(
            messages=len(self.stored),
            first_seq=self.first,
            last_seq=self.last,
            first_time=at(NOW - 100) if self.stored else None,
            last_time=at(moment) if self.stored else None,
            created=at(NOW - 100),
            config=stream_config(max_messages=self.max_messages),
        )
        return row, tuple(self._row(one) for one in self.consumers)

    def _row(self, one: SmallConsumer) -> Consumer:
        ahead = [s for s, subject in self.stored.items() if s > one.position and one.wants(subject)]
        return consumer(
            one.name,
            config=CONFIGS[one.name],
            created=at(one.born),
            delivered_consumer_seq=one.deliveries,
            delivered_stream_seq=one.position,
            ack_floor_consumer_seq=one.floor,
            num_pending=len(ahead),
            num_ack_pending=len(one.unacked),
            num_redelivered=sum(one.sent[seq] > 1 for seq in one.unacked),
            stream_first_seq=self.first,
        )


ACTS = ("publish", "send", "send_again", "ack", "purge", "make_again", "forget_acks", "look")
WEIGHTED = st.sampled_from([*ACTS[:4] * 5, *ACTS[4:], *["look"] * 5])
steps = st.lists(st.tuples(WEIGHTED, st.integers(0, 5), st.integers(1, 9)), min_size=5, max_size=60)


@dataclass
class Watched:
    """One consumer's life, from its first poll to its end."""

    born: float
    result: ConsumerSignals
    deliveries: int
    way: int
    again: int
    gone: int
    last: ConsumerSignals
    exact: bool = True


@given(st.sampled_from([None, 20]), steps)
@settings(max_examples=examples(300), deadline=None)
def test_what_is_reported_is_never_more_than_what_was(
    limit: int | None, history: list[tuple[str, int, int]]
) -> None:
    small, state, now = SmallServer(limit), SignalState(), NOW
    watched: dict[str, Watched] = {}
    for act, which, count in [*history, ("look", 0, 1)]:
        if act != "look":
            getattr(small, act)(which, count)
            continue
        now += 3 * count
        row, rows = small.rows(now)
        result = state.update(Snapshot("nats", now, streams=(row,), consumers=rows)).consumers
        for one in small.consumers:
            _check(watched, one, small, result["APP", "ORDERS", one.name])


def _check(
    watched: dict[str, Watched], one: SmallConsumer, small: SmallServer, result: ConsumerSignals
) -> None:
    way = max(one.position, small.first - 1)
    begun = watched.get(one.name)
    if begun is None or begun.born != one.born:
        known = begun.last if begun else result
        # A new life adds nothing to what was counted before.
        assert (result.redeliveries, result.lost, result.purged) == (
            known.redeliveries, known.lost, known.purged,
        )  # fmt: skip
        watched[one.name] = Watched(
            one.born, result, one.deliveries, way, one.again, one.gone, result
        )
        return
    begun.last = result
    again = result.redeliveries - begun.result.redeliveries
    gone = _gone(result) - _gone(begun.result)
    assert 0 <= again <= one.again - begun.again
    assert 0 <= gone <= one.gone - begun.gone
    begun.exact &= result.lost_exact == result.redelivery_exact == 1
    if begun.exact:
        assert (again, gone) == (one.again - begun.again, one.gone - begun.gone)
    if not CONFIGS[one.name].filters:
        assert again - gone == (one.deliveries - begun.deliveries) - (way - begun.way)
    if limit_is_absent(small):
        assert result.lost == begun.result.lost
    assert result.lag is None or result.lag >= 0.0
    assert (result.stalled or 0.0) >= 0.0


def _gone(result: ConsumerSignals) -> int:
    return (result.lost or 0) + (result.purged or 0)


def limit_is_absent(small: SmallServer) -> bool:
    return small.max_messages is None


@given(steps)
@settings(max_examples=examples(100), deadline=None)
def test_the_same_polls_at_the_same_times_give_the_same_signals(
    history: list[tuple[str, int, int]],
) -> None:
    """Nothing is read but what is given: no clock, no chance."""

    def all_results() -> list[Any]:
        small, state, now, result = SmallServer(20), SignalState(), NOW, []
        for act, which, count in history:
            if act == "look":
                now += 3 * count
                row, rows = small.rows(now)
                result.append(state.update(Snapshot("nats", now, streams=(row,), consumers=rows)))
            else:
                getattr(small, act)(which, count)
        return result

    assert all_results() == all_results()


@given(st.lists(st.sets(st.integers(0, 5)), min_size=1, max_size=20))
def test_the_state_keeps_nothing_of_what_is_gone(presence: list[set[int]]) -> None:
    state = SignalState()
    for number, present in enumerate(presence):
        rows = tuple(consumer(f"c{place}") for place in present)
        names = tuple(stream(f"S{place}") for place in present)
        state.update(Snapshot("nats", NOW + number, streams=(stream(), *names), consumers=rows))
    assert {name for _, _, name in state._consumers} == {f"c{place}" for place in presence[-1]}
    assert len(state._streams) == 1 + len(presence[-1])
