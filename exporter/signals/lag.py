"""Age of the oldest message that a consumer has not finished, from the stream's timestamps.

Each poll gives two exact points: the first and the last message with their times. The last
messages of earlier polls are kept. Times between two points are interpolated.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from datetime import datetime

from msgspec import Struct, field

from exporter.model import Consumer, Stream
from exporter.signals.ack_floor import gap_deliveries
from exporter.signals.events_input import LagMeasurement

MAX_POINTS = 40


def _numbers() -> array[int]:
    return array("q")


def _times() -> array[float]:
    return array("d")


class StreamTimes(Struct, gc=False):
    """Last messages of earlier polls, oldest first. Times are in the leader's clock."""

    seqs: array[int] = field(default_factory=_numbers)
    stored: array[float] = field(default_factory=_times)
    until: array[float] = field(
        default_factory=_times
    )  # time of the last poll without a newer message
    first_time: datetime | None = None  # cached: all consumers of the stream need the same
    first: float | None = None  # first_time in seconds

    def note(self, stream: Stream, server_now: float) -> None:
        last = _seconds(stream.last_time)
        if last is None or stream.messages == 0:
            return
        seqs = self.seqs
        if seqs and stream.last_seq == seqs[-1]:
            self.until[-1] = max(server_now, self.until[-1])
            return
        if seqs and stream.last_seq < seqs[-1]:
            self.clear()  # recreated or restored: the points are of another stream
        stored = max(last, self.stored[-1]) if seqs else last
        seqs.append(stream.last_seq)
        self.stored.append(stored)
        self.until.append(max(server_now, stored))
        if len(seqs) > MAX_POINTS:
            self._thin_out()

    def clear(self) -> None:
        for numbers in (self.seqs, self.stored, self.until):
            del numbers[:]

    def _thin_out(self) -> None:
        """Removes every second point, but keeps the first and the last."""
        for numbers in (self.seqs, self.stored, self.until):
            del numbers[1:-1:2]

    def time_of(self, seq: int, stream: Stream, server_now: float) -> float | None:
        """When the message `seq` was stored, by the points."""
        if seq > stream.last_seq:
            return server_now  # stored after the stream was polled
        if stream.first_time is not self.first_time:
            self.first_time, self.first = stream.first_time, _seconds(stream.first_time)
        first = self.first
        if first is None or seq <= stream.first_seq:
            return first
        place = bisect_left(self.seqs, seq)
        if place == len(self.seqs):
            return self.stored[-1] if self.stored else None
        if self.seqs[place] == seq:
            return self.stored[place]
        left_seq, left = stream.first_seq, first
        if place > 0 and self.seqs[place - 1] > left_seq:
            left_seq, left = self.seqs[place - 1], self.until[place - 1]
        right = self.stored[place]
        share = (seq - left_seq) / (self.seqs[place] - left_seq)
        return min(left, right) + max(0.0, right - left) * share

    def stored_after(self, when: float) -> int | None:
        """A sequence from which on all messages were stored after `when`; None if none is known."""
        place = bisect_right(self.stored, when)
        return self.seqs[place] if place < len(self.seqs) else None

    def stored_since(self, when: float, stream: Stream) -> int:
        """How many messages were stored after `when`, by the points."""
        first, last = _seconds(stream.first_time), _seconds(stream.last_time)
        if stream.messages == 0 or first is None or last is None or when >= last:
            return 0
        if when <= first:
            return stream.last_seq - stream.first_seq + 1
        place = bisect_right(self.stored, when)
        left_seq, left = stream.first_seq, first
        if place > 0 and self.seqs[place - 1] > left_seq:
            left_seq, left = self.seqs[place - 1], self.until[place - 1]
        right_seq, right = stream.last_seq, last
        if place < len(self.seqs):
            right_seq, right = self.seqs[place], self.stored[place]
        share = (when - left) / (right - left) if right > left else 0.0
        return round(stream.last_seq - left_seq - max(0.0, share) * (right_seq - left_seq))


def _seconds(when: datetime | None) -> float | None:
    return None if when is None else when.timestamp()


def lag_seconds(
    unfinished: int | None, times: StreamTimes, stream: Stream, server_now: float
) -> tuple[float | None, int | None]:
    """The age of a message, and whether it is exact; both None when the times are unknown."""
    if unfinished is None:
        return 0.0, 1
    stored = times.time_of(unfinished, stream, server_now)
    if stored is None:
        return None, None
    return (server_now - stored if server_now > stored else 0.0), 0


def first_unfinished(
    row: Consumer, finished: int, *, floor_exhausted: bool, began: int | None = None
) -> int | None:
    """Sequence of the oldest unfinished message; None when the consumer is caught up.

    It may be a message before that one that does not match the filter. Everything up to
    `finished` is finished. Nothing up to `began` was delivered; None where each delivery moved
    the position by one.
    """
    if row.num_ack_pending > 0:
        first = _first_unacked(row, began, exhausted=floor_exhausted)
    elif row.num_pending > 0:
        first = max(row.delivered_stream_seq + 1, row.stream_first_seq)
    else:
        return None
    return first if first > finished else finished + 1


def _first_unacked(row: Consumer, began: int | None, *, exhausted: bool) -> int:
    floor = row.ack_floor_stream_seq
    if exhausted:
        # An exhausted message holds the floor; the newest deliveries are in flight.
        floor = max(floor, row.delivered_stream_seq - row.num_ack_pending)
    elif floor == 0 and row.ack_floor_consumer_seq == 0:
        # Never acked: servers before 2.14 report 0 although the consumer started later.
        floor = row.delivered_stream_seq - row.delivered_consumer_seq if began is None else began
    return floor + 1 if floor >= row.stream_first_seq else row.stream_first_seq


def measurement_holds(measurement: LagMeasurement | None, unfinished: int) -> bool:
    """Whether the measured message is still the first stored one from there on."""
    return measurement is not None and measurement.start_seq <= unfinished <= measurement.seq


def is_unfinished(
    measurement: LagMeasurement, unfinished: int, row: Consumer, *, gapless: bool
) -> bool:
    """Whether the measured message is certainly not acked."""
    if row.num_ack_pending == 0:
        return True
    # Where the unacked message was deleted, the next stored one may have been acked.
    if not gapless and measurement.seq != unfinished:
        return False
    # The first message after a purge may have been acked. A purge moves the floor to just before that
    # message; a floor that never moved (and on 2.9 no purge moves it) is left behind.
    never_moved = row.ack_floor_consumer_seq == 0
    by_purge = row.ack_floor_stream_seq + never_moved < row.stream_first_seq
    return not by_purge or gap_deliveries(row) <= row.num_ack_pending
