"""Which consumers get requests of their own in this poll, and which answers are still good. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from msgspec import Struct

from exporter.model import Consumer, Snapshot, Stream
from exporter.signals.coverage import sees_everything
from exporter.signals.events_input import ConsumerKey, FilteredCount, LagMeasurement
from exporter.signals.lag import first_unfinished, measurement_holds
from exporter.signals.loss_accounting import never_redelivers
from exporter.signals.results import ConsumerSignals, Signals
from exporter.signals.stream_changes import is_gapless, overwrites_by_design, was_recreated


class Lagging(Struct, frozen=True, gc=False):
    """A consumer whose first unfinished message is worth a request."""

    key: ConsumerKey
    stream: Stream
    filters: tuple[str, ...]
    requested_from: int
    lag: float


class KeptReading(Struct, frozen=True, gc=False):
    reading: LagMeasurement
    filters: tuple[str, ...]
    stream: Stream  # as it was known when it was read, or before

    def responses(self, wanted: Lagging) -> bool:
        """Whether asking again would bring the same."""
        return (
            self.filters == wanted.filters
            and measurement_holds(self.reading, wanted.requested_from)
            and _still_stored(self.reading.seq, self.stream, wanted.stream)
        )


def _still_stored(seq: int, then: Stream, now: Stream) -> bool:
    if was_recreated(then.created, now.created) or now.last_seq < then.last_seq:
        return False
    if is_gapless(now):
        return now.first_seq <= seq <= now.last_seq
    return _removed(now) == _removed(then)


def _removed(stream: Stream) -> int:
    """How many messages ever left the stream."""
    return stream.last_seq - stream.messages


def lagging(snapshot: Snapshot, signals: Signals, account: str) -> list[Lagging]:
    found = []
    for row, stream in _rows(snapshot, account):
        key = (row.account, row.stream, row.name)
        told = signals.consumers.get(key)
        start = _asked_from(row, told) if told is not None else None
        if told is not None and start is not None and row.config is not None:
            found.append(Lagging(key, stream, row.config.filters, start, told.lag or 0.0))
    return found


def _rows(snapshot: Snapshot, account: str) -> Iterator[tuple[Consumer, Stream]]:
    streams = {row.name: row for row in snapshot.streams if row.account == account and row.up}
    for row in snapshot.consumers:
        if row.account == account and row.up and row.stream in streams:
            yield row, streams[row.stream]


def _asked_from(row: Consumer, told: ConsumerSignals) -> int | None:
    """From where to look; None where even the message itself would not give the true lag."""
    config = row.config
    if not told.lag or told.unfinished_seq is None or config is None:
        return None
    if config.deliver_policy == "last_per_subject":
        return None  # it leaves out messages that pass its filter
    if row.num_ack_pending > 0 and told.floor_exhausted:
        return None  # behind a message that was given up, nobody knows what is in flight
    newer = first_unfinished(row, 0, floor_exhausted=False)
    if newer is None:
        return None
    if row.num_ack_pending > 0 and row.ack_floor_stream_seq == row.ack_floor_consumer_seq == 0:
        # Never acked: servers before 2.14 do not say where it began, but "all" has no secret.
        return max(1, row.stream_first_seq) if config.deliver_policy == "all" else None
    return max(1, told.unfinished_seq, newer)


def choose_lagging(
    wanted: Iterable[Lagging], most: int, asked: Mapping[ConsumerKey, int]
) -> list[Lagging]:
    """When there are too many: half for the worst, half for whoever waited longest.

    `asked`: in which round each was asked last.
    """
    worst_first = sorted(wanted, key=lambda each: (-each.lag, each.key))
    places_for_worst = most - most // 2 if len(worst_first) > most else most
    others = worst_first[places_for_worst:]
    others.sort(key=lambda each: asked.get(each.key, -1))
    return worst_first[:places_for_worst] + others[: most // 2]


class Countable(Struct, frozen=True, gc=False):
    """A filtered consumer whose redeliveries a count can tell."""

    key: ConsumerKey
    filters: tuple[str, ...]
    created: datetime | None
    deliveries: int
    removed: int
    subjects: int  # at most so many names are in the answers

    def unlike(self, counted: KeptCount) -> bool:
        """Whether a new count could tell more: as long as nothing is delivered, it cannot."""
        return (
            self.filters != counted.filters
            or was_recreated(counted.created, self.created)
            or self.deliveries != counted.count.deliveries
            or self.removed != counted.count.removed
        )


class KeptCount(Struct, frozen=True, gc=False):
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
            sum(stream.subjects if _is_wide(each) else 1 for each in row.config.filters),
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
    # Where messages leave all the time, no two counts could be compared.
    stays = kept.retention == "limits" and kept.max_age_seconds is None
    return stays and not overwrites_by_design(kept)


def _is_wide(subject: str) -> bool:
    return any(word in ("*", ">") for word in subject.split("."))


def choose_countable(
    wanted: Iterable[Countable], most: int, most_subjects: int, asked: Mapping[ConsumerKey, int]
) -> list[Countable]:
    """Whoever waited longest, as long as all answers together name no more than so many subjects."""
    chosen: list[Countable] = []
    left = most_subjects
    for each in sorted(wanted, key=lambda each: (asked.get(each.key, -1), each.key)):
        if len(chosen) < most and each.subjects <= left:
            chosen.append(each)
            left -= each.subjects
    return chosen
