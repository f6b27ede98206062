"""A server in a few lines, with the exact truth beside what it reports."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from support.exporter.models import NOW, at, consumer, consumer_config, stream, stream_config

from exporter.model import Consumer, Stream

SUBJECTS = ("orders.a", "orders.b")
CONFIGS = {
    "all": consumer_config(max_deliver=3),
    "picky": consumer_config(filters=("orders.a",)),
    "careless": consumer_config(ack_policy="none"),
    "once": consumer_config(filters=("orders.b",), max_deliver=1),
    "both": consumer_config(filters=SUBJECTS),
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
    lost: int = 0
    purged: int = 0
    again: int = 0
    born: float = NOW
    start: int = 0

    def wants(self, subject: str) -> bool:
        filters = CONFIGS[self.name].filters
        return not filters or subject in filters


@dataclass
class SmallServer:
    """A stream with a limit and consumers of different kinds."""

    max_messages: int | None
    discard: str = "old"
    subjects: tuple[str, ...] = SUBJECTS
    last: int = 0
    # By hand, since the last poll: a stream that is full again shows nothing of it.
    purged: bool = False
    stopped: bool = False  # until the next poll: deliveries after a purge by subject hide its skips
    stored: dict[int, str] = field(default_factory=dict)
    consumers: list[SmallConsumer] = field(
        default_factory=lambda: [SmallConsumer(name) for name in CONFIGS]
    )

    @property
    def first(self) -> int:
        return min(self.stored, default=self.last + 1)

    def one(self, which: int) -> SmallConsumer:
        return self.consumers[which % len(self.consumers)]

    def publish(self, which: int, count: int) -> None:
        most = 10**6 if self.max_messages is None else self.max_messages
        most = most if self.discard == "new" else most - 1 if self.purged else 10**6
        for _ in range(count):
            if len(self.stored) >= most or self.stopped:
                return
            self.last += 1
            self.stored[self.last] = self.subjects[which % len(self.subjects)]
            self._apply_limit()

    def limit(self, which: int, count: int) -> None:
        if self.max_messages is not None and self.discard == "old" and not self.purged:
            self.purged = True  # no more changes: one that is taken back shows nothing either
            self.max_messages = 5 + 3 * which + count
            self._apply_limit()

    def narrow(self, which: int, _: int) -> None:
        """What was stored before stays."""
        self.subjects = (SUBJECTS, SUBJECTS[:1], SUBJECTS[1:])[which % 3]

    def send(self, which: int, count: int) -> None:
        one = self.one(which)
        for seq in sorted(self.stored):
            if self.stopped or count == 0 or len(one.unacked) > 50:
                return
            if seq > one.position and one.wants(self.stored[seq]):
                one.position = seq
                self._deliver(one, seq)
                count -= 1

    def send_again(self, which: int, count: int) -> None:
        one = self.one(which)
        if CONFIGS[one.name].max_deliver == 1:
            return
        for seq in one.unacked[:count]:
            one.again += 1
            self._deliver(one, seq)

    def ack(self, which: int, count: int) -> None:
        one = self.one(which)
        del one.unacked[-count:]  # the youngest first: the floor stays behind
        if not one.unacked:
            one.floor = one.deliveries

    def purge(self, which: int, count: int) -> None:
        for seq in sorted(self.stored)[: which + count]:
            self._remove(seq, purge=True)
        for one in self.consumers:
            one.position = max(one.position, self.first - 1)

    def purge_subject(self, which: int, _: int) -> None:
        """As before 2.10: it moves the consumers that may have received them to the end.

        Those with several filters came with 2.10, and are not moved.
        """
        for seq in [s for s, name in self.stored.items() if name == SUBJECTS[which % 2]]:
            self._remove(seq, purge=True)
        for one in self.consumers:
            if one.wants(SUBJECTS[which % 2]) and len(CONFIGS[one.name].filters) < 2:
                one.position = self.last
        self.stopped = True

    def delete(self, which: int, count: int) -> None:
        for seq in sorted(self.stored)[which : which + count : 2]:
            self._remove(seq, purge=True)

    def make_again(self, which: int, count: int) -> None:
        old = self.one(which)
        start, born = self.first - 1, old.born + 10 + count
        new = SmallConsumer(old.name, position=start, born=born, start=start)
        self.consumers[which % len(self.consumers)] = new

    def forget_acks(self, which: int, _: int) -> None:
        self.one(which).floor = 0

    def _deliver(self, one: SmallConsumer, seq: int) -> None:
        one.deliveries += 1
        one.sent[seq] += 1
        if CONFIGS[one.name].ack_policy == "none":
            one.floor = one.deliveries
        elif seq not in one.unacked:
            one.unacked.append(seq)

    def _apply_limit(self) -> None:
        while self.max_messages is not None and len(self.stored) > self.max_messages:
            self._remove(self.first)

    def _remove(self, seq: int, *, purge: bool = False) -> None:
        subject = self.stored.pop(seq)
        self.purged |= purge
        for one in self.consumers:
            missed = one.wants(subject) and seq > one.start and not one.sent[seq]
            one.purged += missed and purge
            one.lost += missed and not purge and seq > one.position
            if seq in one.unacked:
                one.unacked.remove(seq)

    def stream(self, moment: float) -> Stream:
        return stream(
            messages=len(self.stored),
            first_seq=self.first,
            last_seq=self.last,
            first_time=at(NOW - 100) if self.stored else None,
            last_time=at(moment) if self.stored else None,
            last_stored=at(NOW + self.last) if self.last else None,  # moves with each message
            created=at(NOW - 100),
            config=stream_config(
                max_messages=self.max_messages, discard=self.discard, subjects=self.subjects
            ),
        )

    def rows(self, first_seq: int) -> tuple[Consumer, ...]:
        """`first_seq`: of the stream's row, which may be older."""
        return tuple(self._row(one, first_seq) for one in self.consumers)

    def _row(self, one: SmallConsumer, first_seq: int) -> Consumer:
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
            stream_first_seq=first_seq,
        )
