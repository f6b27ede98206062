"""Selects the consumers for exact requests, and judges which cached results still hold. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from msgspec import Struct

from exporter.model import Consumer, Snapshot, Stream
from exporter.signals.events_input import ConsumerKey, FilteredCount, LagMeasurement
from exporter.signals.lag import first_unfinished, measurement_holds
from exporter.signals.loss.accounting import never_redelivers
from exporter.signals.loss.coverage import sees_everything
from exporter.signals.results import ConsumerSignals, Signals
from exporter.signals.stream_changes import is_gapless, overwrites_by_design, was_recreated
from exporter.sources.jetstream_api.subjects import has_wildcard


class Lagging(Struct, frozen=True, gc=False):
    """A consumer whose first unfinished message is worth a request."""

    key: ConsumerKey
    stream: Stream
    filters: tuple[str, ...]
    start_seq: int
    lag: float


class CachedMeasurement(Struct, frozen=True, gc=False):
    measurement: LagMeasurement
    filters: tuple[str, ...]
    stream: Stream  # its state at the time of the request, or before

    def still_valid_for(self, wanted: Lagging) -> bool:
        """Whether a new request would give the same result."""
        return (
            self.filters == wanted.filters
            and measurement_holds(self.measurement, wanted.start_seq)
            and _still_stored(self.measurement.seq, self.stream, wanted.stream)
        )


def _still_stored(seq: int, then: Stream, now: Stream) -> bool:
    if was_recreated(then.created, now.created) or now.last_seq < then.last_seq:
        return False
    if is_gapless(now):
        return now.first_seq <= seq <= now.last_seq
    return _removed(now) == _removed(then)


def _removed(stream: Stream) -> int:
    """How many messages were ever removed from the stream."""
    return stream.last_seq - stream.messages


def lagging(snapshot: Snapshot, signals: Signals, account: str) -> list[Lagging]:
    found = []
    for row, stream in _rows(snapshot, account):
        key = (row.account, row.stream, row.name)
        signal = signals.consumers.get(key)
        start = _start_seq(row, signal) if signal is not None else None
        if signal is not None and start is not None and row.config is not None:
            found.append(Lagging(key, stream, row.config.filters, start, signal.lag or 0.0))
    return found


def _rows(snapshot: Snapshot, account: str) -> Iterator[tuple[Consumer, Stream]]:
    streams = {row.name: row for row in snapshot.streams if row.account == account and row.up}
    for row in snapshot.consumers:
        if row.account == account and row.up and row.stream in streams:
            yield row, streams[row.stream]


def _start_seq(row: Consumer, signal: ConsumerSignals) -> int | None:
    """The sequence to search from; None where even the message would not give the true lag."""
    config = row.config
    if not signal.lag or signal.unfinished_seq is None or config is None:
        return None
    if config.deliver_policy == "last_per_subject":
        return None  # it skips messages that match its filter
    if row.num_ack_pending > 0 and signal.floor_exhausted:
        return None  # behind an exhausted message it is unknown what is in flight
    if row.num_ack_pending > 0 and row.ack_floor_stream_seq == 0 < row.ack_floor_consumer_seq:
        return None  # since 2.11 a purge of messages in flight may reset one of the two
    newer = first_unfinished(row, 0, floor_exhausted=False)
    if newer is None:
        return None
    if row.num_ack_pending > 0 and row.ack_floor_stream_seq == row.ack_floor_consumer_seq == 0:
        # Never acked: servers before 2.14 do not report where it started; only for "all" it is known.
        return max(1, row.stream_first_seq) if config.deliver_policy == "all" else None
    return max(1, signal.unfinished_seq, newer)


def choose_lagging(
    wanted: Iterable[Lagging], most: int, last_requested: Mapping[ConsumerKey, int]
) -> list[Lagging]:
    """When there are too many: half for the highest lag, half for the oldest request.

    `last_requested`: the round of the last request for each consumer.
    """
    worst_first = sorted(wanted, key=lambda each: (-each.lag, each.key))
    places_for_worst = most - most // 2 if len(worst_first) > most else most
    others = worst_first[places_for_worst:]
    others.sort(key=lambda each: last_requested.get(each.key, -1))
    return worst_first[:places_for_worst] + others[: most // 2]


class Countable(Struct, frozen=True, gc=False):
    """A filtered consumer whose redeliveries a count makes exact."""

    key: ConsumerKey
    filters: tuple[str, ...]
    created: datetime | None
    deliveries: int
    removed: int
    subjects: int  # the most subjects that its responses may name

    def differs_from(self, counted: CachedCount) -> bool:
        """Whether a new count could differ: without deliveries and removals it cannot."""
        return (
            self.filters != counted.filters
            or was_recreated(counted.created, self.created)
            or self.deliveries != counted.count.deliveries
            or self.removed != counted.count.removed
        )


class CachedCount(Struct, frozen=True, gc=False):
    count: FilteredCount
    filters: tuple[str, ...]
    created: datetime | None


def countable(snapshot: Snapshot, account: str) -> list[Countable]:
    return [
        Countable(
            (row.account, row.stream, row.name),
            row.config.filters,
            row.created,
            row.delivered_consumer_seq,
            _removed(stream),
            sum(stream.subjects if has_wildcard(each) else 1 for each in row.config.filters),
        )
        for row, stream in _rows(snapshot, account)
        if row.config is not None and _can_be_counted(row, stream)
    ]


def _can_be_counted(row: Consumer, stream: Stream) -> bool:
    config, kept = row.config, stream.config
    if config is None or kept is None or not config.filters or never_redelivers(config):
        return False
    if config.deliver_policy == "last_per_subject" or sees_everything(config, kept):
        return False
    # Where messages are removed all the time, two counts cannot be compared.
    stays = kept.retention == "limits" and kept.max_age_seconds is None
    return stays and not overwrites_by_design(kept)


def choose_countable(
    wanted: Iterable[Countable],
    most: int,
    most_subjects: int,
    last_requested: Mapping[ConsumerKey, int],
) -> list[Countable]:
    """The longest waiting ones, up to `most_subjects` subjects in all responses together."""
    chosen: list[Countable] = []
    left = most_subjects
    for each in sorted(wanted, key=lambda each: (last_requested.get(each.key, -1), each.key)):
        if len(chosen) < most and each.subjects <= left:
            chosen.append(each)
            left -= each.subjects
    return chosen
